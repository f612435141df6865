/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Deciding what to do: the selected changes and what is live now become a flat list of steps. Reads, changes nothing.
 *
 * Applying and undoing are the same comparison, of what is wanted at each path with what is there. Wanted is, for apply, what
 * the layer has; for undo, what lies in the change's slot, so a before-image that a forced apply took comes back too. A
 * directory counts without what is in it: that is changes of its own. Removals come first, deepest first, then the rest,
 * parents first; so a directory is empty when it goes, and there when something goes into it.
 */
#include "change/apply/apply_tx.h"

#include "base/path.h"
#include "change/reason.h"
#include "fs/beneath.h"
#include "fs/walk.h"

#include <assert.h>
#include <fcntl.h>
#include <string.h>

struct op_plan {
	struct apply_tx *tx;
	struct change_set *set;
	const bool *selected;
	struct apply_op **by_path; /* all ops, sorted */
	uint64_t next_slot;
	size_t conflicts, dropped;
	const struct change *first_conflict;
	struct airlock_error *err;
};

/* ── What is where ── */

int ops_look_live(const struct apply_tx *tx, size_t root, const char *path, struct change_stat *ret)
{
	const char *name;
	*ret = (struct change_stat){0};
	int dir = apply_live_parent(tx, root, path, &name);
	int rc = dir < 0 ? dir : change_stat_fresh(dir, name, ret);
	if (rc == -ENOENT || rc == -ENOTDIR || rc == -ELOOP)
		return 0;
	if (rc == 0 && ret->type != CHANGE_NOTHING)
		ret->mode = dirs_mode(tx, root, path, ret->mode);
	return rc;
}

/* Keeps setuid and setgid only if the same file had them before (I1). */
static uint32_t applied_mode(const struct change *c)
{
	bool same_content = c->kind == CHANGE_METADATA || c->kind == CHANGE_RENAMED;
	uint32_t kept = same_content && c->before.type == CHANGE_FILE ? c->before.mode : 0;
	return c->after.type == CHANGE_FILE ? c->after.mode & (01777 | kept) : c->after.mode;
}

static int look_layer(struct op_plan *p, const struct change *c, struct change_stat *ret)
{
	const char *name;
	int dir = apply_layer_parent(p->tx, c->root, c->path, &name);
	int rc = dir < 0 ? dir : change_stat_at(dir, name, ret);
	if (rc < 0 && rc != -ENOENT && rc != -ENOTDIR)
		return apply_error(p->err, rc, "lstat", p->tx, c->root, c->path);
	if (rc < 0 || ret->type != c->after.type)
		return base_error(p->err, AIRLOCK_ERR_CORRUPT, "lstat", c->path, "the layer of run %s no longer has %s",
				  p->set->run, c->path);
	ret->mode = applied_mode(c);
	return 0;
}

/* In its slot, or where the apply has left it. */
static int look_image(struct op_plan *p, const struct change *c, bool from, uint64_t slot, struct change_stat *ret)
{
	const char *name;
	struct change_stat there = {0};
	int rc = change_stat_at(p->tx->before_fd, change_slot_name(slot).text, ret);
	if (rc < 0 || ret->type != CHANGE_NOTHING || from || c->kind == CHANGE_RENAMED)
		return rc;
	int dir = apply_layer_parent(p->tx, c->root, c->path, &name);
	rc = dir < 0 ? dir : change_stat_at(dir, name, &there);
	if (rc == 0 && change_is_image(&there, c))
		*ret = there;
	return rc == -ENOENT || rc == -ENOTDIR ? 0 : rc;
}

static int look_before(struct op_plan *p, const struct change *c, bool from, uint64_t slot, struct change_stat *ret)
{
	bool must_be = c->before.type != CHANGE_NOTHING && (from || c->kind != CHANGE_RENAMED);
	int rc = slot ? look_image(p, c, from, slot, ret) : 0;
	if (rc < 0)
		return apply_error(p->err, rc, "lstat", p->tx, c->root, c->path);
	if (must_be && ret->type != c->before.type)
		return base_error(p->err, AIRLOCK_ERR_NOT_FOUND, "lstat", c->path,
				  "the content of %s before run %s is no longer stored", c->path, p->set->run);
	if (ret->type == CHANGE_DIRECTORY)
		ret->mode = c->before.mode;
	return 0;
}

/* ── The list ── */

static enum apply_step step_for(const struct change_stat *want, const struct change_stat *live)
{
	if (want->type == CHANGE_NOTHING)
		return live->type == CHANGE_NOTHING ? APPLY_NONE : APPLY_REMOVE;
	if (live->type == CHANGE_NOTHING)
		return APPLY_INSTALL;
	return want->type == CHANGE_DIRECTORY && live->type == CHANGE_DIRECTORY ? APPLY_META : APPLY_EXCHANGE;
}

