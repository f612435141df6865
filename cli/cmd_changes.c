/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "commands.h"

#include <stdio.h>
#include <stdlib.h>

#include "change_list.h"
#include "git_fold.h"

/* The lines as the library gives them, and what they come to. */
static int print_changes(const struct invocation *inv, const struct change_list *list, struct airlock_error *err)
{
	char *text = NULL;
	bool verbose = false;
	int rc = arguments_flag(&inv->args, "verbose", &verbose, err);
	if (rc >= 0)
		rc = airlock_changes_show(inv->settings, list->run, false, &text, err);
	char *folded = rc >= 0 && !verbose ? git_fold(list, text) : NULL;
	if (rc >= 0 && list->n > 0)
		(void)printf("%s%s of run %s: %s\n", folded ? folded : text, change_count(list->n).text, list->run,
			     change_list_summary(list).text);
	else if (rc >= 0 && list->is_direct)
		(void)printf("run %s wrote straight to the project, so nothing of it was captured\n", list->run);
	else if (rc >= 0)
		(void)printf("run %s changed nothing\n", list->run);
	free(folded);
	airlock_free(text);
	return rc;
}

static int print_json(const struct invocation *inv, struct airlock_error *err)
{
	char *json = NULL;
	int rc = airlock_changes_show(inv->settings, inv->operand, true, &json, err);
	if (rc >= 0)
		(void)fputs(json, stdout);
	airlock_free(json);
	return rc;
}

int cmd_changes(const struct invocation *inv, struct airlock_error *err)
{
	struct change_list list = {0};
	if (inv->json)
		return print_json(inv, err);
	int rc = change_list_load(inv->settings, inv->operand, &list, err);
	if (rc >= 0)
		rc = print_changes(inv, &list, err);
	change_list_done(&list);
	return rc;
}
