/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the history is told about a run. None of it may change the result of the run: a failure becomes a note. */
#pragma once

#include "run/run.h"

/* run_begun.c: before the command starts, where to find its changes should airlock be killed. Fails with a code. */
int run_record_beginning(struct airlock_run *run, struct airlock_error *err);
/* The same about processes that go on after the command. */
int run_record_tail(const struct airlock_run *run, struct airlock_error *err);
/* They are recorded, or there is no command. */
void run_record_forget_beginning(struct airlock_run *run);
/* Call it once the command has been started: from then on it delays nobody. */
void run_record_begin(struct airlock_run *run);
/* Everything about the run is decided. */
void run_record_end(struct airlock_run *run);
/* The file API has changed something: a run without a command. */
void run_record_files(struct airlock_run *run);
/* The run could not start, or was denied: recorded all the same, without a directory. */
void run_record_refused(struct airlock_run *run, const struct airlock_error *why);
/* A run that no command made: a restore. dir is its directory. */
void run_record_made(const struct host *host, const char *dir, const struct change_set *set, const char *project,
		     const char *command, const char *asked_by, struct notes *notes);
