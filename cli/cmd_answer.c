/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "commands.h"

#include <stdio.h>
#include <string.h>

#include <airlock/questions.h>

#include "output.h"

static int read_word(const char *word, enum airlock_answer *ret, struct airlock_error *err)
{
	if (word && strcmp(word, "allow") == 0)
		*ret = AIRLOCK_ALLOW_ONCE;
	else if (word && strcmp(word, "deny") == 0)
		*ret = AIRLOCK_DENY;
	else if (word)
		return output_fail(err, AIRLOCK_ERR_USAGE, word, "unknown answer '%s'; expected allow or deny", word);
	else
		return output_fail(err, AIRLOCK_ERR_USAGE, "allow|deny", "the answer is missing: allow or deny");
	return 0;
}

int cmd_answer(const struct invocation *inv, struct airlock_error *err)
{
	enum airlock_answer answer = AIRLOCK_DENY;
	int rc = read_word(inv->more[0], &answer, err);
	if (rc < 0)
		return output_hint(err, "see airlock answer --help");
	rc = airlock_questions_answer(inv->settings, inv->operand, answer, err);
	if (rc < 0)
		return rc;
	const char *word = answer == AIRLOCK_DENY ? "deny" : "allow";
	if (inv->json)
		(void)printf("{\"question\": \"%s\", \"answer\": \"%s\"}\n", inv->operand, word);
	else
		(void)printf("question %s: %s\n", inv->operand, answer == AIRLOCK_DENY ? "denied" : "allowed");
	return 0;
}
