/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What history.c wrote, read again. */
#pragma once

#include "base/buf.h"
#include "history/past_run.h"
#include "store/runs.h"

/* The members of run.json of the run in this directory, without its braces; AIRLOCK_ERR_NOT_FOUND: there is none. */
int history_read_file(const char *run_dir, struct buf *ret, struct airlock_error *err);

/* A member of that text that is a string, decoded, the caller's; NULL: there is none. */
char *history_get_string(const char *members, const char *name);
/* The same as it stands there, whatever it is; NULL also for null and []. */
char *history_get_member(const char *members, const char *name);
/* Calls each for every value of an array (its text, as a string of its own), or member of an object (name not NULL). */
void history_each(const char *value, void (*each)(const char *name, const char *text, void *data), void *data);
/* One that is a number; fallback when there is none. */
int64_t history_get_int(const char *members, const char *name, int64_t fallback);

/* Every run there is, newest first: the database's, and those of directories the database knows nothing of. A run that has
 * no end is "running" while it is, "error" when airlock was killed over it. store may be NULL. */
int history_list(const struct past_run *e, struct store *store, const char *project, int64_t limit,
		 struct store_runs *ret, struct airlock_error *err);
/* The same for one run; AIRLOCK_ERR_NOT_FOUND. */
int history_get(const struct past_run *e, struct store *store, const char *id, struct store_run *ret,
		struct airlock_error *err);
/* The time an id tells, 0 when it is none. */
int64_t history_time_of_id(const char *id);
/* The beginning that ids of this second have. */
void history_id_of_time(int64_t ns, char out[32]);
/* Is somebody still at it? */
bool history_is_alive(const char *run_dir);
