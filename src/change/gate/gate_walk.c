/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which commits are new: those that are reached from the new tips and not from what references named before.
 *
 * Both sides are walked from their tips towards the first commit, the latest first. What is met from the old side is old,
 * and so is all behind it. The walk ends when nothing is left in the queue that is not old. A commit's date is whatever its
 * author wrote: with wrong dates the walk may end before the old side has met a commit that is old, which is then taken for
 * new and looked into. The other way round is impossible, for only a chain of parents makes a commit old.
 *
 * At first only the values that the changed references had are the old side: an ordinary commit is one step from there. All
 * references are read only when that does not suffice.
 */
#include "change/gate/gate_commits.h"

#include "base/array.h"

#include <string.h>

#define NEAR 64 /* commits looked at before all references are read */

void walk_done(struct commit_walk *w)
{
	free(w->v);
	free(w->parents);
	free(w->table);
	free(w->queue);
}

/* ── Commits by name ── */

static size_t slot_of(const struct commit_walk *w, const struct git_oid *oid)
{
	uint64_t h;
	memcpy(&h, oid->b, sizeof h);
	size_t i = (size_t)(h * 0x9e3779b97f4a7c15u >> 20) % w->table_size;
	while (w->table[i] && git_oid_compare(&w->v[w->table[i] - 1].oid, oid) != 0)
		i = (i + 1) % w->table_size;
	return i;
}

static int make_table(struct commit_walk *w)
{
	w->table_size = WALK_MAX_COMMITS * 2 + 1;
	w->table = calloc(w->table_size, sizeof *w->table);
	return w->table ? 0 : -ENOMEM;
}

/* The place of a commit, new to the walk or not. -EDQUOT, -ENOMEM. */
static int find_or_add(struct commit_walk *w, const struct git_oid *oid, size_t *ret)
{
	size_t slot = slot_of(w, oid);
	if (w->table[slot]) {
		*ret = w->table[slot] - 1;
		return 0;
	}
	if (w->n >= WALK_MAX_COMMITS)
		return -EDQUOT;
	if (!ARRAY_ROOM(w->v, w->n, w->cap, 64))
		return -ENOMEM;
	w->v[w->n] = (struct walk_commit){.oid = *oid};
	w->table[slot] = w->n + 1;
	*ret = w->n++;
	return 0;
}

/* ── The queue ── */

static bool comes_first(const struct commit_walk *w, size_t a, size_t b)
{
	return w->v[w->queue[a]].time > w->v[w->queue[b]].time;
}

static void swap(struct commit_walk *w, size_t a, size_t b)
{
	size_t kept = w->queue[a];
	w->queue[a] = w->queue[b];
	w->queue[b] = kept;
}

static int push(struct commit_walk *w, size_t place)
{
	if (!ARRAY_ROOM(w->queue, w->n_queue, w->queue_cap, 64))
		return -ENOMEM;
	w->queue[w->n_queue++] = place;
	w->n_new += !w->v[place].is_old;
	for (size_t i = w->n_queue - 1; i > 0 && comes_first(w, i, (i - 1) / 2); i = (i - 1) / 2)
		swap(w, i, (i - 1) / 2);
	return 0;
}

static size_t pop(struct commit_walk *w)
{
	size_t place = w->queue[0];
	w->queue[0] = w->queue[--w->n_queue];
	for (size_t i = 0;;) {
		size_t child = 2 * i + 1;
		if (child + 1 < w->n_queue && comes_first(w, child + 1, child))
			child++;
		if (child >= w->n_queue || !comes_first(w, child, i))
			break;
		swap(w, i, child);
		i = child;
	}
	w->n_new -= !w->v[place].is_old;
	return place;
}

/* ── Reading ── */

static int add_parents(struct commit_walk *w, size_t place, const struct git_commit *commit)
{
	w->v[place].parents = w->n_parents;
	for (size_t i = 0; i < commit->n_parents; i++) {
		size_t parent;
		int rc = find_or_add(w, &commit->parents[i], &parent);
		if (rc < 0)
			return rc;
		if (!ARRAY_ROOM(w->parents, w->n_parents, w->parents_cap, 64))
			return -ENOMEM;
		w->parents[w->n_parents++] = parent;
		w->v[place].n_parents++;
	}
	return 0;
}

