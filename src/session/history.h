/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is remembered of runs: a row for the database, which it gets by the inbox so that no run opens it; runs/<run>/run.json
 * with the same in case the database is lost; and a line in the audit file. None of it may change what a run's result is:
 * a failure becomes a note. */
#pragma once

#include "change/change.h"
#include "session/run.h"
#include "store/store.h"

#define HISTORY_FILE "run.json"

/* The command has been started: the first moment at which this costs it nothing. */
void history_begin(struct airlock_run *run);
/* Everything is decided. */
void history_end(struct airlock_run *run);
/* The file API has changed something: a run without a command. */
void history_files(struct airlock_run *run);
/* It could not start, or was denied: recorded all the same, without a directory. */
void history_refused(struct airlock_run *run, const struct airlock_error *why);

/* Something was decided about an earlier run. event: "apply", "discard", "undo", "restore". */
void history_decided(const struct host *host, const struct change_set *set, const char *event, size_t count,
		     struct strs *notes);

/* A run that no command made: a restore. dir is its directory. */
void history_made(const struct host *host, const char *dir, const struct change_set *set, const char *project,
		  const char *command, const char *asked_by, struct strs *notes);

/* "2026-11-15T19:30:12.482731Z" */
void history_add_time(struct buf *out, int64_t ns);
