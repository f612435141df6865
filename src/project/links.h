/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Symlinks that lead out of the project: searched once, verified ever after. */
#pragma once

#include "project/roots.h"

struct link {
	char *path;   /* relative to the project, or absolute when it lies in a linked root */
	char *target; /* real path of the directory it leads to */
};

/* In the order of the search: a link in a linked root comes after the link that made it a root. */
struct links {
	struct link *v;
	size_t n, cap;
	bool failed;
};
#define LINKS_INIT                                                                                                     \
	{                                                                                                              \
		0                                                                                                      \
	}

void links_add(struct links *l, const char *path, const char *target); /* copies both */
void links_done(struct links *l);
#define _cleanup_links_ _cleanup_(links_done)

/* Walks the project and every directory that becomes a root on the way. Adds to found what may be a root, to notes what
 * may not and why. Only a failure of our own (memory, descriptors) is an error. */
int links_search(const struct roots_rules *rules, const struct project_query *q, struct links *found,
		 struct strs *notes, struct airlock_error *err);

/* Adds to still those of remembered that lead where they led. Walks nothing. */
int links_verify(const struct roots_rules *rules, const struct links *remembered, struct links *still,
		 struct strs *notes, struct airlock_error *err);
