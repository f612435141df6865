/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A run as a command of a session (session/session.h).
 *
 *   session_join(job, &view, err);                  which session, and what it does with changes
 *   run_session_begin(job, err);                    when the run starts: the session is there, and what lies below its layers
 *   run_session_lowers(job, root, &lowers);
 *   run_session_see_below(job, set, …);             before the scan: what each layer lies on
 *   run_session_end(job, …);                        after it: the layer is a step
 */
#pragma once

#include "run/layers.h"

/* Takes the name from the settings; without one the run belongs to no session. Sets the mode of the job's changes to that of the
 * session. AIRLOCK_ERR_INVALID where the settings ask for another one, or for a project that the session does not belong to. */
int run_session_join(struct airlock_job *job, const struct settings_view *v, struct airlock_error *err);
/* Can a session that holds its changes be had here? AIRLOCK_ERR_UNAVAILABLE with the reason. After the plan was made. */
int run_session_check(const struct airlock_job *job, struct airlock_error *err);

/* Makes the session's /tmp, before the first mount, also that of a prestarted sandbox. */
int run_session_make_tmp(const struct airlock_job *job, struct airlock_error *err);
/* Notes: commands of the session that were cut short, and what they changed is seen by this one. */
int run_session_begin(struct airlock_job *job, struct notes *notes, struct airlock_error *err);
/* The session's layers over this root, the topmost first; NULL: it has none. Lives as long as the job. */
const struct strs *run_session_lowers(const struct airlock_job *job, const char *root);
/* True if the run's changes become a step of the session, and are decided with it. */
bool run_session_holds(const struct airlock_job *job);

/* What the next command of the session would see of this root, read-only; -errno. -ENOENT: the root itself, the session has no layer
 * over it. */
int run_session_view(const struct airlock_job *job, const char *root);

/* Opens what the layer of every root lies on; ends with the set. */
int run_session_see_below(const struct airlock_job *job, const struct run_layers *c, struct airlock_error *err);
/* The changes, which are not judged, as a step. Returns a code; the record of the changes is saved then or not. */
int run_session_add_step(struct airlock_job *job, const char *run_dir, const struct supervise_result *result,
			 struct change_set *set, struct airlock_error *err);
/* There are none: a checkpoint of the run that somebody looked at is no more. */
void run_session_changed_nothing(struct airlock_job *job, const char *run_dir);
/* The same in a session that applies its changes: only told. Also where a run changed nothing. */
int run_session_note_step(struct airlock_job *job, const char *run_dir, const struct supervise_result *result,
			  const struct change_set *set, struct airlock_error *err);
