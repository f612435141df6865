/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One applier per root at a time. The kernel drops the locks when the process dies. */
#pragma once

#include "base/buf.h"
#include "base/error.h"

#define LOCK_WAIT_MS 5000 /* for another one that applies: most take a moment */

struct lock {
	int *fds;
	size_t n;
};
#define LOCK_INIT                                                                                                      \
	{                                                                                                              \
		0                                                                                                      \
	}

/* Locks every one of these root paths, in an order of its own so that two never wait for each other. Waits up to wait_ms,
 * then AIRLOCK_ERR_BUSY. */
int lock_roots(struct lock *l, const char *lock_dir, const char *const *roots, size_t n, unsigned wait_ms,
	       struct airlock_error *err);
void lock_release(struct lock *l);
#define _cleanup_lock_ _cleanup_(lock_release)
