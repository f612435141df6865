/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a finished transaction means for the change set. The same after a crash, from the journal. */
#include "change/apply_tx.h"

#include "base/path.h"

#include <string.h>

static struct change *change_of(const struct apply_op *op, struct change_set *set)
{
	struct change *c = op->change < set->n ? &set->v[op->change] : NULL;
	const char *path = !c ? NULL : op->from ? c->from : c->path;
	return path && c->root == op->root && strcmp(path, op->path) == 0 ? c : NULL;
}

/* Undo compares with this: who moves, writes or replaces the entry changes inode or ctime. */
static void remember_live(const struct apply_tx *tx, const struct apply_op *op, struct change_stat *ret)
{
	struct change_stat live;
	if (ops_look_live(tx, op->root, op->path, &live) == 0 && live.type == op->want.type &&
	    (live.inode == op->staged || op->step == APPLY_META))
		*ret = live;
}

static void set_applied(const struct apply_tx *tx, const struct apply_op *op, struct change *c)
{
	if (c->state == CHANGE_CONFLICT)
		base_freep(&c->reason);
	c->state = CHANGE_APPLIED;
	c->slot = op->slot - op->from;
	if (op->from || !c->from)
		c->before = op->old;
	if (!op->from)
		remember_live(tx, op, &c->after);
}

static void set_held(const struct apply_tx *tx, const struct apply_op *op, struct change *c)
{
	c->state = CHANGE_HELD;
	c->slot = 0;
	c->settled = true;
	if (op->from || !c->from)
		remember_live(tx, op, &c->before);
}

static int set_left(const struct apply_tx *tx, struct change *c)
{
	if (!tx->undo)
		c->state = CHANGE_CONFLICT;
	return change_set_reason(c, "somebody else changed it while it was being %s", tx->undo ? "undone" : "applied");
}

static int compare_dirs(const void *x, const void *y)
{
	const struct change_dir *a = x, *b = y;
	if (a->root != b->root)
		return a->root < b->root ? -1 : 1;
	return path_compare(a->path, b->path);
}

static int record_dirs(const struct apply_tx *tx, struct change_set *set)
{
	size_t sorted = set->n_dirs;
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < tx->n_dirs; i++) {
		const struct apply_dir *d = &tx->dirs[i];
		struct change_dir key = {.root = d->root, .path = d->path};
		struct change_dir *known = sorted ? bsearch(&key, set->dirs, sorted, sizeof key, compare_dirs) : NULL;
		if (known) {
			known->without_ns = d->without_ns;
			known->with_ns = d->with_ns;
		} else {
			rc = change_set_take_dir(set, d->root, strdup(d->path), d->without_ns, d->with_ns);
		}
	}
	if (set->n_dirs > 1)
		qsort(set->dirs, set->n_dirs, sizeof *set->dirs, compare_dirs);
	return rc;
}

static int record_op(const struct apply_tx *tx, const struct apply_op *op, struct change *c)
{
	if (op->left)
		return set_left(tx, c);
	if (tx->undo)
		set_held(tx, op, c);
	else
		set_applied(tx, op, c);
	return 0;
}

/* A change of two operations is left when one of them is: those come last. */
static int record_ops(const struct apply_tx *tx, struct change_set *set, bool left)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < tx->n_ops; i++) {
		const struct apply_op *op = &tx->ops[i];
		struct change *c = change_of(op, set);
		rc = c && op->left == left ? record_op(tx, op, c) : 0;
	}
	return rc;
}

int record_result(struct apply_tx *tx, struct change_set *set, struct airlock_error *err)
{
	int rc = record_ops(tx, set, false);
	rc = rc < 0 ? rc : record_ops(tx, set, true);
	rc = rc < 0 || tx->undo ? rc : record_dirs(tx, set);
	return rc < 0 ? base_oom(err) : 0;
}

/* A directory that could not be renamed was removed and made again. */
static bool is_made_again(const struct apply_tx *tx, const struct apply_op *op, const struct change_stat *live)
{
	return tx->roots[op->root].copy && op->old.type == CHANGE_DIRECTORY && live->inode != op->old.inode;
}

static bool is_old_self(const struct change_stat *live, const struct change_stat *old)
{
	return live->inode == old->inode && live->mtime_ns == old->mtime_ns && live->size == old->size;
}

/* Renames there and back leave an entry as it was but for its ctime, which tells others' changes: what we did ourselves must
 * not look like one. */
static void keep_known(const struct apply_tx *tx, const struct apply_op *op, struct change *c)
{
	struct change_stat live, *known = tx->undo ? &c->after : &c->before;
	bool about_it = tx->undo ? !op->from : op->from || !c->from;
	if (!about_it || ops_look_live(tx, op->root, op->path, &live) < 0 || live.type != op->old.type ||
	    live.mode != op->old.mode || op->old.ctime_ns != known->ctime_ns)
		return;
	if (!is_old_self(&live, &op->old) && !is_made_again(tx, op, &live))
		return;
	known->inode = live.inode;
	known->ctime_ns = live.ctime_ns;
	c->settled |= !tx->undo;
}

void record_reverted(struct apply_tx *tx, struct change_set *set)
{
	for (size_t i = 0; i < tx->n_ops; i++) {
		struct change *c = change_of(&tx->ops[i], set);
		if (c)
			keep_known(tx, &tx->ops[i], c);
		if (c && tx->ops[i].left)
			(void)set_left(tx, c); /* without its reason, when there is no memory */
	}
}
