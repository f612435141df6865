/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is to become live is brought, whole and durable, to where one rename makes it live: everything that may need room
 * on a disk happens here, before the first step.
 *
 * Run and root on one file system: files stay in the layer, the step itself fetches them from there; directories are made in
 * before/, whose slots are free. Otherwise: the new ones are copied to a directory of ours in the root, the old ones to
 * before/. What a crash leaves of this in before/ is moved out of the way by the next apply and removed with the run; what
 * it leaves in the root the journal knows.
 */
#include "change/apply/apply_tx.h"

#include "base/text.h"
#include "change/transfer.h"
#include "fs/beneath.h"
#include "fs/fs.h"
#include "fs/walk.h"
#include "layer/upper.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define FEW_FILES 16 /* up to here each is synced by itself, beyond it the file system */

/* ── The stage directories ── */

struct stage_name {
	char text[256];
};

static struct stage_name stage_name(const struct apply_tx *tx)
{
	struct stage_name n;
	(void)snprintf(n.text, sizeof n.text, APPLY_STAGE_PREFIX "%s", tx->run);
	return n;
}

static int open_stage(struct apply_tx *tx, struct apply_root *r)
{
	r->stage_fd = r->copy ? fs_open_dir_at(r->live_fd, stage_name(tx).text, O_RDONLY)
			      : fcntl(tx->before_fd, F_DUPFD_CLOEXEC, 3);
	return r->stage_fd < 0 ? (r->copy ? r->stage_fd : -errno) : 0;
}

int stage_make_dirs(struct apply_tx *tx, struct airlock_error *err)
{
	for (size_t i = 0; i < tx->n_roots; i++) {
		struct apply_root *r = &tx->roots[i];
		if (r->copy && mkdirat(r->live_fd, stage_name(tx).text, 0700) < 0)
			return apply_error(err, -errno, "mkdirat", tx, i, stage_name(tx).text);
		if (r->copy && fchmodat(r->live_fd, stage_name(tx).text, 0700, 0) < 0) /* a default ACL of the root */
			return apply_error(err, -errno, "chmod", tx, i, stage_name(tx).text);
		int rc = open_stage(tx, r);
		if (rc < 0)
			return apply_error(err, rc, "open", tx, i, stage_name(tx).text);
		rc = r->copy ? plain_probe(r->stage_fd, &r->plain, &r->links) : 0;
		if (rc < 0)
			return apply_error(err, rc, "try what works in", tx, i, stage_name(tx).text);
	}
	for (size_t i = 0; i < tx->n_ops; i++) {
		tx->ops[i].plain = tx->roots[tx->ops[i].root].plain;
		tx->ops[i].links = tx->roots[tx->ops[i].root].links;
	}
	return 0;
}

int stage_open_again(struct apply_tx *tx, struct airlock_error *err)
{
	for (size_t i = 0; i < tx->n_roots; i++) {
		int rc = open_stage(tx, &tx->roots[i]);
		if (rc < 0 && rc != -ENOENT)
			return apply_error(err, rc, "open", tx, i, stage_name(tx).text);
	}
	return 0;
}

int stage_clear(struct apply_tx *tx, struct airlock_error *err)
{
	int failed = 0;
	for (size_t i = 0; i < tx->n_roots; i++) {
		struct apply_root *r = &tx->roots[i];
		struct airlock_error why = {0};
		if (!r->copy || r->stage_fd < 0)
			continue;
		int rc = fs_remove_tree_at(r->live_fd, stage_name(tx).text, NULL, &why);
		if (rc < 0 && rc != AIRLOCK_ERR_NOT_FOUND)
			failed = apply_error(err, -why.errnum, "remove", tx, i, stage_name(tx).text);
	}
	return failed;
}

/* ── Making ── */

static int inode_of(struct transfer_place at, uint64_t *ret)
{
	struct change_stat st;
	int rc = change_stat_at(at.dirfd, at.name, &st);
	*ret = st.inode;
	return rc < 0 ? rc : st.inode ? 0 : -ENOENT;
}

/* A slot may hold what an apply prepared that died before its first step. Never delete on a guess: look at it first. */
static int free_slot(const struct apply_tx *tx, const struct apply_op *op)
{
	struct apply_op junk = *op;
	struct change_slot slot = change_slot_name(op->slot);
	int rc = inode_of((struct transfer_place){tx->before_fd, slot.text}, &junk.old.inode);
	if (rc < 0)
		return rc == -ENOENT ? 0 : rc;
	struct change_slot aside = apply_kept_name(&junk);
	return renameat(tx->before_fd, slot.text, tx->before_fd, aside.text) < 0 ? -errno : 0;
}

