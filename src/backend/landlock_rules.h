/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A plan as Landlock rules. Internal to the backend.
 *
 * A rule grants something on a path and everything below it, and nothing below can be taken away again. So if a plan
 * shows a directory but hides something in it, every entry is granted by itself, and the directory cannot be listed:
 * listing would be granted below it too. */
#pragma once

#include "base/error.h"
#include "plan/plan.h"

/* The first version with SYS_LANDLOCK_REFER: before it nothing could be renamed from one directory to another. Linux
 * 5.19. */
#define LANDLOCK_VERSION_NEEDED 2
/* Controls truncate(2) and O_TRUNC. Before it (Linux 6.2) the system call filter refuses every truncation without a
 * descriptor opened for writing, in the project too; otherwise every file of the user could be emptied. */
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
/* Reads the machine only to list directories in which something is hidden. */
int landlock_rules_make(const struct plan *plan, struct landlock_rules *ret, struct airlock_error *err);
