/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One entry with everything that belongs to it, across file systems. All return 0 or -errno. */
#pragma once

#include "base/macros.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct transfer_place {
	int dirfd;
	const char *name; /* a single component */
};

/* Copies a file, symlink, FIFO, socket or device, or a directory without what is in it, to a name where nothing is. Mode,
 * mtime, user xattrs and ACLs go along, overlay's xattrs do not, holes stay holes. mode: the permission bits to give it, -1 its
 * own. A file's data is on the disk afterwards. */
int transfer_copy(struct transfer_place from, struct transfer_place to, int mode);
/* The same without waiting for the disk. ret_shared: the file system shares the bytes, nothing was copied. */
int transfer_copy_quickly(struct transfer_place from, struct transfer_place to, int mode, bool *ret_shared);

/* Gives a directory the user xattrs and ACLs of another, and no others. Both may be O_PATH. */
int transfer_xattrs(int from_fd, int to_fd);
/* Gives one the owner, and everybody but root its group, of the other. Both may be O_PATH. */
int transfer_owner(int from_fd, int to_fd);

/* Makes an entry of the layer, which is only ours, fit to be live: overlay's xattrs and file capabilities go, a file gets this
 * mode. st: what it is now. */
int transfer_clean(struct transfer_place at, const struct stat *st, uint32_t mode);

/* Removes an entry: a file, or a directory that is empty. Missing is fine. */
int transfer_remove(int dirfd, const char *name);
