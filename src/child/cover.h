/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Hiding something in a sandbox that is at work already. */
#pragma once

#include <stdbool.h>

/* Mounts something empty over target, a path in the sandbox of the process behind pid_fd: a directory over a directory, the file
 * empty_file of the caller's (or, where that cannot be taken along, the sandbox's /dev/null) over a file. For root only. 0, or
 * -errno: nothing is mounted then. */
int cover_again(int pid_fd, const char *target, bool is_dir, const char *empty_file);
