/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The history: one row per run. What a run changed is in its directory. Rows come only through the inbox (inbox.h). */
#pragma once

#include "store/store.h"

/* Arguments are borrowed; results are owned by the caller (store_run_done). None is NULL but session. */
struct store_run {
	const char *id;
	const char *project;
	const char *command;
	const char *asked_by;
	const char *working_dir;
	int64_t started;
	const char *status; /* the status of the result, or "running" */
	int64_t exit_code;  /* -1: none yet */
	const char *changes_state;
	int64_t changes_count;
	const char *session; /* NULL: of none, or not looked for (history_read.h); the database does not have it */
	int64_t step;	     /* 0: none */
	const char *detail;  /* JSON: members of the result object, without output and changes */
};

struct store_runs {
	struct store_run *v;
	size_t n;
};

/* For readers of the history: the database with everything from the inbox. If nothing can be written, or someone else
 * writes for long, the news are in memory only: then removed rows come back. AIRLOCK_ERR_NOT_FOUND: there is neither.
 */
int store_open_history(const char *state_dir, int wait_ms, struct store **ret, struct airlock_error *err);

/* 1 and *ret, or 0. */
int store_run_get(struct store *s, const char *id, struct store_run *ret, struct airlock_error *err);
/* Newest first, without detail (""). project: only its runs, or NULL. limit: maximum number, or -1. */
int store_run_list(struct store *s, const char *project, int64_t limit, struct store_runs *ret,
		   struct airlock_error *err);
/* Ids of the runs that begin with prefix, at most two. */
int store_run_find(struct store *s, const char *prefix, struct strs *ret, struct airlock_error *err);
int store_run_remove(struct store *s, const char *id, struct airlock_error *err);
/* Ids older than this one, oldest first. */
int store_run_before(struct store *s, const char *id, struct strs *ret, struct airlock_error *err);

void store_run_done(struct store_run *run);
void store_runs_done(struct store_runs *l);
#define _cleanup_runs_ _cleanup_(store_runs_done)
