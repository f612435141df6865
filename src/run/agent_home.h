/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A whole agent as a run: its recipe, and what is its own in the home.
 *
 *   agent_home_load(job, settings, project, err);     after the configuration: the recipe becomes policy
 *   agent_home_make(job, err);                        before the plan looks at the home: directories that must be there
 *   agent_home_decide(job, &caches, err);             for the plan: what is private
 *   agent_home_copy(job, err);                        before anything is mounted: copies of private files
 *   agent_home_begin(&home, run, err) …_end(…)        around the command: what is brought home
 *
 * <session>/home/
 *   upper/NAME   of the overlay over a private directory; NAME as run/caches.h has it
 *   files/NAME   the session's own copy of a private file
 *   lock         who holds it has the uppers
 */
#pragma once

#include "run/caches.h"

/* Reads the recipe that the settings name, or for other commands those whose secrets must be hidden. */
int agent_home_load(struct airlock_job *job, const struct airlock_settings *s, const struct settings_view *v,
		    const char *project, struct airlock_error *err);
int agent_home_make(const struct airlock_job *job, struct airlock_error *err);
int agent_home_decide(struct airlock_job *job, struct cache_list *caches, struct airlock_error *err);
int agent_home_copy(const struct airlock_job *job, struct airlock_error *err);
void agent_home_free(struct job_agent *a);

/* The words of the command line: program, the recipe's own, those of its mode, the caller's. */
void agent_home_argv(const struct airlock_job *job, const struct airlock_settings *s, struct strs *ret);

/* Files that are brought home when the agent has ended. */
struct agent_files {
	struct agent_file *v;
	size_t n;
};
/* Remembers what the home has now. */
int agent_files_begin(struct agent_files *f, const struct airlock_job *job, struct airlock_error *err);
/* Nothing is mounted any more. Notes tell what was brought home and what was not. since_ns: when the run began. */
void agent_files_end(struct agent_files *f, const struct airlock_job *job, const struct run_caches *caches,
		     int64_t since_ns, struct notes *notes);
void agent_files_done(struct agent_files *f);