/* The before-image stays in the layer when the record will tell it from others: as what was before the change. Of a renamed
 * one the record knows what was at the old path. */
static bool is_staged_in_layer(const struct apply_op *op, const struct change *c)
{
	if (op->want.type == CHANGE_DIRECTORY || op->old.type == CHANGE_DIRECTORY)
		return false;
	return op->step == APPLY_INSTALL || (op->step == APPLY_EXCHANGE && !c->from);
}

static int add_op(struct op_plan *p, size_t index, bool from, uint64_t slot)
{
	const struct change *c = &p->set->v[index];
	bool undo = p->tx->undo;
	struct apply_op op = {.root = c->root, .change = index, .from = from, .slot = slot + from};
	int rc = 0;
	if (undo)
		rc = look_before(p, c, from, slot ? op.slot : 0, &op.want);
	else if (!from && c->after.type != CHANGE_NOTHING)
		rc = look_layer(p, c, &op.want);
	const char *path = from ? c->from : c->path;
	if (rc < 0)
		return rc;
	rc = ops_look_live(p->tx, c->root, path, &op.old);
	if (rc < 0)
		return apply_error(p->err, rc, "lstat", p->tx, c->root, path);
	op.staged = op.want.inode;
	op.step = step_for(&op.want, &op.old);
	op.in_layer = !undo && !p->tx->roots[c->root].copy && is_staged_in_layer(&op, c);
	op.foreign = undo && (from || c->after.type == CHANGE_NOTHING);
	rc = undo ? link_is_only_name(p->tx, &op, c) : 0;
	if (rc < 0)
		return apply_error(p->err, rc, "lstat", p->tx, c->root, path);
	op.linked = rc > 0;
	op.path = strdup(path);
	op.link = !undo && c->link ? strdup(c->link) : NULL;
	if (!undo && c->link && !op.link)
		base_freep(&op.path); /* as without memory for the path */
	return apply_tx_add_op(p->tx, &op) ? 0 : base_oom(p->err);
}

static bool is_selected(const struct op_plan *p, size_t i)
{
	const struct change *c = &p->set->v[i];
	if (c->verdict == CHANGE_SKIP || (p->selected && !p->selected[i]))
		return false;
	if (p->tx->undo)
		return c->state == CHANGE_APPLIED;
	bool waits = c->state == CHANGE_HELD || c->state == CHANGE_CONFLICT;
	return waits && (p->selected || c->verdict == CHANGE_APPLY);
}

static int add_change(struct op_plan *p, size_t i)
{
	const struct change *c = &p->set->v[i];
	uint64_t slot = p->tx->undo ? c->slot : p->next_slot;
	p->next_slot += p->tx->undo ? 0 : 2;
	assert(c->root < p->tx->n_roots); /* I1: every step is beneath a root */
	assert(slot > 0 || p->tx->undo);  /* I5: what is replaced has a place where it is kept */
	int rc = add_op(p, i, false, slot);
	return rc == 0 && c->from ? add_op(p, i, true, slot) : rc;
}

static int add_all(struct op_plan *p)
{
	p->next_slot = 1;
	for (size_t i = 0; i < p->set->n; i++)
		p->next_slot = AL_MAX(p->next_slot, p->set->v[i].slot ? p->set->v[i].slot + 2 : 1);
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < p->set->n; i++)
		if (is_selected(p, i))
			rc = add_change(p, i);
	return rc;
}

static int compare_place(const struct apply_op *a, const struct apply_op *b)
{
	if (a->root != b->root)
		return a->root < b->root ? -1 : 1;
	return path_compare(a->path, b->path);
}

static int compare_order(const void *x, const void *y)
{
	const struct apply_op *a = x, *b = y;
	bool a_last = a->step != APPLY_REMOVE, b_last = b->step != APPLY_REMOVE;
	if (a_last != b_last)
		return a_last - b_last;
	return a_last ? compare_place(a, b) : compare_place(b, a);
}

static int compare_pointers(const void *x, const void *y)
{
	return compare_place(*(const struct apply_op *const *)x, *(const struct apply_op *const *)y);
}

static int sort_ops(struct op_plan *p)
{
	struct apply_tx *tx = p->tx;
	p->by_path = calloc(tx->n_ops + 1, sizeof(struct apply_op *));
	if (!p->by_path)
		return base_oom(p->err);
	if (tx->n_ops > 1)
		qsort(tx->ops, tx->n_ops, sizeof *tx->ops, compare_order);
	for (size_t i = 0; i < tx->n_ops; i++)
		p->by_path[i] = &tx->ops[i];
	if (tx->n_ops > 1)
		qsort(p->by_path, tx->n_ops, sizeof *p->by_path, compare_pointers);
	return 0;
}

