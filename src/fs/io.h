/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reading and writing the whole of something, through signals and short counts. Bare -errno: the caller knows the words. */
#pragma once

#include "base/buf.h"

/* Appends the rest of fd to ret; -EFBIG beyond max bytes in ret. Counts what it reads and ignores the reported size: a
 * file may grow, files of /proc claim to be empty, and a hostile file may lie. */
int fs_read_all(int fd, size_t max, struct buf *ret);

/* Waits even if the descriptor is non-blocking; it may be shared with other programs. */
int fs_write_all(int fd, const void *data, size_t len);
