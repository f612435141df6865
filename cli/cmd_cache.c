/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "commands.h"

#include <inttypes.h>
#include <stdio.h>

#include <airlock/history.h>
#include <airlock/project.h>

#include "output.h"

static void print_caches(const struct airlock_caches *l)
{
	for (size_t i = 0; i < airlock_caches_count(l); i++) {
		const struct airlock_cache *c = airlock_caches_at(l, i);
		(void)printf("%s\t", output_size(c->bytes).text);
		output_text(stdout, c->path);
		(void)putchar('\t');
		output_text(stdout, c->project ? c->project : "(shared)");
		(void)putchar('\n');
	}
	if (airlock_caches_count(l) == 0)
		output_say("no project has anything in its caches");
}

int cmd_cache_list(const struct invocation *inv, struct airlock_error *err)
{
	struct airlock_caches *l = NULL;
	int rc = airlock_caches_open(inv->settings, &l, err);
	if (rc >= 0 && inv->json)
		rc = output_json(airlock_caches_json(l), err);
	else if (rc >= 0)
		print_caches(l);
	airlock_caches_free(l);
	return rc;
}

int cmd_cache_clear(const struct invocation *inv, struct airlock_error *err)
{
	uint64_t entries = 0;
	bool all = false;
	char *dir = NULL;
	int rc = arguments_flag(&inv->args, "all", &all, err);
	if (rc >= 0 && all && inv->operand)
		rc = output_fail(err, AIRLOCK_ERR_USAGE, "cache",
				 "--all clears the caches of every project; do not name one as well");
	if (rc >= 0 && !all)
		rc = airlock_project_find(inv->settings, inv->operand ? inv->operand : ".", &dir, err);
	if (rc >= 0)
		rc = airlock_caches_clear(inv->settings, dir, &entries, err);
	airlock_free(dir);
	if (rc < 0)
		return rc;
	if (inv->json)
		(void)printf("{\"removed\": %" PRIu64 "}\n", entries);
	else if (entries == 0)
		(void)puts("the caches are empty");
	else
		(void)printf("removed %" PRIu64 " %s\n", entries, entries == 1 ? "entry" : "entries");
	return 0;
}