/* Reads the commit. A parent of an old commit that is not there is beyond the end of a shallow clone. */
static int read_place(struct commit_walk *w, size_t place)
{
	struct git_commit commit;
	struct git_oid oid = w->v[place].oid;
	if (w->v[place].is_read)
		return 0;
	w->v[place].is_read = true;
	int rc = gate_repo_read_commit(w->repo, &oid, &commit);
	if (rc < 0) {
		w->v[place].is_missing = w->v[place].is_done = true;
		return rc;
	}
	w->v[place].tree = commit.tree;
	w->v[place].time = commit.time;
	return add_parents(w, place, &commit);
}

static bool is_limit(int rc)
{
	return rc == -EDQUOT || rc == -ENOMEM;
}

int walk_read(struct commit_walk *w, size_t place)
{
	int rc = read_place(w, place);
	return is_limit(rc) ? rc : 0;
}

/* Old tips need not be commits, nor be there. Of a tag, what it leads to. */
static int add_old(struct commit_walk *w, struct git_oid oid)
{
	struct git_commit commit;
	size_t place;
	int rc = gate_repo_read_commit(w->repo, &oid, &commit);
	if (rc < 0)
		return is_limit(rc) ? rc : 0;
	rc = find_or_add(w, &oid, &place);
	if (rc < 0 || w->v[place].is_old)
		return rc;
	bool waits = w->v[place].is_read && !w->v[place].is_done;
	w->n_new -= waits;
	w->v[place].is_old = true;
	if (!w->v[place].is_read) {
		rc = read_place(w, place);
		return rc < 0 ? is_limit(rc) ? rc : 0 : push(w, place);
	}
	/* Its parents were taken for new: once more, as old ones. */
	w->v[place].is_done = false;
	return waits ? 0 : push(w, place);
}

/* ── Walking ── */

/* A parent learns what its child is. */
static int meet(struct commit_walk *w, size_t place, bool is_old)
{
	struct walk_commit *c = &w->v[place];
	bool waits = c->is_read && !c->is_done;
	if (c->is_read && (!is_old || c->is_old))
		return 0;
	w->n_new -= waits && is_old;
	c->is_old |= is_old;
	if (waits)
		return 0;
	if (!c->is_read) {
		int rc = read_place(w, place);
		if (rc < 0 && is_old && !is_limit(rc))
			return 0;
		if (rc < 0)
			return rc == -ENOENT ? 0 : rc; /* beyond the end of what was fetched */
	}
	w->v[place].is_done = false;
	return push(w, place);
}

static int step(struct commit_walk *w)
{
	size_t place = pop(w);
	struct walk_commit *c = &w->v[place];
	bool is_old = c->is_old;
	size_t first = c->parents, n = c->n_parents;
	c->is_done = true;
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = meet(w, w->parents[first + i], is_old);
	return rc;
}

static int add_tip(struct commit_walk *w, struct git_oid oid)
{
	struct git_commit commit;
	size_t place;
	int rc = gate_repo_read_commit(w->repo, &oid, &commit);
	if (rc < 0)
		return rc;
	rc = find_or_add(w, &oid, &place);
	return rc < 0 ? rc : meet(w, place, false);
}

/* Everything that references named before. */
static int add_all_old(struct commit_walk *w)
{
	struct gate_repo *repo = w->repo;
	int rc = gate_repo_read_old(repo);
	for (size_t i = 0; rc == 0 && i < w->n; i++) /* at no cost: those that are tips themselves */
		if (!w->v[i].is_old && oids_has(&repo->old, &w->v[i].oid))
			rc = add_old(w, w->v[i].oid);
	while (rc == 0 && w->n_new > 0 && w->v[w->queue[0]].is_old)
		rc = step(w);
	for (size_t i = 0; rc == 0 && w->n_new > 0 && i < repo->old.n; i++)
		rc = add_old(w, repo->old.v[i]);
	return rc;
}

int walk_new_commits(struct commit_walk *w, struct gate_repo *repo, const struct oids *tips)
{
	*w = (struct commit_walk){.repo = repo};
	int rc = make_table(w);
	for (size_t i = 0; rc == 0 && i < tips->n; i++)
		rc = add_tip(w, tips->v[i]);
	for (size_t i = 0; rc == 0 && i < repo->near.n; i++)
		rc = add_old(w, repo->near.v[i]);
	for (size_t i = 0; rc == 0 && w->n_new > 0 && i < NEAR; i++)
		rc = step(w);
	if (rc == 0 && w->n_new > 0)
		rc = add_all_old(w);
	while (rc == 0 && w->n_new > 0)
		rc = step(w);
	return rc;
}
