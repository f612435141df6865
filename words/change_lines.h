/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A run's changes as lines for people and models: "M  src/a.c  (held: reason)". Everything is inert: control characters and
 * deceptive ones are escaped. The texts are the caller's: free(). NULL: out of memory. */
#pragma once

#include <stdbool.h>

#include <airlock/changes.h>

/* 'A', 'M', 'D', 'R', 'm' or 'T'. */
char change_letter(enum airlock_change_kind kind);
/* The path as people see it: in the project as it is, elsewhere with its root; "old -> new" for a rename. */
char *change_path(const struct airlock_change *c);

/* One line for each change, but for those with skip[i] (NULL: none). */
char *change_lines(const struct airlock_changes *c, const bool *skip);
/* One line for each change that the call has just done, telling what was done: undoing an addition deletes. Notes follow. */
char *change_lines_done(const struct airlock_changes *c);
