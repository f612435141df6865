/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Opening a file that a hostile command may have left, or that somebody may be replacing at the moment: looked at first,
 * so that no device acts; opened without following or waiting, so that no symlink leads away and no FIFO blocks; looked at
 * again, so that what is read is what was looked at (I6). An fd or -errno. */
#pragma once

#include <sys/stat.h>

/* The regular file name in the directory, for reading. -EINVAL when it is something else. */
int open_regular_at(int dirfd, const char *name);

/* The same when it has been looked at already. -ESTALE when it is another one now. */
int open_known_at(int dirfd, const char *name, const struct stat *known);
