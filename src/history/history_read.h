/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads what history.c wrote. */
#pragma once

#include "base/json_value.h"
#include "history/past_run.h"
#include "store/runs.h"

/* run.json of the run in this directory: the object in its text. AIRLOCK_ERR_NOT_FOUND: there is none. */
int history_read_file(const char *run_dir, struct buf *ret_text, struct json_value *ret, struct airlock_error *err);

/* Every run there is, newest first: the database's, and those of directories the database knows nothing of. A run that has
 * no end is "running" while it is, "error" when airlock was killed over it. Those of a session say which; drafts are left out. store may be NULL. */
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
