/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The changes of a run as the public API hands them out. */
#pragma once

#include "change/change.h"

/* One of the set; borrows from it. */
struct airlock_change change_value(const struct change_set *set, size_t i, bool is_done);

/* Of a run that has just ended; the set (NULL: none) must outlive the result. NULL: out of memory. */
struct airlock_changes *change_values_of_run(const char *run, const struct change_set *set,
					     enum airlock_changes_state state);

/* What a call did, beside the changes themselves. */
struct change_outcome {
	enum airlock_changes_action action;
	const bool *done;    /* per change: the call did it; NULL: none */
	const bool *only;    /* per change: it is part of the result; NULL: all are */
	struct notes *notes; /* emptied; NULL: none */
};
/* Takes the set, also on failure. */
int change_values_take(struct change_set *set, const struct change_outcome *outcome, struct airlock_changes **ret,
		       struct airlock_error *err);

/* "state" and "files" into an open object. set: NULL for none. */
struct json;
void change_values_list_json(const struct airlock_changes *c, struct json *j);
void change_values_add_json(const struct change_set *set, enum airlock_changes_state state, struct json *j);
