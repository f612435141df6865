/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "commands.h"

#include <stdio.h>

#include <airlock/history.h>

#include "output.h"
#include "waiting.h"

static void print_garbage(const struct airlock_gc *g, bool dry_run)
{
	static const char *const words[] = {[AIRLOCK_GARBAGE_LAYERS] = "layers of",
					    [AIRLOCK_GARBAGE_RUN] = "run",
					    [AIRLOCK_GARBAGE_BACKUP] = "backup",
					    [AIRLOCK_GARBAGE_CACHES] = "caches of",
					    [AIRLOCK_GARBAGE_SESSION] = "session"};
	for (size_t i = 0; i < airlock_gc_count(g); i++) {
		const struct airlock_garbage *item = airlock_gc_at(g, i);
		(void)printf("%s ", words[item->kind]);
		output_text(stdout, item->name);
		(void)putchar('\n');
	}
	if (airlock_gc_count(g) == 0)
		(void)puts("nothing to remove");
	else
		(void)printf("%s %zu\n", dry_run ? "would remove" : "removed", airlock_gc_count(g));
}

int cmd_gc(const struct invocation *inv, struct airlock_error *err)
{
	bool dry_run = false;
	struct airlock_gc *g = NULL;
	int rc = arguments_flag(&inv->args, "dry-run", &dry_run, err);
	if (rc < 0)
		return rc;
	waiting_begin("cleaning up");
	rc = airlock_gc_run(inv->settings, dry_run, &g, err);
	waiting_end();
	if (rc >= 0 && inv->json)
		rc = output_json(airlock_gc_json(g), err);
	else if (rc >= 0)
		print_garbage(g, dry_run);
	airlock_gc_free(g);
	return rc;
}
