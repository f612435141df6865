/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Symlinks that lead out of the project: searched once, verified ever after. Whether one makes its target writable is a
 * person's answer (state), which memory.h keeps. */
#pragma once

#include "project/roots.h"

/* In the order of the search: a link in a linked root comes after the link that made it a root. */
struct links {
	struct project_link *v;
	size_t n, cap;
	bool failed;
};
#define LINKS_INIT                                                                                                     \
	{                                                                                                              \
		0                                                                                                      \
	}

/* Copies both texts. The new entry, or NULL when memory is short (then l->failed is set). */
struct project_link *links_add(struct links *l, const char *path, const char *target, enum airlock_link_state state);
const struct project_link *links_find(const struct links *l, const char *path, const char *target); /* or NULL */
const struct project_link *links_find_path(const struct links *l, const char *path); /* the first, or NULL */
void links_done(struct links *l);
#define _cleanup_links_ _cleanup_(links_done)

/* Walks the project and every directory that an allowed link leads to. Adds to found each link that leads out, with the
 * answer that remembered has for it, or refused with the reason; to notes what may never be a root and why. Only a failure
 * of our own (memory, descriptors) is an error. */
int links_search(const struct roots_rules *rules, const struct project_query *q, const struct links *remembered,
		 struct links *found, struct strs *notes, struct airlock_error *err);

/* Adds to now where those of remembered lead today. One that leads elsewhere than it did is a new link that nobody has
 * answered. Walks nothing. */
int links_verify(const struct roots_rules *rules, const struct links *remembered, struct links *now, struct strs *notes,
		 struct airlock_error *err);

/* Where one link leads, as a person names it: path is relative to the project or absolute. AIRLOCK_ERR_NOT_FOUND: no such
 * link, or it leads nowhere; INVALID: no link, not to a directory, or not out of the project; BLOCKED: never a root. */
int links_look(const struct roots_rules *rules, const char *path, struct links *found, struct airlock_error *err);
