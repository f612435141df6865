/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files of ours and of the user, read and written with care.
 * Files of ours are 0600 in directories 0700, owned by us, never reached through a symlink in their last component. */
#pragma once

#include "base/buf.h"
#include "base/error.h"

#include <stdint.h>
#include <sys/stat.h>

/* Whole file into buf, at most max bytes (AIRLOCK_ERR_LIMIT beyond). Regular files only: AIRLOCK_ERR_INVALID otherwise;
 * missing: AIRLOCK_ERR_NOT_FOUND. Never blocks on a FIFO or device. */
int fs_read_file(const char *path, size_t max, struct buf *ret, struct airlock_error *err);

/* mkdir -p with mode 0700 for what is missing. AIRLOCK_ERR_IO on failure, AIRLOCK_ERR_INVALID when a file is in the way. */
int fs_make_private_dir(const char *path, struct airlock_error *err);

/* Replaces path atomically with content, mode 0600, by a temporary beside it and rename; parents are made (0700). */
int fs_write_private_file(const char *path, const void *data, size_t len, struct airlock_error *err);

/* The same for content that need not be in memory at once. next fills the empty buffer, and returns 1 if there is more, 0 at the
 * end, or -errno. */
typedef int (*fs_next_part)(void *data, struct buf *part);
int fs_write_private_parts(const char *path, fs_next_part next, void *data, struct airlock_error *err);

/* Creates a new file, mode 0600, in an existing directory, without waiting for the disk: for data that a power cut may
 * lose. */
int fs_create_private_file(const char *path, const void *data, size_t len, struct airlock_error *err);
/* The same in two steps: the first creates a file without a name while there is time, the second adds content and
 * name. If the first returns -1, the second does all of it. */
int fs_prepare_file(const char *dir);
int fs_create_prepared_file(int prepared, const char *path, const void *data, size_t len, struct airlock_error *err);

/* Refuses (AIRLOCK_ERR_INVALID) one of our directories or files if another user owns it or may write to it. */
int fs_check_private(const char *path, struct airlock_error *err);

/* realpath(3) as an error: AIRLOCK_ERR_NOT_FOUND when missing. */
int fs_real_path(const char *path, char **ret, struct airlock_error *err);

/* An empty directory or file that we made in a workspace to mount something on: it has a time that nothing else has. */
#define FS_MOUNT_POINT_SECONDS 1 /* 1970-01-01 00:00:01 */
bool fs_is_mount_point(const struct stat *st);

/* Trees beneath a directory descriptor; name is a single component and may be a file. Symlinks are removed or measured
 * themselves, never followed; a mount point inside is AIRLOCK_ERR_BUSY when removing and left out when measuring.
 * Missing: AIRLOCK_ERR_NOT_FOUND. Any depth. */

/* Directories of ours that cannot be read or written are opened up (0700) first. ret_entries (may be NULL) is what was
 * removed, name included. On failure part of the tree may be gone. */
int fs_remove_tree_at(int dirfd, const char *name, uint64_t *ret_entries, struct airlock_error *err);

/* Bytes on disk (st_blocks), hard links counted once, and entries with name included. Directories that cannot be read
 * count as themselves alone; nothing is changed to look into them. */
int fs_tree_size_at(int dirfd, const char *name, uint64_t *ret_bytes, uint64_t *ret_entries, struct airlock_error *err);
