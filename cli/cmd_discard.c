/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "commands.h"

#include "change_list.h"
#include "decide.h"
#include "waiting.h"

static int discard(const struct invocation *inv, const char *run, struct airlock_error *err)
{
	static const struct decide_words words = {"discarded", "nothing to discard"};
	size_t count = 0;
	char *text = NULL;
	waiting_begin("discarding");
	int rc = airlock_changes_discard(inv->settings, run, decide_paths(inv), &count, &text, err);
	waiting_end();
	if (rc >= 0)
		rc = decide_tell(inv, run, count, text, &words, err);
	airlock_free(text);
	return rc;
}

int cmd_discard(const struct invocation *inv, struct airlock_error *err)
{
	struct change_list list = {0};
	int rc = change_list_load(inv->settings, inv->operand, &list, err);
	if (rc >= 0)
		rc = discard(inv, list.run, err);
	change_list_done(&list);
	return rc;
}
