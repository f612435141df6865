/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What of a plan is done before bwrap: layers, and directories rebuilt in place. See child/job.h. */
#pragma once

#include "backend/backend.h"

/* The directory rebuilt by the stage in which this mount is an entry, or NULL. */
const struct plan_mount *stage_rebuilt_parent(const struct plan *plan, const struct plan_mount *m);

/* Is this a hidden path that the stage can hide in place? Only where a read-only bind of what is above it brings the
 * cover along, nothing is mounted inside it and nothing comes from inside it. */
bool stage_covers(const struct plan *plan, const struct plan_mount *m);

/* Is it a writable directory that a screen lies over at its own name and that belongs elsewhere? Then the stage has it at
 * CHILD_ASIDE. There is at most one, the playground or the workspace. */
bool stage_puts_aside(const struct plan *plan, const struct plan_mount *m);

/* Is there anything for the stage to do? */
bool stage_is_needed(const struct plan *plan, const struct backend_fds *fds);

/* Starts the stage, which executes file with argv when it is done. */
int stage_spawn(const char *file, const char *const *argv, const struct plan *plan, const char *empty_file,
		const struct backend_fds *fds, int args_fd, pid_t *ret_pid, struct airlock_error *err);
