/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Opens a file that a hostile command may have left, or that someone may be replacing at the moment. It looks first,
 * so that no device acts; opens without following or waiting, so that no symlink leads away and no FIFO blocks; and
 * looks again, so that what is read is what was looked at (I6). Returns an fd or -errno. */
#pragma once

#include <sys/stat.h>

/* The regular file name in the directory, for reading. -EINVAL if it is something else. */
int open_regular_at(int dirfd, const char *name);

/* The same if the caller has the stat already. -ESTALE if it is another file now. */
int open_known_at(int dirfd, const char *name, const struct stat *known);
