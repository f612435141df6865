/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "commands.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "diff_show.h"
#include "decide.h"

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

int cmd_diff(const struct invocation *inv, struct airlock_error *err)
{
	struct airlock_changes *changes = NULL;
	int rc = airlock_changes_open(inv->settings, inv->operand, &changes, err);
	if (rc >= 0)
		rc = inv->json ? print_json(inv, changes, err)
			       : diff_show(inv->settings, changes, decide_paths(inv), STDOUT_FILENO, err);
	airlock_changes_free(changes);
	return rc;
}
