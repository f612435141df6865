/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The diff of a run's changes, for whoever reads this descriptor. */
#pragma once

#include <airlock/changes.h>

/* On a terminal: inert, coloured unless NO_COLOR says no, through the pager when it is long. Anything else, a file or
 * another program, gets the exact bytes, fit for `git apply`. paths: NULL for all. */
int diff_show(const struct airlock_settings *s, const struct airlock_changes *changes, const char *const *paths, int fd,
	      struct airlock_error *err);
