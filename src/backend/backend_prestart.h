/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A prestart: a sandbox that is started before there is a command for it. Good for one command.
 *
 *   backend->prestart->begin(&shared, &p, err);      without a plan, while one is made: what every sandbox begins with
 *   backend->prestart->tell(ctx, plan, p);           the plan is known; the command's descriptors and layers are not
 *   or
 *   backend->prestart->begin_for(ctx, plan, &p, err) for a plan that is expected: everything but the layers
 *   then
 *   if (backend->prestart->take(ctx, plan, &fds, p)) the command runs in it
 *           backend_prestart_hand_over(p, …);        pid and descriptors are the caller's now
 *   backend_prestart_free(p);                        ends it when nobody took it
 *
 * It goes through these stages, some of them left out, and never back:
 *
 *   without a plan   BEGUN ─────────────► TOLD ───┐
 *   for a plan       NAMESPACES ──► MOUNTED ──────┴─► TAKEN
 *   from each of them but TAKEN                       DROPPED
 *
 * It is taken only when a sandbox started now would be the same: `key` is what it was told, as bytes, and is made anew to be
 * compared. What bytes cannot say is watched: mount tables.
 */
#pragma once

#include "backend/backend.h"

enum backend_prestart_stage {
	BACKEND_PRESTART_BEGUN,	     /* the kernel makes the namespaces; nobody waits for them, and they may not come */
	BACKEND_PRESTART_NAMESPACES, /* the child is in its namespaces and makes its mounts */
	BACKEND_PRESTART_MOUNTED,    /* the child said READY: all mounts but the layers are there */
	BACKEND_PRESTART_TOLD,	     /* the child was sent the plan and makes all mounts but the layers */
	BACKEND_PRESTART_TAKEN,	     /* a run has it */
	BACKEND_PRESTART_DROPPED,    /* of no use; killed */
};

struct launch_starter;

struct backend_prestart {
	enum backend_prestart_stage stage;
	enum backend_prestart_kind kind;
	pid_t pid; /* 0: not known, taken, or gone and waited for */
	int pid_fd, control_fd;
	int host_mounts_fd, own_mounts_fd; /* mount tables; the sandbox's own comes with READY */
	void *key;			   /* NULL: it was told nothing */
	size_t key_len;
	struct launch_starter *starter; /* NULL: it is known whether there are namespaces */
	struct backend_shared shared;	/* of one without a plan: whose namespaces it is in. holder_fd is a copy */
};

struct backend_prestart *backend_prestart_new(enum backend_prestart_kind kind);

/* The next stage; asserts that it can follow. */
void backend_prestart_enter(struct backend_prestart *p, enum backend_prestart_stage stage);

/* Can it still become a run's? */
bool backend_prestart_is_usable(const struct backend_prestart *p);

/* Waits until it is known whether there are namespaces: `pid` is set then. 0 or -errno. */
int backend_prestart_settle(struct backend_prestart *p);

/* Readable when there is something to look at: control_fd. Reads it, and says whether the sandbox may still be of use. */
bool backend_prestart_look(struct backend_prestart *p);

/* After take. */
void backend_prestart_hand_over(struct backend_prestart *p, pid_t *ret_pid, int *ret_pid_fd, int *ret_control_fd);

/* Kills it without waiting for its end, which free does. */
void backend_prestart_drop(struct backend_prestart *p);
void backend_prestart_free(struct backend_prestart *p);
