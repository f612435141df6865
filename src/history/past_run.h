/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An earlier run, found by its name and opened. */
#pragma once

#include "change/change.h"
#include "settings/host.h"

/* One earlier run, opened. */
struct past_run {
	const struct airlock_settings *settings; /* borrowed */
	struct host host;
	char *runs, *dir, *record, *journal, *locks;
	struct change_set *set;
};

/* run: an id, a unique prefix of one, or "last": the newest that has ended, of this project if it has any. Interrupted
 * applies are finished first. */
int past_run_open(struct past_run *e, const struct airlock_settings *s, const char *run, struct airlock_error *err);
/* The same without a run yet: only the places. */
int past_run_init(struct past_run *e, const struct airlock_settings *s, struct airlock_error *err);
/* Loads a run by its full id into e, replacing the one before. */
int past_run_load(struct past_run *e, const char *run, struct airlock_error *err);
/* Such an error of a load does not say what the run is: a later try may. */
bool past_run_is_unknown(int rc);
/* All steps of a session as one, of which nothing was applied: made to be looked at, and no run of its own. */
bool past_run_is_draft(const struct change_set *set);
/* The full id of "last", an id or a unique prefix of one; the caller's. */
int past_run_find(struct past_run *e, const char *name, char **ret, struct airlock_error *err);
/* What a person has not decided about because the mode of the run ("hold", "ask") held it, one change a line; sensitive ones
 * are left out, they are asked about anyway. "" when there is nothing, also when the mode was "apply" and something else
 * held them (a timeout): by themselves they would be in the project. */
int past_run_held_by_mode(const struct past_run *e, const char *const *paths, char **ret_lines,
			  struct airlock_error *err);
/* The sensitive changes among these paths, judged as the project is now, one a line; "" when there are none. */
int past_run_sensitive(struct past_run *e, const char *const *paths, char **ret_lines, struct airlock_error *err);
/* The project the caller is in or names. Owned by the caller. */
int past_run_project(const struct past_run *e, char **ret, struct airlock_error *err);
/* Names of all runs, oldest first. */
int past_run_list(const struct past_run *e, struct strs *ret, struct airlock_error *err);
void past_run_done(struct past_run *e);
