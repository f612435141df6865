/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "commands.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <airlock/session.h>

#include "decide.h"
#include "diff_show.h"
#include "pager.h"

static int print_json(const struct invocation *inv, const struct airlock_changes *changes, struct airlock_error *err)
{
	char *text = NULL;
	int rc =
		airlock_changes_diff(inv->settings, airlock_changes_run(changes), decide_paths(inv), false, &text, err);
	if (rc >= 0) {
		char *quoted = airlock_text_json(text, strlen(text));
		(void)printf("{\"run\": \"%s\", \"diff\": %s}\n", airlock_changes_run(changes),
			     quoted ? quoted : "null");
		airlock_free(quoted);
	}
	airlock_free(text);
	return rc;
}

/* `airlock diff A B`: two sessions. A path of that name goes after "./". */
static const char *other_session(const struct invocation *inv)
{
	bool is_pair = inv->more[0] && !inv->more[1] && airlock_session_exists(inv->settings, inv->operand) &&
		       airlock_session_exists(inv->settings, inv->more[0]);
	return is_pair ? inv->more[0] : NULL;
}

static int diff_sessions(const struct invocation *inv, const char *other, struct airlock_error *err)
{
	char *text = NULL;
	int rc = airlock_session_diff(inv->settings, inv->operand, other, isatty(STDOUT_FILENO) && !inv->json, &text,
				      err);
	char *quoted = rc >= 0 && inv->json ? airlock_text_json(text, strlen(text)) : NULL;
	if (rc >= 0 && inv->json)
		(void)printf("{\"sessions\": [\"%s\", \"%s\"], \"diff\": %s}\n", inv->operand, other,
			     quoted ? quoted : "null");
	else if (rc >= 0 && isatty(STDOUT_FILENO))
		pager_show(text, STDOUT_FILENO, (const char *const[]){NULL});
	else if (rc >= 0)
		(void)fputs(text, stdout);
	airlock_free(quoted);
	airlock_free(text);
	return rc;
}

int cmd_diff(const struct invocation *inv, struct airlock_error *err)
{
	struct airlock_changes *changes = NULL;
	const char *other = other_session(inv);
	if (other)
		return diff_sessions(inv, other, err);
	int rc = airlock_changes_open(inv->settings, inv->operand, &changes, err);
	if (rc >= 0)
		rc = inv->json ? print_json(inv, changes, err)
			       : diff_show(inv->settings, changes, decide_paths(inv), STDOUT_FILENO, err);
	airlock_changes_free(changes);
	return rc;
}
