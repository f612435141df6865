/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Memory and process limits: which mechanism of this machine enforces which, decided first, then done.
 *
 *   limits_decide(plan, isolation, &l, err)   what will enforce what; refuses what was asked for and cannot be had
 *   limits_fill_job(&l, &job)                 rlimits and watches the first process sets up
 *   limits_attach(&l, pid, err)               cgroups, between HELLO and GO
 *   limits_hit(&l)                            after the end: memory, pids or none
 *   limits_done(&l)                           removes the cgroups
 *
 * Order of preference for memory: cgroup v2 where it is delegated, cgroup v1 where it is writable, a scope that the user's
 * systemd makes (sys/scope.h; some milliseconds, and only for runs with such a limit), else the first process
 * watches the total and a data rlimit bounds each process: partial. For processes: RLIMIT_NPROC inside a user namespace of
 * its own (it counts the sandbox alone, but never binds root), else a cgroup. Commands of one session have one cgroup for that, with
 * one of each command in it.
 */
#pragma once

#include "backend/backend.h"
#include "child/child_job.h"

#include <sys/types.h>

struct limits {
	int64_t memory, pids, file_size; /* TEXT_NONE: none */
	bool memory_watched, pids_by_rlimit;
	bool is_shared;			 /* with a session: the first process watches the whole of it */
	bool monitor_counts;		 /* struct backend_isolation */
	bool pids_watched;		 /* only to say afterwards that the limit was hit */
	char *memory_group, *pids_group; /* cgroup directories made for this run, or NULL; may be the same */
	char *session_group;		 /* pids_group is in it, and it has the limit; NULL: pids_group has it */
	int64_t session_events;		 /* times that its limit was hit when the run began */
	bool pids_alone;		 /* a command of a session, asked for a limit of which it alone counts */
	bool version2;
	struct sys_scope *scope; /* memory_group is in it; NULL: it is not */
	enum airlock_grade grade;
};

/* AIRLOCK_ERR_LIMIT if a requested limit cannot be enforced. name makes the groups unique; session: that of the session's, the same
 * for all of its commands, or NULL. */
int limits_decide(const struct plan *plan, const struct backend_isolation *iso, const char *name, const char *session,
		  struct limits *ret, struct airlock_error *err);
void limits_fill_job(const struct limits *l, struct child_job *job);
int limits_attach(struct limits *l, pid_t pid, struct airlock_error *err);
enum airlock_limit limits_hit(const struct limits *l);
void limits_done(struct limits *l);
/* Background processes stay in the groups: a later run removes them when they are empty (cgroup.c). */
void limits_leave(struct limits *l);
