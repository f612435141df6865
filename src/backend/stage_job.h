/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The part of a plan that is done before bwrap: layers, and directories rebuilt in place. See child/child_job.h. */
#pragma once

#include "backend/backend.h"

/* The directory rebuilt by the stage in which this mount is an entry, or NULL. */
const struct plan_mount *stage_rebuilt_parent(const struct plan *plan, const struct plan_mount *m);

/* True if this is a hidden path that the stage can hide in place: only if a read-only bind of a directory above
 * includes the cover, nothing is mounted inside it, and nothing comes from inside it. */
bool stage_covers(const struct plan *plan, const struct plan_mount *m);

/* Where the stage has put the source of this mount aside for the backend; NULL: nowhere. */
const char *stage_aside(const struct plan *plan, const struct plan_mount *m);

/* True if the stage has anything to do. */
bool stage_is_needed(const struct plan *plan, const struct backend_fds *fds);

/* Starts the stage, which executes file with argv when it is done. If fds->shared says so, in the namespaces of a session; then file
 * finds CHILD_FD_HOLDER_USER and CHILD_FD_HOLDER_PIDS, and enters those itself. */
int stage_spawn(const char *file, const char *const *argv, const struct plan *plan, const char *empty_file,
		const struct backend_fds *fds, int args_fd, pid_t *ret_pid, struct airlock_error *err);
