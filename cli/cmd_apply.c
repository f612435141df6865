/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "commands.h"

#include "decide.h"
#include "output.h"
#include "waiting.h"

#include <stdlib.h>
#include <string.h>

static int apply(const struct invocation *inv, const char *run, bool force, bool merge, struct airlock_error *err)
{
	struct airlock_changes *changes = NULL;
	waiting_begin("applying");
	int rc = merge ? airlock_changes_apply_merged(inv->settings, run, decide_paths(inv), &changes, err)
		       : airlock_changes_apply(inv->settings, run, decide_paths(inv), force, &changes, err);
	waiting_end();
	if (rc >= 0)
		rc = decide_tell(inv, changes, err);
	airlock_changes_free(changes);
	return rc;
}

/* Resolves the run once: "last" must mean the same run in the question and afterwards. The changes are not kept, there may be many. */
static int resolve(const struct invocation *inv, char **ret, struct airlock_error *err)
{
	struct airlock_changes *changes = NULL;
	int rc = airlock_changes_open(inv->settings, inv->operand, &changes, err);
	if (rc < 0)
		return rc;
	*ret = strdup(airlock_changes_run(changes));
	airlock_changes_free(changes);
	return *ret ? 0 : output_fail(err, AIRLOCK_ERR_INTERNAL, NULL, "out of memory");
}

int cmd_apply(const struct invocation *inv, struct airlock_error *err)
{
	bool force = false, yes = false, merge = false;
	char *run = NULL;
	int rc = arguments_flag(&inv->args, "force", &force, err);
	if (rc >= 0)
		rc = arguments_flag(&inv->args, "yes", &yes, err);
	if (rc >= 0)
		rc = arguments_flag(&inv->args, "merge", &merge, err);
	if (rc >= 0 && force && merge)
		rc = output_fail(err, AIRLOCK_ERR_USAGE, "--merge", "--force and --merge exclude each other");
	if (rc >= 0)
		rc = resolve(inv, &run, err);
	if (rc >= 0 && !yes)
		rc = decide_confirm(inv->settings, run, decide_paths(inv), inv->json, err);
	if (rc >= 0)
		rc = apply(inv, run, force, merge, err);
	free(run);
	return rc;
}
