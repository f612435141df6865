/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "change_list.h"
#include "decide.h"
#include "git_fold.h"
#include "output.h"
#include "words/change_lines.h"

/* The lines, and how many there are of what. */
static int print_changes(const struct airlock_changes *changes, bool verbose, struct airlock_error *err)
{
	const char *run = airlock_changes_name(changes);
	const char *what = strcmp(run, airlock_changes_run(changes)) == 0 ? "run" : "session";
	size_t n = airlock_changes_count(changes);
	char *text = verbose ? change_lines(changes, NULL) : git_fold(changes);
	if (!text)
		return output_fail(err, AIRLOCK_ERR_INTERNAL, NULL, "out of memory");
	if (n > 0)
		(void)printf("%s%s of %s %s: %s\n", text, change_count(n).text, what, run,
			     change_list_summary(changes).text);
	else if (airlock_changes_state(changes) == AIRLOCK_CHANGES_DIRECT)
		(void)printf("run %s wrote straight to the project, so nothing of it was captured\n", run);
	else
		(void)printf("%s %s changed nothing\n", what, run);
	free(text);
	return 0;
}

int cmd_changes(const struct invocation *inv, struct airlock_error *err)
{
	struct airlock_changes *changes = NULL;
	bool verbose = false;
	int rc = arguments_flag(&inv->args, "verbose", &verbose, err);
	if (rc >= 0)
		rc = airlock_changes_open(inv->settings, inv->operand, &changes, err);
	if (rc >= 0)
		rc = inv->json ? decide_print_json(changes, err) : print_changes(changes, verbose, err);
	airlock_changes_free(changes);
	return rc;
}
