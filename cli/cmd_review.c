/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <airlock/changes.h>
#include <airlock/history.h>

#include "ask.h"
#include "output.h"
#include "review.h"

/* True if this run holds changes. */
static bool is_waiting(const struct airlock_past_run *r)
{
	return r->changes_state == AIRLOCK_CHANGES_HELD || r->changes_state == AIRLOCK_CHANGES_PARTIAL;
}

/* The newest run or session with changes that wait, of the project this run is of. NULL: there is none. */
static const char *find_waiting(const struct airlock_log *log, const char *run)
{
	const struct airlock_past_run *r = NULL;
	const char *project = NULL;
	for (size_t i = 0; !project && (r = airlock_log_at(log, i)); i++)
		project = strcmp(r->id, run) == 0 ? r->project : NULL;
	for (size_t i = 0; project && (r = airlock_log_at(log, i)); i++)
		if (is_waiting(r) && strcmp(r->project, project) == 0) /* a step is decided about with its session */
			return r->step ? r->session : r->id;
	return NULL;
}

/* *ret stays NULL if no change is held. */
static int find_run(const struct invocation *inv, char **ret, struct airlock_error *err)
{
	struct airlock_changes *last = NULL;
	struct airlock_log *log = NULL;
	const char *found = NULL;
	int rc = airlock_changes_open(inv->settings, inv->operand ? inv->operand : "last", &last, err);
	if (rc >= 0 && inv->operand)
		found = airlock_changes_run(last);
	else if (rc >= 0)
		rc = airlock_log_open(inv->settings, AIRLOCK_LOG_NAMED, -1, &log, err);
	if (log)
		found = find_waiting(log, airlock_changes_run(last));
	if (found && !(*ret = strdup(found)))
		rc = output_fail(err, AIRLOCK_ERR_INTERNAL, NULL, "out of memory");
	airlock_log_free(log);
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
