/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sockets that programs of the host listen on in a directory that the command writes to directly. There is no overlay that
 * would cut them off, so those that are there when the run begins are covered one by one. The kernel lists the names they
 * were bound to. Only for names relative to a directory that the kernel does not tell is the tree searched. */
#pragma once

#include "base/buf.h"
#include "base/error.h"

struct host_sockets {
	struct strs absolute, relative; /* names as they were bound; abstract sockets are in neither */
};
#define HOST_SOCKETS_INIT                                                                                              \
	{                                                                                                              \
		STRS_INIT, STRS_INIT                                                                                   \
	}

int host_sockets_read(struct host_sockets *ret, struct airlock_error *err);
/* The same from a list in the form of /proc/net/unix; -ENOMEM. */
int host_sockets_names(const char *list, struct host_sockets *ret);
void host_sockets_done(struct host_sockets *h);
#define _cleanup_host_sockets_ _cleanup_(host_sockets_done)

/* Adds the absolute paths of those below dir, a real path. -errno. */
int host_sockets_find_in(const struct host_sockets *h, const char *dir, struct strs *ret);
