/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "commands.h"

#include "change_list.h"
#include "decide.h"
#include "waiting.h"

static int apply(const struct invocation *inv, const char *run, bool force, struct airlock_error *err)
{
	static const struct decide_words words = {"applied", "nothing to apply"};
	size_t count = 0;
	char *text = NULL;
	waiting_begin("applying");
	int rc = airlock_changes_apply(inv->settings, run, decide_paths(inv), force, &count, &text, err);
	waiting_end();
	if (rc >= 0)
		rc = decide_tell(inv, run, count, text, &words, err);
	airlock_free(text);
	return rc;
}

/* The run is looked up once: "last" must mean the same run in the question and in what follows. */
int cmd_apply(const struct invocation *inv, struct airlock_error *err)
{
	bool force = false, yes = false;
	struct change_list list = {0};
	int rc = arguments_flag(&inv->args, "force", &force, err);
	if (rc >= 0)
		rc = arguments_flag(&inv->args, "yes", &yes, err);
	if (rc >= 0)
		rc = change_list_load(inv->settings, inv->operand, &list, err);
	if (rc >= 0 && !yes)
		rc = decide_confirm(inv->settings, list.run, decide_paths(inv), inv->json, err);
	if (rc >= 0)
		rc = apply(inv, list.run, force, err);
	change_list_done(&list);
	return rc;
}
