/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A sandbox that waits for its command, or only its namespaces.
 *
 *   backend->begin(&p, err);                    its namespaces are on their way, while a plan is made
 *   backend->advance(ctx, plan, p);             the plan is there, the command's descriptors and layers are not yet
 *   backend->prepare(ctx, plan, &p, err);       it is on its way
 *   if (backend->take(ctx, plan, &fds, p))      the command runs in it: pid and descriptors are the caller's now
 *           supervise…
 *   backend_prepared_free(p);                   ends it when nobody took it
 *
 * It is taken only when a sandbox made now would be the same: `key` is everything that decides what it looks like, as bytes,
 * and is made anew to be compared. What cannot be compared is watched: mount tables.
 */
#pragma once

#include "backend/backend.h"

struct backend_prepared {
	pid_t pid; /* 0: taken, or gone and waited for */
	int pid_fd, control_fd;
	int host_mounts_fd, own_mounts_fd; /* mount tables; the sandbox's own comes when it is ready */
	bool spoilt;			   /* not to be used; it has been killed */
	void *key;
	size_t key_len;
	struct ahead *ahead; /* only the namespaces; NULL once it is known how that went */
	bool has_view;	     /* everything but the layers is there */
};

struct backend_prepared *backend_prepared_new(void);

/* Waits until it is known whether there are namespaces: `pid` is set then. */
int backend_prepared_settle(struct backend_prepared *p);

/* Readable when there is news: control_fd. Reads it, and says whether the sandbox may still be of use. */
bool backend_prepared_look(struct backend_prepared *p);

/* Kills it without waiting; free does that. */
void backend_prepared_spoil(struct backend_prepared *p);
void backend_prepared_free(struct backend_prepared *p);
