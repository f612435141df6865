/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Symlinks that lead out of the project: searched once, then only verified. A person's answer (state), which link_memory.h
 * stores, decides whether a link makes its target writable. */
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

/* Copies both texts. Returns the new entry, or NULL if out of memory (then l->failed is set). */
struct project_link *links_add(struct links *l, const char *path, const char *target, enum airlock_link_state state);
const struct project_link *links_find(const struct links *l, const char *path, const char *target); /* or NULL */
const struct project_link *links_find_path(const struct links *l, const char *path); /* the first, or NULL */
void links_done(struct links *l);
#define _cleanup_links_ _cleanup_(links_done)

/* Walks the project and every directory behind an allowed link. Adds each link that leads out to found, with the
 * answer that remembered has for it, or refused with the reason; adds what can never be a root, and why, to notes.
 * Only a failure of our own (memory, descriptors) is an error. */
int links_search(const struct roots_rules *rules, const struct project_query *q, const struct links *remembered,
		 struct links *found, struct notes *notes, struct airlock_error *err);

/* Adds to now where the links of remembered lead today. A link that leads elsewhere than before is a new link that
 * nobody has answered. Walks nothing. */
int links_verify(const struct roots_rules *rules, const struct links *remembered, struct links *now,
		 struct notes *notes, struct airlock_error *err);

/* Where one link leads, as a person names it: path is relative to the project or absolute. AIRLOCK_ERR_NOT_FOUND: no
 * such link, or it leads nowhere; INVALID: not a link, not to a directory, or not out of the project; BLOCKED: never a
 * root. */
int links_look(const struct roots_rules *rules, const char *path, struct links *found, struct airlock_error *err);
