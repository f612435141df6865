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

/* The first with SYS_LANDLOCK_REFER: before it nothing could be renamed from one directory to another. Linux 5.19. */
#define LANDLOCK_VERSION_NEEDED 2
/* Guards truncate(2) and O_TRUNC. Before it (Linux 6.2) the system call filter refuses every truncation that needs no descriptor
 * opened for writing, in the project too, or every file of the user could be emptied. */
#define LANDLOCK_VERSION_TRUNCATE 3

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
