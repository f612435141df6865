/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a finished transaction means for the change set. The same after a crash, from the journal. */
#include "change/apply/apply_tx.h"

#include "base/path.h"
#include "change/reason.h"
#include "fs/beneath.h"

#include <fcntl.h>
#include <string.h>

static struct change *change_of(const struct apply_op *op, struct change_set *set)
{
	struct change *c = op->change < set->n ? &set->v[op->change] : NULL;
	const char *path = !c ? NULL : op->from ? c->from : c->path;
	return path && c->root == op->root && strcmp(path, op->path) == 0 ? c : NULL;
}

/* If somebody wrote to it since, it is not ours any more. A copy may be on a file system with coarser times. */
static bool is_as_brought(const struct apply_tx *tx, const struct apply_op *op, const struct change_stat *live)
{
	bool same_inode = live->inode == op->staged;
	if (live->type != op->want.type || (!same_inode && !tx->roots[op->root].made_up_inodes))
		return false;
	if (live->type != CHANGE_FILE)
		return true;
	if (!same_inode && live->mtime_ns / 1000000000 != op->want.mtime_ns / 1000000000)
		return false;
	return live->size == op->want.size && (tx->roots[op->root].copy || live->mtime_ns == op->want.mtime_ns);
}

/* Undo compares with this: who moves, writes or replaces the entry changes inode or ctime. */
static void remember_live(const struct apply_tx *tx, const struct apply_op *op, struct change_stat *ret)
{
	if (is_as_brought(tx, op, &op->came) || (op->step == APPLY_META && op->came.type == op->want.type))
		*ret = op->came;
}

/* ── What was brought back ── */

/* A rename has two operations; what the run found is at its old path, what it made at the new one. */
static bool is_about_before(const struct apply_op *op, const struct change *c)
{
	return op->from || !c->from;
}

static int64_t layer_ns(const struct apply_tx *tx, const struct apply_op *op)
{
	struct change_stat st = {0};
	const char *name;
	int dir = apply_layer_parent(tx, op->root, op->path, &name);
	return dir < 0 || change_stat_at(dir, name, &st) < 0 ? 0 : st.ctime_ns;
}

/* Of what was there before. */
static int64_t slot_ns(const struct apply_tx *tx, const struct apply_op *op)
{
	struct change_stat st;
	if (op->caught_ns && !tx->undo && !tx->roots[op->root].copy)
		return op->caught_ns; /* where the stage is the slot */
	if (op->in_layer)
		return layer_ns(tx, op);
	return change_stat_at(tx->before_fd, change_slot_name(op->slot).text, &st) < 0 ? 0 : st.ctime_ns;
}

static int64_t live_birth(const struct apply_tx *tx, const struct apply_op *op)
{
	_cleanup_close_ int fd = fs_open_beneath(tx->roots[op->root].live_fd, op->path, O_PATH | O_DIRECTORY);
	return fd < 0 ? 0 : returns_birth(fd);
}

static int add_return(const struct apply_tx *tx, const struct apply_op *op, const struct change_stat *was,
		      const struct change_stat *live, struct returns *r)
{
	struct returned one = {.from_inode = was->inode, .to_inode = live->inode};
	one.directory = live->type == CHANGE_DIRECTORY;
	one.from_ns = one.directory ? 0 : was->ctime_ns;
	one.to_ns = one.directory ? live_birth(tx, op) : live->ctime_ns;
	/* a directory that was made anew may have got the same number */
	bool moved = one.directory || one.from_inode != one.to_inode || one.from_ns != one.to_ns;
	return moved && was->type == live->type ? returns_add(r, &one) : 0;
}

/* The entry that was live at some time and is again. Who had it open may have written to it meanwhile; then its ctime is not
 * the one we left it with, and it is no return. */
static int collect_done(const struct apply_tx *tx, const struct apply_op *op, const struct change *c, struct returns *r)
{
	bool brings = op->step == APPLY_INSTALL || op->step == APPLY_EXCHANGE;
	bool about_it = tx->undo ? is_about_before(op, c) : !op->from;
	if (op->left || !brings || !about_it || !c->image_ns)
		return 0;
	if (op->want.type != CHANGE_DIRECTORY && op->want.ctime_ns != c->image_ns)
		return 0;
	if (!is_as_brought(tx, op, &op->came))
		return 0;
	return add_return(tx, op, tx->undo ? &c->before : &c->after, &op->came, r);
}

static bool is_old_self(const struct change_stat *live, const struct change_stat *old)
{
	return live->inode == old->inode && live->mtime_ns == old->mtime_ns && live->size == old->size;
}

/* A name that came or went gave the file a new ctime: the file itself, at its other name, is as it was. */
static int add_linked(const struct apply_tx *tx, const struct apply_op *op, const struct change *c, struct returns *r)
{
	const struct change_stat *was = tx->undo ? &op->old : &op->want;
	struct change_stat live;
	if (!op->linked || !c->link || ops_look_live(tx, op->root, c->link, &live) < 0 || !is_old_self(&live, was))
		return 0;
	return add_return(tx, op, was, &live, r);
}

