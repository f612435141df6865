/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Opening a file that a hostile command, or somebody at the same time, may have put in place of another: pinned without
 * being opened, looked at, and only then opened, so that no FIFO blocks, no device acts and no symlink leads away (I6).
 * An fd or -errno. */
#pragma once

#include <sys/stat.h>

/* The regular file name in the directory, for reading. -EINVAL when it is something else. */
int open_regular_at(int dirfd, const char *name);

/* The two halves. */
int open_pin_regular(int dirfd, const char *name, struct stat *ret); /* O_PATH */
int open_pinned(int fd);