/* A directory must be writable for us to be moved and filled; its own mode comes last of all. */
static int staging_mode(const struct apply_op *op)
{
	return (int)(op->want.type == CHANGE_DIRECTORY ? op->want.mode | 0700 : op->want.mode);
}

static int copy_from_layer(const struct apply_tx *tx, const struct apply_op *op, struct transfer_place to)
{
	struct transfer_place from;
	int dir = apply_layer_parent(tx, op->root, op->path, &from.name);
	from.dirfd = dir;
	return dir < 0 ? dir : transfer_copy(from, to, staging_mode(op));
}

static int copy_from_live(const struct apply_tx *tx, const struct apply_op *op, struct transfer_place to)
{
	struct transfer_place from;
	int dir = apply_live_parent(tx, op->root, op->path, &from.name);
	from.dirfd = dir;
	return dir < 0 ? dir : transfer_copy(from, to, -1);
}

/* To be copied, a file that its owner may not read was opened up for a moment, which its ctime tells: that was us, unless
 * anything else about it has changed. */
static void look_again(const struct apply_tx *tx, struct apply_op *op)
{
	struct change_stat now;
	if (op->old.type != CHANGE_FILE || ops_look_live(tx, op->root, op->path, &now) < 0)
		return;
	const struct change_stat *old = &op->old;
	if (now.type == old->type && now.inode == old->inode && now.mtime_ns == old->mtime_ns &&
	    now.size == old->size && now.mode == old->mode && (now.mode & 0400) == 0)
		op->old.ctime_ns = now.ctime_ns;
}

/* ── Hard links ── */

static bool brings(const struct apply_op *op)
{
	return op->step == APPLY_INSTALL || op->step == APPLY_EXCHANGE;
}

static bool takes(const struct apply_op *op)
{
	return op->step == APPLY_REMOVE || op->step == APPLY_EXCHANGE;
}

/* Two names of one file are copied once. Only those with several names are looked at, and they come in runs. */
static const struct apply_op *linked_before(const struct apply_tx *tx, const struct apply_op *op, bool wanted)
{
	const struct change_stat *st = wanted ? &op->want : &op->old;
	if (st->type != CHANGE_FILE || st->links < 2)
		return NULL;
	for (const struct apply_op *o = op; o-- > tx->ops;) {
		const struct change_stat *other = wanted ? &o->want : &o->old;
		bool here = wanted ? brings(o) && !o->linked : takes(o);
		if (here && o->root == op->root && other->type == CHANGE_FILE && other->inode == st->inode &&
		    (!wanted || o->want.mode == op->want.mode))
			return o;
	}
	return NULL;
}

/* 1: linked. 0: it has to be copied. */
static int link_copy(const struct apply_op *first, struct transfer_place to)
{
	if (!first)
		return 0;
	struct change_slot name = change_slot_name(first->slot);
	return linkat(to.dirfd, name.text, to.dirfd, to.name, 0) < 0 ? -errno : 1;
}

/* ── One operation ── */

static int stage_apply(struct apply_tx *tx, struct apply_op *op)
{
	struct apply_root *r = &tx->roots[op->root];
	struct change_slot slot = change_slot_name(op->slot);
	struct transfer_place stage = {r->stage_fd, slot.text}, before = {tx->before_fd, slot.text};
	int rc = tx->slots_are_free ? 0 : free_slot(tx, op);
	if (rc < 0)
		return rc;
	if (op->step == APPLY_META || (r->copy && takes(op))) {
		rc = link_copy(linked_before(tx, op, false), before);
		rc = rc == 0 ? copy_from_live(tx, op, before) : rc;
	}
	rc = rc < 0 ? rc : link_choose(tx, op);
	if (rc == 0 && brings(op) && (r->copy || op->want.type == CHANGE_DIRECTORY)) {
		rc = link_copy(linked_before(tx, op, true), stage);
		rc = rc == 0 ? copy_from_layer(tx, op, stage) : rc;
		rc = rc < 0 ? rc : inode_of(stage, &op->staged);
	}
	return rc < 0 ? rc : 0;
}

/* Theirs, which has no place in the layer. */
static int keep_copy(struct apply_tx *tx, const struct apply_op *op)
{
	struct change_slot kept = apply_kept_name(op);
	int rc = copy_from_live(tx, op, (struct transfer_place){tx->before_fd, kept.text});
	return rc == -EEXIST ? 0 : rc;
}

/* The layer still has what was copied from it; what was moved out of it, when the run's directory was on this file system,
 * goes back, whole or not at all. */