/* Must run before the set is changed: the set still says which entry each one was. */
static int collect_returns(const struct apply_tx *tx, struct change_set *set, struct returns *r)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < tx->n_ops; i++) {
		const struct change *c = change_of(&tx->ops[i], set);
		rc = c ? collect_done(tx, &tx->ops[i], c, r) : 0;
		rc = c && rc == 0 ? add_linked(tx, &tx->ops[i], c, r) : rc;
	}
	return rc;
}

static void set_applied(const struct apply_tx *tx, const struct apply_op *op, struct change *c)
{
	conflict_forget(c);
	change_reason_drop(c, REASON_WAITING);
	c->state = CHANGE_APPLIED;
	c->slot = op->slot - op->from;
	if (is_about_before(op, c)) {
		c->before = op->old;
		c->image_ns = op->step == APPLY_REMOVE || op->step == APPLY_EXCHANGE ? slot_ns(tx, op) : 0;
	}
	if (!op->from)
		remember_live(tx, op, &c->after);
}

/* What went back to the layer is what was applied, or came back since. By force it may be anything. */
static bool is_what_was_applied(const struct apply_tx *tx, const struct apply_op *op, const struct change *c)
{
	const struct change_stat *old = &op->old, *after = &c->after;
	bool same = old->type == after->type && (old->inode == after->inode || tx->roots[op->root].made_up_inodes) &&
		    (old->type == CHANGE_DIRECTORY || old->ctime_ns == after->ctime_ns);
	return same || returns_is_same(tx->known, after, old);
}

static void set_taken(const struct apply_tx *tx, const struct apply_op *op, struct change *c)
{
	bool known = op->old.type != CHANGE_NOTHING && is_what_was_applied(tx, op, c);
	if (known)
		c->after = op->old;
	c->image_ns = known ? layer_ns(tx, op) : 0;
}

static void set_held(const struct apply_tx *tx, const struct apply_op *op, struct change *c)
{
	change_reason_drop(c, REASON_CONFLICT);
	c->state = CHANGE_HELD;
	c->slot = 0;
	c->settled = true;
	if (!op->from)
		set_taken(tx, op, c);
	if (is_about_before(op, c))
		remember_live(tx, op, &c->before);
}

static int set_left(const struct apply_tx *tx, struct change *c)
{
	return tx->undo ? change_reason_set(c, change_reason_of(AIRLOCK_REASON_UNDO_RACED))
			: conflict_mark(c, AIRLOCK_REASON_APPLY_RACED);
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
	_cleanup_returns_ struct returns returns = RETURNS_INIT(NULL);
	int rc = collect_returns(tx, set, &returns);
	rc = rc < 0 ? rc : record_ops(tx, set, false);
	rc = rc < 0 ? rc : record_ops(tx, set, true);
	if (rc == 0)
		returns_save(&returns, tx->run_fd);
	rc = rc < 0 || tx->undo ? rc : record_dirs(tx, set);
	return rc < 0 ? base_oom(err) : 0;
}

/* A directory that could not be renamed was removed and made again; so is a file that could not be linked. */
static bool is_made_again(const struct apply_tx *tx, const struct apply_op *op, const struct change_stat *live)
{
	if (op->plain && !op->links && live->mtime_ns == op->old.mtime_ns && live->size == op->old.size)
		return live->inode != op->old.inode;
	return tx->roots[op->root].copy && op->old.type == CHANGE_DIRECTORY && live->inode != op->old.inode;
}

/* A rename there and back changes only the ctime, by which we detect other people's changes: remember the new one, so
 * that our own rename does not look foreign (I3). */
static void keep_known(const struct apply_tx *tx, const struct apply_op *op, struct change *c, struct returns *r)
{
	struct change_stat live, *known = tx->undo ? &c->after : &c->before;
	bool about_it = tx->undo ? !op->from : is_about_before(op, c);
	if (ops_look_live(tx, op->root, op->path, &live) < 0 || live.type != op->old.type || live.mode != op->old.mode)
		return;
	if (!is_old_self(&live, &op->old) && !is_made_again(tx, op, &live))
		return;
	(void)add_return(tx, op, &op->old, &live,
			 r); /* out of memory: it is reported as a conflict later, which loses nothing */
	if (!about_it || op->old.ctime_ns != known->ctime_ns)
		return;
	known->inode = live.inode;
	known->ctime_ns = live.ctime_ns;
	c->settled |= !tx->undo;
}

/* It went and came back as well. */
static void keep_image(const struct apply_tx *tx, const struct apply_op *op, struct change *c)
{
	bool about_it = tx->undo ? is_about_before(op, c) : !op->from;
	if (about_it && c->image_ns && c->image_ns == op->want.ctime_ns)
		c->image_ns = tx->undo ? slot_ns(tx, op) : layer_ns(tx, op);
}

void record_reverted(struct apply_tx *tx, struct change_set *set)
{
	_cleanup_returns_ struct returns returns = RETURNS_INIT(NULL);
	for (size_t i = 0; i < tx->n_ops; i++) {
		struct change *c = change_of(&tx->ops[i], set);
		if (c)
			keep_known(tx, &tx->ops[i], c, &returns);
		if (c)
			keep_image(tx, &tx->ops[i], c);
		if (c)
			(void)add_linked(tx, &tx->ops[i], c, &returns);
		if (c && tx->ops[i].left)
			(void)set_left(tx, c); /* without its reason, when there is no memory */
	}
	returns_save(&returns, tx->run_fd);
}
