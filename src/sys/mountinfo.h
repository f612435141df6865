/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lines of /proc/PID/mountinfo. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The mount point of a line, with octal escapes decoded. */
bool sys_mount_point(const char *line, char *out, size_t size);
