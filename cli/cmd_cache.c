/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "commands.h"

#include <inttypes.h>
#include <stdio.h>

#include <airlock/project.h>

#include "output.h"

int cmd_cache_list(const struct invocation *inv, struct airlock_error *err)
{
	char *text = NULL;
	int rc = airlock_caches_list(inv->settings, inv->json, &text, err);
	if (rc < 0)
		return rc;
	(void)fputs(text, stdout);
	if (!*text)
		output_say("no project has anything in its caches");
	airlock_free(text);
	return 0;
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
