/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "backend/backend.h"

#define SPAWN_SAFE_FD 32 /* above every target, so that placing one never overwrites another */

/* Copies the descriptors to numbers from there upward, CLOEXEC; -1 stays. 0, or -errno and nothing is open. */
int spawn_lift_fds(const int *from, size_t n, int *ret);
void spawn_drop_fds(int *fds, size_t n);

/* Descriptors that only some processes get, besides those of struct backend_fds; -1: this one does not get it. */
struct spawn_more {
	int args, stage;
	int user;		      /* CHILD_FD_USER_NS or CHILD_FD_HOLDER */
	int holder_user, holder_pids; /* CHILD_FD_HOLDER_… */
};
#define SPAWN_MORE_NONE                                                                                                \
	{                                                                                                              \
		-1, -1, -1, -1, -1                                                                                     \
	}

/* Executes file with 0, 1, 2 and the numbered descriptors of child/child_job.h in place and an empty environment; resets
 * signals. Nothing else is inherited. Safe in threaded programs. */
int spawn_process(const char *file, const char *const *argv, const struct backend_fds *fds,
		  const struct spawn_more *more, bool new_session, pid_t *ret_pid, struct airlock_error *err);
