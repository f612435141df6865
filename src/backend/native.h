/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Our own namespaces, without any helper program; child/view.c carries out the plan. */
#pragma once

#include "backend/backend.h"
#include "child/launch.h"
#include "child/program.h"

/* Where the verdict is stored, in the state directory. */
#define NATIVE_CACHE_NAME "native.probe"

struct native_info {
	bool works;
	bool own_proc;		  /* a new /proc can be mounted; otherwise the present one is shown */
	struct airlock_error why; /* AIRLOCK_ERR_UNAVAILABLE when !works */
};

/* Makes a sandbox and ends it. Stores a success in cache_file (NULL: not) until the next boot, or until a relevant
 * setting or namespace changes; does not store a failure, so that a repair is noticed at once. */
void native_probe(const char *cache_file, struct native_info *ret);

/* Facts about this machine that a start needs. */
struct native_scene {
	bool own_proc; /* as in native_info */
	char *empty;   /* the file that hides files */
	struct backend_shared shared;
};
int native_look_around(const struct backend_context *ctx, const struct plan *plan, const struct backend_shared *shared,
		       struct native_scene *ret, struct airlock_error *err);
void native_scene_done(struct native_scene *scene);

/* The child for a plan. 0 and its pid, or -errno with the call that failed. */
int native_start(const struct plan *plan, const struct native_scene *scene, const struct backend_fds *fds,
		 pid_t *ret_pid, const char **ret_failed_call);

/* This machine's verdict, from ctx->found, the cache or a probe. AIRLOCK_ERR_UNAVAILABLE if it does not work. */
int native_find(const struct backend_context *ctx, struct native_info *ret, struct airlock_error *err);

/* ── What starting is made of, for native_prestart.c ── */

/* The plan in the child's words; mounts has room for plan->n_mounts. fds NULL: the layers are not known yet. */
int native_translate(const struct plan *plan, const struct native_scene *scene, const struct backend_fds *fds,
		     struct child_mount *mounts, struct child_plan *ret);
int native_clone_flags(const struct plan *plan);
/* Copies of the descriptors where none is in the way of another. 0, or -errno and nothing is open. */
int native_launch_open(struct launch *ret, const char *role, int namespaces, bool new_session,
		       const int from[LAUNCH_FDS], int program_fd, int user_ns_fd);
/* Has it enter the namespaces of a session's holder where it would make its own. 0 or -errno. */
int native_join(struct launch *l, const struct backend_shared *shared);
void native_launch_close(struct launch *l);
/* Where the namespaces come from: a user namespace, or a session's holder; 0: from nobody. */
struct native_origin {
	int user_ns_fd;
	struct backend_shared shared;
};
int native_launch(const struct plan *plan, const int from[LAUNCH_FDS], int program_fd,
		  const struct native_origin *origin, pid_t *ret_pid, const char **ret_failed_call);

/* The namespaces that the commands of a session share. Each command has its own mounts and its own view of control groups. */
#define NATIVE_SHARED_NAMESPACES (CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS)

/* native_hold.c */
int native_hold(const struct backend_context *ctx, const struct plan *plan, const struct backend_holder *holder,
		pid_t *ret_pid, struct airlock_error *err);

extern const struct backend_prestart_calls native_prestart;

/* ── For native_view.c ── */

/* Says which files mount number i is about, so that it is known when names mean others. 0 or -ENOMEM. */
int native_identify(const struct plan *plan, size_t i, struct child_mount *m);

extern const struct backend_view_calls native_view;
