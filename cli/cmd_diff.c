/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "commands.h"

#include <stdio.h>
#include <unistd.h>

#include "diff_show.h"
#include "decide.h"
#include "json_read.h"

static int print_json(const struct invocation *inv, const struct change_list *list, struct airlock_error *err)
{
	char *text = NULL;
	int rc = airlock_changes_diff(inv->settings, list->run, decide_paths(inv), false, &text, err);
	if (rc >= 0) {
		(void)printf("{\"run\": \"%s\", \"diff\": ", list->run);
		json_print_string(stdout, text);
		(void)printf("}\n");
	}
	airlock_free(text);
	return rc;
}

int cmd_diff(const struct invocation *inv, struct airlock_error *err)
{
	struct change_list list = {0};
	int rc = change_list_load(inv->settings, inv->operand, &list, err);
	if (rc >= 0)
		rc = inv->json ? print_json(inv, &list, err)
			       : diff_show(inv->settings, &list, decide_paths(inv), STDOUT_FILENO, err);
	change_list_done(&list);
	return rc;
}