static struct apply_op *find(const struct op_plan *p, size_t root, const char *path)
{
	struct apply_op key = {.root = root, .path = (char *)path}, *at = &key;
	struct apply_op **hit = bsearch(&at, p->by_path, p->tx->n_ops, sizeof *p->by_path, compare_pointers);
	return hit ? *hit : NULL;
}

/* ── What speaks against it ── */

static int mark_conflict(struct op_plan *p, const struct apply_op *op, enum airlock_reason_code why)
{
	struct change *c = &p->set->v[op->change];
	p->conflicts++;
	if (!p->first_conflict)
		p->first_conflict = c;
	int rc = p->tx->undo ? change_reason_set(c, change_reason_of(why)) : conflict_mark(c, why);
	return rc < 0 ? base_oom(p->err) : 0;
}

/* Makes a change wait because another one waits. It keeps its state. */
static int drop(struct op_plan *p, struct apply_op *op, enum airlock_reason_code why)
{
	op->dropped = true;
	p->dropped++;
	return change_reason_wait(&p->set->v[op->change], why) < 0 ? base_oom(p->err) : 0;
}

/* A change of the run takes it away, by itself or as the old name of a rename. */
static bool is_known(struct change_set *set, size_t root, const char *path)
{
	bool known = change_set_find(set, root, path) != NULL;
	for (size_t i = 0; !known && i < set->n; i++)
		known = set->v[i].root == root && set->v[i].from && strcmp(set->v[i].from, path) == 0;
	return known;
}

/* One entry of a directory that is to go. */
static int check_entry(struct op_plan *p, struct apply_op *dir, const char *child)
{
	const struct apply_op *op = find(p, dir->root, child);
	if (op && op->step == APPLY_REMOVE && !op->dropped)
		return 0;
	if (op || is_known(p->set, dir->root, child))
		return drop(p, dir, AIRLOCK_REASON_WAITS_FOR_ENTRY);
	if (p->tx->force && !p->tx->roots[dir->root].copy) {
		dir->full = true;
		return 0;
	}
	return mark_conflict(p, dir, p->tx->undo ? AIRLOCK_REASON_FOREIGN_ENTRY : AIRLOCK_REASON_UNKNOWN_ENTRY);
}

static int check_entries(struct op_plan *p, struct apply_op *dir, struct fs_walk *w)
{
	size_t before = p->conflicts;
	for (int event;;) {
		event = fs_walk_next(w);
		if (event == FS_WALK_END || dir->dropped || p->conflicts > before)
			return 0;
		if (event < 0)
			return apply_error(p->err, event, "read", p->tx, dir->root, dir->path);
		_cleanup_free_ char *child = path_join(dir->path, w->name);
		int rc = child ? check_entry(p, dir, child) : base_oom(p->err);
		if (rc < 0)
			return rc;
	}
}

/* Remove a directory only if everything in it goes, too. */
static int check_emptied(struct op_plan *p, struct apply_op *op)
{
	_cleanup_walk_ struct fs_walk w = FS_WALK_INIT;
	if (op->old.type != CHANGE_DIRECTORY || (op->step != APPLY_REMOVE && op->step != APPLY_EXCHANGE))
		return 0;
	int fd = fs_open_beneath(p->tx->roots[op->root].live_fd, op->path, O_RDONLY | O_DIRECTORY);
	int rc = fd < 0 ? fd : fs_walk_start(&w, fd);
	if (rc < 0)
		return apply_error(p->err, rc, "open", p->tx, op->root, op->path);
	return check_entries(p, op, &w);
}

static int look_parent(struct op_plan *p, struct apply_op *op, const char *parent)
{
	struct change_stat st;
	const struct apply_op *above = find(p, op->root, parent);
	if (above && !above->dropped && above->want.type == CHANGE_DIRECTORY)
		return 0;
	int rc = ops_look_live(p->tx, op->root, parent, &st);
	if (rc < 0)
		return apply_error(p->err, rc, "lstat", p->tx, op->root, parent);
	bool stays = !above || above->dropped || above->step == APPLY_NONE;
	if (st.type == CHANGE_DIRECTORY && stays)
		return 0;
	const struct change *known = change_set_find(p->set, op->root, parent);
	bool waits = known && (p->tx->undo ? known->state == CHANGE_APPLIED : known->state != CHANGE_APPLIED);
	return waits ? drop(p, op, AIRLOCK_REASON_WAITS_FOR_PARENT)
		     : mark_conflict(p, op, AIRLOCK_REASON_DIRECTORY_GONE);
}

