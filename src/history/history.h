/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is remembered of runs: a row for the database, which it gets by the inbox so that no run opens it; runs/<run>/run.json
 * with the same in case the database is lost; and a line in the audit file. None of it may change what a run's result is:
 * a failure becomes a note. */
#pragma once

#include "change/change.h"
#include "settings/host.h"
#include "store/store.h"

#define HISTORY_FILE "run.json"

struct json;

/* Something was decided about an earlier run. event: "apply", "discard", "undo", "restore". */
void history_decided(const struct host *host, const struct change_set *set, const char *event, size_t count,
		     struct notes *notes);

/* Something happened to a session: "session-begin", "session-rewind", "session-fork", "session-merge", "session-end",
 * "session-remove". A step is told by the line of its run, which has "session" and "step". */
void history_session(const struct host *host, const char *event, const char *session, const char *project, size_t steps,
		     struct notes *notes);

/* ── For the records of runs (run/run_record.c) ── */

#define HISTORY_WAIT_AT_START_MS 20 /* while a command runs, its output must not wait for a long transaction */

/* "files" of an audit line: at most 1000 of the changes. set: NULL for none. */
void history_add_audit_files(struct json *j, const struct change_set *set);
/* Appends the members of the object, which is complete, to the audit file; the news for the inbox say so. */
int history_write_audit(const char *state_dir, struct buf *object, struct buf *news, struct airlock_error *err);
/* Puts news into the inbox, and has the database take the inbox over when that has become large. */
void history_put(const char *state_dir, const struct buf *news, struct notes *notes, struct airlock_error *err);
/* Adds a note about what is missing in the history, unless why->code is 0. */
void history_note(struct notes *notes, const struct airlock_error *why);
