/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reaching a path below a directory somebody hostile may have filled (I6): no symlink is followed, no mount is crossed,
 * ".." never leaves, and paths may be longer than PATH_MAX.
 *
 *   const char *name;
 *   int dir = fs_open_parent(root_fd, "a/b/c", &name);     an fd of a/b, name = "c"
 *
 * All return an fd (CLOEXEC, the caller's) or -errno: -ELOOP for a symlink on the way, -EXDEV for a mount, -ENOENT,
 * -ENOTDIR.
 */
#pragma once

#include <sys/stat.h>

/* The directory that holds path, opened O_PATH; *ret_name points at path's last component. path is relative and normal. */
int fs_open_parent(int root_fd, const char *path, const char **ret_name);

/* The path itself with these open(2) flags (O_NOFOLLOW and O_CLOEXEC are added). "" opens root_fd anew. */
int fs_open_beneath(int root_fd, const char *path, int flags);

/* lstat beneath. 0 or -errno. */
int fs_stat_beneath(int root_fd, const char *path, struct stat *ret);
