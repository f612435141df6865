/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <airlock/changes.h>
#include <airlock/history.h>

#include "ask.h"
#include "json_read.h"
#include "output.h"
#include "review.h"

/* True if this run holds changes, according to the log. */
static bool is_waiting(const char *run)
{
	const char *changes = json_read_member(run, "changes");
	return json_read_is(json_read_member(changes, "state"), "held") ||
	       json_read_is(json_read_member(changes, "state"), "partial");
}

static char *project_of(const char *log, const char *run)
{
	for (const char *r = json_read_first(json_read_member(log, "runs")); r; r = json_read_next(r))
		if (json_read_is(json_read_member(r, "run"), run))
			return json_read_string(json_read_member(r, "project"));
	return NULL;
}

/* The newest run of this run's project that holds changes. */
static char *find_waiting(const char *log, const char *run)
{
	char *project = project_of(log, run), *found = NULL;
	for (const char *r = json_read_first(json_read_member(log, "runs")); r && project && !found;
	     r = json_read_next(r))
		if (is_waiting(r) && json_read_is(json_read_member(r, "project"), project))
			found = json_read_string(json_read_member(r, "run"));
	free(project);
	return found;
}

/* *ret stays NULL if no change is held. */
static int find_run(const struct invocation *inv, char **ret, struct airlock_error *err)
{
	struct airlock_changes *last = NULL;
	size_t count = 0;
	char *log = NULL;
	int rc = airlock_changes_open(inv->settings, inv->operand ? inv->operand : "last", &last, err);
	if (rc >= 0 && inv->operand)
		*ret = strdup(airlock_changes_run(last));
	else if (rc >= 0)
		rc = airlock_log(inv->settings, -1, true, &log, &count, err);
	if (log)
		*ret = find_waiting(log, airlock_changes_run(last));
	airlock_free(log);
	airlock_changes_free(last);
	return rc;
}

int cmd_review(const struct invocation *inv, struct airlock_error *err)
{
	char *run = NULL;
	int rc = find_run(inv, &run, err);
	if (rc >= 0 && run && airlock_settings_is_agent(inv->settings)) {
		rc = output_fail(err, AIRLOCK_ERR_DENIED, "review",
				 "a person reviews changes, and AIRLOCK_AGENT is set");
	} else if (rc >= 0 && run && !ask_is_possible(inv->settings)) {
		(void)output_fail(err, AIRLOCK_ERR_UNAVAILABLE, "/dev/tty", "there is no terminal to review on");
		rc = output_hint(err, "airlock diff %s, airlock apply %s, airlock discard %s", run, run, run);
	} else if (rc >= 0) {
		rc = run ? review(inv->settings, run, err) : 1;
	}
	if (rc == 1)
		(void)printf("nothing waits for you\n");
	free(run);
	return rc;
}
