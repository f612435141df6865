/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A run's changes as lines for people and models: "M  src/a.c  (held: reason)". Control characters and deceptive
 * characters are escaped. The caller frees the texts. NULL: out of memory. */
#pragma once

#include <stdbool.h>

#include <airlock/changes.h>

/* 'A', 'M', 'D', 'R', 'm' or 'T'. */
char change_letter(enum airlock_change_kind kind);
/* The path as people see it: relative in the project, elsewhere with its root; "old -> new" for a rename. */
char *change_path(const struct airlock_change *c);

/* Why it waits, as one sentence; "" for no reason. */
char *change_reason(const struct airlock_change *c);

/* One line for each change, except those with skip[i] (NULL: none). */
char *change_lines(const struct airlock_changes *c, const bool *skip);
/* One line for each change that the call has just made, describing the effect: undoing an addition deletes. Notes
 * follow. */
char *change_lines_done(const struct airlock_changes *c);
