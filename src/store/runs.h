/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The history: one row a run. What it changed is in its directory. Rows come in by the inbox (inbox.h) only. */
#pragma once

#include "store/store.h"

/* Given ones are borrowed, returned ones belong to the caller (store_run_done). None is NULL. */
struct store_run {
	const char *id;
	const char *project;
	const char *command;
	const char *asked_by;
	const char *working_dir;
	int64_t started;
	const char *status; /* the word of the result, or "running" */
	int64_t exit_code;  /* -1: none yet */
	const char *changes_state;
	int64_t changes_count;
	const char *detail; /* JSON: members of the result object, without output and changes */
};

struct store_runs {
	struct store_run *v;
	size_t n;
};

/* For who looks at the history: the database with all that was in the inbox. Where nothing can be written, or somebody
 * else writes for long, the news are there all the same, in memory: then what is removed of the history comes back.
 * AIRLOCK_ERR_NOT_FOUND: there is neither. */
int store_open_history(const char *state_dir, int wait_ms, struct store **ret, struct airlock_error *err);

/* 1 and *ret, or 0. */
int store_run_get(struct store *s, const char *id, struct store_run *ret, struct airlock_error *err);
/* Newest first, without detail (""). project: only its runs, or NULL. limit: at most so many, or -1. */
int store_run_list(struct store *s, const char *project, int64_t limit, struct store_runs *ret,
		   struct airlock_error *err);
/* Ids of the runs that begin with prefix, at most two of them. */
int store_run_find(struct store *s, const char *prefix, struct strs *ret, struct airlock_error *err);
int store_run_remove(struct store *s, const char *id, struct airlock_error *err);
/* Ids older than this one, oldest first. */
int store_run_before(struct store *s, const char *id, struct strs *ret, struct airlock_error *err);

void store_run_done(struct store_run *run);
void store_runs_done(struct store_runs *l);
#define _cleanup_runs_ _cleanup_(store_runs_done)
