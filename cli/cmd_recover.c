/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "commands.h"

#include <stdio.h>

#include <airlock/history.h>

#include "output.h"

static void print_recovery(const struct airlock_recovery *r)
{
	size_t count = airlock_recovery_count(r);
	for (size_t i = 0; airlock_recovery_note(r, i); i++)
		output_note_line(stdout, "", airlock_recovery_note(r, i));
	if (count == 0)
		(void)puts("nothing to recover");
	else
		(void)printf("recovered %zu interrupted %s\n", count, count == 1 ? "apply or run" : "applies or runs");
}

int cmd_recover(const struct invocation *inv, struct airlock_error *err)
{
	struct airlock_recovery *r = NULL;
	int rc = airlock_recover(inv->settings, &r, err);
	if (rc >= 0 && inv->json)
		rc = output_json(airlock_recovery_json(r), err);
	else if (rc >= 0)
		print_recovery(r);
	if (rc >= 0)
		rc = airlock_recovery_count(r) > 0 ? 0 : 1;
	airlock_recovery_free(r);
	return rc;
}
