/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reading and writing the whole of something, through signals and short counts. Bare -errno: the caller knows the words. */
#pragma once

#include "base/buf.h"

/* Appends what is left in fd to ret: -EFBIG beyond max bytes in ret. What counts is what comes, for a file may grow, those
 * of /proc claim to be empty, and the size of a hostile one is hearsay. */
int fs_read_all(int fd, size_t max, struct buf *ret);

/* Waits where the descriptor, which may be somebody else's too, does not. */
int fs_write_all(int fd, const void *data, size_t len);