/* An entry needs its parent directory: a live one, or one that is applied before it. */
static int check_parent(struct op_plan *p, struct apply_op *op)
{
	const char *slash = strrchr(op->path, '/');
	if (op->step != APPLY_INSTALL || !slash)
		return 0;
	_cleanup_free_ char *parent = strndup(op->path, (size_t)(slash - op->path));
	return parent ? look_parent(p, op, parent) : base_oom(p->err);
}

/* Under a directory that stays for now, nothing goes either; and a rename happens on both ends or not at all. */
static bool follows_dropped(const struct op_plan *p, const struct apply_op *op)
{
	const struct change *c = &p->set->v[op->change];
	const struct apply_op *other = c->from ? find(p, c->root, op->from ? c->path : c->from) : NULL;
	if (other && other->dropped && other->change == op->change)
		return true;
	if (op->step != APPLY_REMOVE)
		return false;
	for (const char *slash = strchr(op->path, '/'); slash; slash = strchr(slash + 1, '/')) {
		_cleanup_free_ char *above = strndup(op->path, (size_t)(slash - op->path));
		const struct apply_op *dir = above ? find(p, op->root, above) : NULL;
		if (dir && dir->dropped && dir->step == APPLY_EXCHANGE)
			return true;
	}
	return false;
}

static int check_op(struct op_plan *p, struct apply_op *op)
{
	if (op->dropped)
		return 0;
	if (p->dropped && follows_dropped(p, op))
		return drop(p, op, AIRLOCK_REASON_WAITS_FOR_OTHER);
	int rc = check_emptied(p, op);
	return rc < 0 || op->dropped ? rc : check_parent(p, op);
}

/* Repeat until nothing more has to wait; mostly one round. */
static int check_all(struct op_plan *p)
{
	for (size_t dropped;;) {
		dropped = p->dropped;
		for (size_t i = 0; i < p->tx->n_ops; i++) {
			int rc = check_op(p, &p->tx->ops[i]);
			if (rc < 0)
				return rc;
		}
		if (p->dropped == dropped || p->conflicts)
			return 0;
	}
}

static void remove_dropped(struct op_plan *p)
{
	size_t kept = 0;
	for (size_t i = 0; i < p->tx->n_ops; i++) {
		struct apply_op *op = &p->tx->ops[i];
		if (op->dropped) {
			free(op->path);
			free(op->link);
		} else
			p->tx->ops[kept++] = *op;
	}
	p->tx->n_ops = kept;
	if (p->dropped)
		NOTE(p->tx->notes, WAITING, .number = (int64_t)p->dropped);
}

static int report_conflicts(struct op_plan *p)
{
	const struct change *c = p->first_conflict;
	return change_reason_refuse(p->err, "apply", c->path, &c->reasons[0]);
}

/* How many names of the file that is live at op's path the transaction replaces or removes. */
static uint64_t names_taken(const struct apply_tx *tx, const struct apply_op *op)
{
	uint64_t n = 0;
	for (size_t i = 0; i < tx->n_ops; i++) {
		const struct apply_op *o = &tx->ops[i];
		n += o->root == op->root && o->old.type == CHANGE_FILE && o->old.inode == op->old.inode &&
		     (o->step == APPLY_EXCHANGE || o->step == APPLY_REMOVE);
	}
	return n;
}

/* Another of the original's names may be anywhere: it keeps the old content (I1). Where the command changed all of them there
 * is none left. */
static void note_split_links(struct op_plan *p)
{
	for (size_t i = 0; i < p->tx->n_ops && !p->tx->undo; i++) {
		const struct apply_op *op = &p->tx->ops[i];
		if (op->step != APPLY_EXCHANGE || op->old.type != CHANGE_FILE || op->old.links < 2 ||
		    names_taken(p->tx, op) >= op->old.links)
			continue;
		NOTE(p->tx->notes, LINK_SPLIT, .subject = op->path);
	}
}

static int plan_all(struct op_plan *p)
{
	int rc = add_all(p);
	rc = rc < 0 ? rc : sort_ops(p);
	rc = rc < 0 ? rc : check_all(p);
	if (rc < 0)
		return rc;
	if (p->conflicts)
		return report_conflicts(p);
	remove_dropped(p);
	note_split_links(p);
	return ops_plan_dirs(p->tx, p->set, p->err);
}

int ops_plan(struct apply_tx *tx, struct change_set *set, const bool *selected, struct airlock_error *err)
{
	struct op_plan p = {.tx = tx, .set = set, .selected = selected, .err = err};
	apply_forget_nearby(tx);
	int rc = plan_all(&p);
	free(p.by_path);
	return rc;
}
