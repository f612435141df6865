/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The plan's questions, answered by this machine's file system.
 *
 *   _cleanup_(host_fs_done) struct host_fs world = HOST_FS_INIT;
 *   struct plan_world view = host_fs_view(&world);
 *
 * Hundreds of rules are about entries of a few directories, and most of those do not exist. A directory that is asked
 * about again and again is read once and then answers for all of its entries; one that does not exist answers for
 * everything in it. What was read is not read again, so a world is made for one plan and goes with it. */
#pragma once

#include "plan/plan.h"

#define HOST_FS_BUCKETS 128

struct host_fs {
	struct host_fs_dir *dirs;
	size_t n, cap;
	size_t buckets[HOST_FS_BUCKETS]; /* by path: one more than the index of the first directory, 0: none */
};
#define HOST_FS_INIT                                                                                                   \
	{                                                                                                              \
		0                                                                                                      \
	}

void host_fs_done(struct host_fs *w);

/* Valid as long as the world is. */
struct plan_world host_fs_view(struct host_fs *w);

/* Does this kernel tell its addresses to everybody? Then /proc/kallsyms is hidden. */
bool host_fs_shows_kernel_addresses(void);
