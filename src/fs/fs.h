/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files of ours and of the user, read and written with care.
 * Files of ours are 0600 in directories 0700, owned by us, never reached through a symlink in their last component. */
#pragma once

#include "base/buf.h"
#include "base/error.h"

#include <sys/stat.h>

/* Whole file into buf, at most max bytes (AIRLOCK_ERR_LIMIT beyond). Regular files only: AIRLOCK_ERR_INVALID otherwise;
 * missing: AIRLOCK_ERR_NOT_FOUND. Never blocks on a FIFO or device. */
int fs_read_file(const char *path, size_t max, struct buf *ret, struct airlock_error *err);

/* mkdir -p with mode 0700 for what is missing. AIRLOCK_ERR_IO on failure, AIRLOCK_ERR_INVALID when a file is in the way. */
int fs_make_private_dir(const char *path, struct airlock_error *err);

/* Replaces path atomically with content, mode 0600, by a temporary beside it and rename; parents are made (0700). */
int fs_write_private_file(const char *path, const void *data, size_t len, struct airlock_error *err);

/* Refuses (AIRLOCK_ERR_INVALID) a directory or file of ours that somebody else owns or may write. */
int fs_check_private(const char *path, struct airlock_error *err);

/* realpath(3) as an error: AIRLOCK_ERR_NOT_FOUND when missing. */
int fs_real_path(const char *path, char **ret, struct airlock_error *err);
