/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Our own namespaces, without any helper program; child/view.c carries the plan out. */
#pragma once

#include "backend/backend.h"
#include "child/launch.h"
#include "child/program.h"

/* Where the verdict is remembered, in the state directory. */
#define NATIVE_CACHE_NAME "native.probe"

struct native_info {
	bool works;
	bool own_proc;		  /* a new /proc can be mounted; otherwise the one around us is shown */
	struct airlock_error why; /* AIRLOCK_ERR_UNAVAILABLE when !works */
};

/* Makes a sandbox and ends it. A success is remembered in cache_file (NULL: not) until the next boot, or until a setting
 * or a namespace that matters is another; a failure is not, so that a repair is noticed at once. */
void native_probe(const char *cache_file, struct native_info *ret);

/* The child for a plan. 0 and its pid, or -errno with the call that failed. */
int native_start(const struct plan *plan, bool own_proc, const char *empty_file, const struct backend_fds *fds,
		 pid_t *ret_pid, const char **ret_failed_call);

/* ── What starting is made of, for native_prepared.c ── */

/* This machine's verdict, from ctx->found, the cache or a probe. AIRLOCK_ERR_UNAVAILABLE when it does not work. */
int native_find(const struct backend_context *ctx, struct native_info *ret, struct airlock_error *err);
/* The plan in the child's words; mounts has room for plan->n_mounts. fds NULL: the layers are not known yet. */
int native_translate(const struct plan *plan, bool own_proc, const char *empty_file, const struct backend_fds *fds,
		     struct child_mount *mounts, struct child_plan *ret);
/* The same as a memory file for the child. */
int native_plan_fd(const struct plan *plan, bool own_proc, const char *empty_file, const struct backend_fds *fds);
int native_clone_flags(const struct plan *plan);
int native_launch(const struct plan *plan, const int from[LAUNCH_FDS], int program_fd, int user_ns_fd, pid_t *ret_pid,
		  const char **ret_failed_call);

/* Of a mount of this plan that a child makes later: the layers, and what is mounted in them. -EINVAL: something else would have
 * to wait for them. */
int native_mark_late(const struct plan *plan, size_t i, struct child_mount *m);
/* n ≤ CHILD_TAKEN_FDS. */
int native_send(const struct backend_prepared *p, enum child_message_type type, const int *fds, size_t n);
/* CHILD_TAKE. */
int native_send_command(const struct backend_prepared *p, const struct backend_fds *fds, int plan_fd);

/* native_ahead.c, as backend.h has it. */
int native_begin(struct backend_prepared **ret, struct airlock_error *err);
void native_advance_ahead(const struct plan *plan, bool own_proc, const char *empty_file, struct backend_prepared *p);
bool native_take_ahead(const struct plan *plan, bool own_proc, const char *empty_file, const struct backend_fds *fds,
		       struct backend_prepared *p);

/* native_prepared.c, as backend.h has it. */
int native_prepare(const struct backend_context *ctx, const struct plan *plan, struct backend_prepared **ret,
		   struct airlock_error *err);
void native_advance(const struct backend_context *ctx, const struct plan *plan, struct backend_prepared *p);
bool native_take(const struct backend_context *ctx, const struct plan *plan, const struct backend_fds *fds,
		 struct backend_prepared *p);
