/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Hides something in a running sandbox. */
#pragma once

#include <stdbool.h>

/* Mounts something empty over target, a path in the sandbox of the process behind pid_fd: a directory over a
 * directory, the caller's file empty_file (or, if that cannot be brought along, the sandbox's /dev/null) over a file.
 * For root only. 0, or -errno: then nothing is mounted. */
int cover_again(int pid_fd, const char *target, bool is_dir, const char *empty_file);
