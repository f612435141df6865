/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "commands.h"

#include <stdio.h>

#include <airlock/history.h>

#include "waiting.h"
int cmd_gc(const struct invocation *inv, struct airlock_error *err)
{
	bool dry_run = false;
	char *text = NULL;
	size_t count = 0;
	int rc = arguments_flag(&inv->args, "dry-run", &dry_run, err);
	if (rc >= 0) {
		waiting_begin("cleaning up");
		rc = airlock_gc(inv->settings, dry_run, inv->json, &text, &count, err);
		waiting_end();
	}
	if (rc < 0)
		return rc;
	(void)fputs(text, stdout);
	if (!inv->json && count == 0)
		(void)puts("nothing to remove");
	else if (!inv->json)
		(void)printf("%s %zu\n", dry_run ? "would remove" : "removed", count);
	airlock_free(text);
	return 0;
}
