/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A set of inodes: what has been seen already, whatever it was called.
 *
 *   _cleanup_inodes_ struct fs_inodes seen = FS_INODES_INIT;
 *   if (fs_inodes_add(&seen, st.st_dev, st.st_ino)) first_time();
 */
#pragma once

#include "base/macros.h"

#include <stdbool.h>
#include <sys/types.h>

struct fs_inode {
	dev_t dev;
	ino_t ino;
	bool used;
};

struct fs_inodes {
	struct fs_inode *slots; /* open addressing; cap is a power of two */
	size_t n, cap;
	bool failed; /* out of memory; additions are then not remembered */
};
#define FS_INODES_INIT                                                                                                 \
	{                                                                                                              \
		0                                                                                                      \
	}

bool fs_inodes_add(struct fs_inodes *s, dev_t dev, ino_t ino); /* true when it was not in yet */
bool fs_inodes_has(const struct fs_inodes *s, dev_t dev, ino_t ino);
void fs_inodes_done(struct fs_inodes *s);
#define _cleanup_inodes_ _cleanup_(fs_inodes_done)
