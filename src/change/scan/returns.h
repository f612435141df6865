/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What our own transactions have taken away and brought back. A rename changes the ctime, a copy the inode, and both are
 * what tells somebody else's change; so whoever brings an entry back writes down which it was, and a run that knew it then
 * knows it again. Only where everything else is the same, and nobody has touched it while it was away: anything in doubt is
 * not written, and then it is a conflict (I3).
 *
 * One file per run, runs/<run>/returns, a line an entry. Nothing depends on its being there.
 *
 *   struct returns r = RETURNS_INIT(runs_dir);
 *   if (returns_is_same(&r, &c->after, &live)) …it is what it was, though inode or ctime say otherwise…
 */
#pragma once

#include "change/change.h"

struct returned {
	bool directory; /* its ctime changes with what is in it, so to_ns is when it was made, and from_ns nothing */
	uint64_t from_inode, to_inode;
	int64_t from_ns, to_ns;
};

struct returns {
	const char *runs_dir; /* borrowed; NULL: nothing is known */
	bool loaded;	      /* read when first asked, which mostly nobody does */
	struct returned *v;   /* sorted by where they came from */
	size_t n, cap;
};
#define RETURNS_INIT(dir)                                                                                              \
	{                                                                                                              \
		.runs_dir = (dir)                                                                                      \
	}

void returns_done(struct returns *r);
#define _cleanup_returns_ _cleanup_(returns_done)

/* Whether live is the entry that was, brought back by us. False when neither inode nor ctime differ: then there is nothing to
 * ask. */
bool returns_is_same(struct returns *r, const struct change_stat *was, const struct change_stat *live);
/* Whether we made this directory in place of one that was there before. */
bool returns_has_made(struct returns *r, uint64_t inode, int64_t made_ns);

int returns_add(struct returns *r, const struct returned *one); /* 0 or -ENOMEM */
void returns_save(const struct returns *r, int run_fd);		/* appends; best effort */

/* When a directory was made, or 0 where the file system does not tell. */
int64_t returns_birth(int fd);