static int fill_layer(struct apply_tx *tx, const struct apply_op *op)
{
	struct change_stat there;
	const char *name;
	int dir = apply_layer_parent(tx, op->root, op->path, &name);
	int rc = dir < 0 ? dir : change_stat_at(dir, name, &there);
	if (rc < 0 || there.type != CHANGE_NOTHING)
		return rc;
	struct change_slot part = apply_kept_name(op);
	(void)transfer_remove(tx->before_fd, part.text);
	rc = copy_from_live(tx, op, (struct transfer_place){tx->before_fd, part.text});
	if (rc == 0 && renameat(tx->before_fd, part.text, dir, name) < 0)
		rc = -errno;
	return rc;
}

/* What the apply has left in the layer goes to its slot: the layer's place is for what comes back from the live tree. It may
 * be found in either, so nothing has to know of this. */
static int image_to_slot(const struct apply_tx *tx, const struct apply_op *op)
{
	const char *name;
	struct change_stat there;
	struct change_slot slot = change_slot_name(op->slot);
	if (op->want.type == CHANGE_NOTHING || op->want.type == CHANGE_DIRECTORY)
		return 0;
	int rc = change_stat_at(tx->before_fd, slot.text, &there);
	if (rc < 0 || there.type != CHANGE_NOTHING)
		return rc;
	int dir = apply_layer_parent(tx, op->root, op->path, &name);
	rc = dir < 0 ? dir : change_stat_at(dir, name, &there);
	if (rc < 0 || there.inode != op->want.inode)
		return rc < 0 ? rc : -ENOENT;
	return apply_move_own((struct transfer_place){dir, name}, (struct transfer_place){tx->before_fd, slot.text});
}

static int stage_undo(struct apply_tx *tx, struct apply_op *op)
{
	struct apply_root *r = &tx->roots[op->root];
	struct change_slot slot = change_slot_name(op->slot);
	struct transfer_place stage = {r->stage_fd, slot.text}, before = {tx->before_fd, slot.text};
	int rc = image_to_slot(tx, op);
	if (rc < 0 || !r->copy)
		return rc;
	if (takes(op) && op->old.type != CHANGE_DIRECTORY)
		rc = op->foreign || tx->force ? keep_copy(tx, op) : fill_layer(tx, op);
	if (rc == 0 && brings(op)) {
		rc = link_copy(linked_before(tx, op, true), stage);
		rc = rc == 0 ? transfer_copy(before, stage, staging_mode(op)) : rc;
		rc = rc < 0 ? rc : inode_of(stage, &op->staged);
	}
	return rc < 0 ? rc : 0;
}

/* ── Data on the disk ── */

static bool is_layer_file(const struct apply_tx *tx, const struct apply_op *op)
{
	return !tx->undo && !tx->roots[op->root].copy && !op->linked && brings(op) && op->want.type == CHANGE_FILE;
}

static int sync_file(const struct apply_tx *tx, const struct apply_op *op)
{
	const char *name;
	int dir = apply_layer_parent(tx, op->root, op->path, &name);
	_cleanup_close_ int fd = dir < 0 ? dir : upper_open_file(dir, name);
	return fd < 0 ? fd : fsync(fd) < 0 ? -errno : 0;
}

/* Sync: a rename may reach the disk before the data of the file it names (I4). */
static int sync_data(struct apply_tx *tx, struct airlock_error *err)
{
	size_t n = 0;
	for (size_t i = 0; i < tx->n_ops; i++)
		n += is_layer_file(tx, &tx->ops[i]);
	if (n > FEW_FILES)
		return syncfs(tx->before_fd) < 0 ? base_errno(err, AIRLOCK_ERR_IO, errno, "syncfs", "before") : 0;
	for (size_t i = 0; n > 0 && i < tx->n_ops; i++) {
		const struct apply_op *op = &tx->ops[i];
		int rc = is_layer_file(tx, op) ? sync_file(tx, op) : 0;
		if (rc < 0)
			return apply_error(err, rc, "fsync", tx, op->root, op->path);
	}
	return 0;
}

int stage_all(struct apply_tx *tx, struct airlock_error *err)
{
	apply_forget_nearby(tx);
	tx->slots_are_free = !tx->undo && apply_is_empty_dir(tx->run_fd, "before") > 0;
	for (size_t i = 0; i < tx->n_ops; i++) {
		struct apply_op *op = &tx->ops[i];
		if (op->step == APPLY_NONE)
			continue;
		int rc = tx->undo ? stage_undo(tx, op) : stage_apply(tx, op);
		if (rc == 0 && tx->roots[op->root].copy && takes(op))
			look_again(tx, op);
		if (rc < 0)
			return apply_error(err, rc, "stage", tx, op->root, op->path);
	}
	link_note_split(tx);
	return sync_data(tx, err);
}
