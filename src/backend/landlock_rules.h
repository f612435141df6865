/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A plan as Landlock rules. Internal to the backend.
 *
 * A rule grants something on a path and on all below it, and nothing can be taken away again below. Where a plan shows
 * a directory but hides something in it, every entry is therefore granted by itself, and the directory cannot be
 * listed: listing it would be granted below too.
 */
#pragma once

#include "base/error.h"
#include "plan/plan.h"

struct landlock_rule {
	char *path;
	bool write;  /* and read; otherwise read */
	bool device; /* read, write and ioctl, of a single device */
};

struct landlock_rules {
	struct landlock_rule *v;
	size_t n, cap;
	bool failed; /* out of memory */
};

void landlock_rules_done(struct landlock_rules *r);
/* Looks at the machine only to list directories something is hidden in. */
int landlock_rules_make(const struct plan *plan, struct landlock_rules *ret, struct airlock_error *err);
