/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shows the diff of a run's changes. */
#pragma once

#include <airlock/changes.h>

/* On a terminal: escaped, coloured unless NO_COLOR is set, through the pager if it is long. A file or another program
 * gets the exact bytes, suitable for `git apply`. paths: NULL for all. */
int diff_show(const struct airlock_settings *s, const struct airlock_changes *changes, const char *const *paths, int fd,
	      struct airlock_error *err);
