/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Commits that references reach after the run and did not reach before. */
#pragma once

#include "change/gate/gate_repo.h"

#define WALK_MAX_COMMITS 20000

/* A commit that the walk has met. */
struct walk_commit {
	struct git_oid oid, tree;
	int64_t time;
	size_t parents, n_parents; /* places in the walk's list of parents; each is a commit's place */
	bool is_old;		   /* references reached it before the run */
	bool is_missing;	   /* it cannot be read */
	bool is_read, is_done;
};

struct commit_walk {
	struct gate_repo *repo;
	struct walk_commit *v;
	size_t n, cap;
	size_t *parents; /* places in v */
	size_t n_parents, parents_cap;
	size_t *table; /* hash table of places + 1 */
	size_t table_size;
	size_t *queue; /* places that wait, a heap by time */
	size_t n_queue, queue_cap;
	size_t n_new; /* in the queue that are not known to be old */
};

/* Fills in the walk from tips: afterwards v has every new commit, with is_old false, and some old ones. 0 or -errno: -EDQUOT
 * when there are too many. The caller frees it with walk_done in any case. */
int walk_new_commits(struct commit_walk *w, struct gate_repo *repo, const struct oids *tips);
/* Reads one that the walk has met and not needed. -EDQUOT or -ENOMEM; one that is not there is_missing. */
int walk_read(struct commit_walk *w, size_t place);
void walk_done(struct commit_walk *w);
