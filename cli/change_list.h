/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Counts a run's changes, in words. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <airlock/changes.h>

/* The number of changes in this state. */
size_t change_list_count(const struct airlock_changes *c, enum airlock_change_state state);

/* "1 change", "5 changes" */
struct change_count {
	char text[32];
};
struct change_count change_count(size_t n);

/* "2 applied, 1 held": the states that occur, in words. "" for an empty list. */
struct change_summary {
	char text[160];
};
struct change_summary change_list_summary(const struct airlock_changes *c);
