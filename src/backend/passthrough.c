/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* No sandbox at all: starts the first process directly, which runs the command. Only by choice or permission, and
 * every result says `none`. */
#include "backend/spawn.h"

static int probe(const struct backend_context *ctx, struct airlock_error *err)
{
	return 0;
}

static int describe(const struct backend_context *ctx, const struct plan *plan, struct strs *ret,
		    struct airlock_error *err)
{
	strs_add_all(ret, &plan->argv);
	return ret->failed ? base_oom(err) : 0;
}

static struct backend_isolation isolation(const struct backend_context *ctx, const struct plan *plan)
{
	return (struct backend_isolation){.filesystem = AIRLOCK_GRADE_NONE};
}

static int spawn(const struct backend_context *ctx, const struct plan *plan, const struct backend_fds *fds,
		 pid_t *ret_pid, struct airlock_error *err)
{
	static const char *const argv[] = {"airlock", NULL};
	static const struct spawn_more none = SPAWN_MORE_NONE;
	return spawn_process("/proc/self/fd/5", argv, fds, &none, plan->new_session, ret_pid, err);
}

const struct backend backend_passthrough = {"passthrough",	probe, describe, isolation, spawn, .in_place = true,
					    .unsandboxed = true};
