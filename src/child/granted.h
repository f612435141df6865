/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where the plan refuses something, and mounts on which it refuses nothing at all.
 *
 * Most calls that the first process is told of (observe.h) are about the project, where everything is granted. Finding out
 * where a path leads takes ten system calls and more. But what is granted is a property of mounts: if the kernel says that a
 * file lies on a mount where nothing is refused, one call is enough. Such mounts are learned from paths that were
 * resolved, and remembered by their id. Freestanding.
 */
#pragma once

#include <stddef.h>

struct child_job;

/* CHILD_REFUSES_… at an absolute path without symlinks. */
unsigned granted_refuses(const struct child_job *job, const char *where);

/* True if the call's path leads to a mount on which nothing is refused. False if it does not, or needs a closer look. dir_fd
 * and path are the caller's. */
int granted_is_all(int pid, int dir_fd, const char *path, int follow);

/* Learns about the mount of an absolute path without symlinks, of which the first len bytes exist. The path is the same
 * afterwards. */
void granted_learn(const struct child_job *job, char *path, size_t len);
