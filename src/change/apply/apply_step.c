/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The steps. Each first looks what is where, by inode, and does what is missing: so the same functions carry out a
 * transaction, repeat it after a crash and take it back, and none needs a mark on the disk of how far it came.
 *
 * The stage belongs to us alone, so what lies there tells whether a step is done. What is live may be anybody's: it is moved
 * only while it is exactly what was planned with, and looked at again when it has been moved, because a change may come
 * between the look and the move (I3). Then it goes back where it was.
 *
 * One kind of file system cannot rename a directory: an overlay whose lower layer has it (a container's image). There an
 * empty directory is removed instead and made again from its image in before/; a directory that becomes something else is
 * not there for a moment.
 */
#include "change/apply/apply_tx.h"

#include "change/transfer.h"
#include "fs/beneath.h"
#include "fs/fs.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>

/* The two ends of a step; the descriptors are borrowed. */
struct ends {
	int live_dir;
	const char *live_name;
	int stage_dir;
	const char *stage_name;
	struct change_slot slot;
};

/* Returns STEP_FOREIGN if a directory on the way was replaced since the plan was made. */
static int find_ends(const struct apply_tx *tx, const struct apply_op *op, struct ends *e)
{
	e->slot = change_slot_name(op->slot);
	e->stage_name = e->slot.text;
	e->stage_dir = op->in_layer ? apply_layer_parent(tx, op->root, op->path, &e->stage_name)
				    : tx->roots[op->root].stage_fd;
	if (op->in_layer && e->stage_dir < 0)
		return e->stage_dir;
	e->live_dir = apply_live_parent(tx, op->root, op->path, &e->live_name);
	if (e->live_dir == -ENOENT || e->live_dir == -ENOTDIR || e->live_dir == -ELOOP)
		return STEP_FOREIGN;
	return e->live_dir < 0 ? e->live_dir : 0;
}

static int look_stage(const struct ends *e, struct change_stat *ret)
{
	*ret = (struct change_stat){0};
	return e->stage_dir < 0 ? 0 : change_stat_at(e->stage_dir, e->stage_name, ret);
}

/* A directory's times change with what is in it; and a file with other names has a new ctime when one of those was moved. */
static bool is_as_planned(const struct change_stat *now, const struct change_stat *planned, bool moved)
{
	if (now->type != planned->type || now->inode != planned->inode)
		return false;
	if (now->type == CHANGE_DIRECTORY)
		return true;
	if (now->mtime_ns != planned->mtime_ns || now->size != planned->size)
		return false;
	return moved || planned->links > 1 || now->ctime_ns == planned->ctime_ns;
}

/* ── Renames ── */

static int exchange(const struct ends *e)
{
	return renameat2(e->stage_dir, e->stage_name, e->live_dir, e->live_name, RENAME_EXCHANGE) < 0 ? -errno : 0;
}

static int stage_to_live(const struct ends *e)
{
	return renameat2(e->stage_dir, e->stage_name, e->live_dir, e->live_name, RENAME_NOREPLACE) < 0 ? -errno : 0;
}

static int live_to_stage(const struct ends *e)
{
	return renameat2(e->live_dir, e->live_name, e->stage_dir, e->stage_name, RENAME_NOREPLACE) < 0 ? -errno : 0;
}

/* ── Bringing ── */

/* Move from layer to stage only once the journal is written: until then the run must stay as it was (I4). */
static bool is_fetched_from_layer(const struct apply_tx *tx, const struct apply_op *op)
{
	bool is_elsewhere = tx->roots[op->root].copy || op->in_layer || op->linked;
	return !tx->undo && !is_elsewhere && op->want.type != CHANGE_DIRECTORY;
}

/* The layer's entry is the stage. Once the step is done, something else or nothing lies there. */
static int clean_in_layer(const struct apply_op *op, const struct ends *e, struct change_stat *stage)
{
	struct stat st;
	if (fstatat(e->stage_dir, e->stage_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	*stage = change_stat_of(&st);
	if (st.st_ino != op->staged)
		return 0;
	return transfer_clean((struct transfer_place){e->stage_dir, e->stage_name}, &st, op->want.mode);
}

/* stage: what lies there afterwards. */
static int fetch_from(int dir, const char *name, const struct apply_op *op, const struct ends *e,
		      struct change_stat *stage)
{
	struct stat st;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (st.st_ino != op->staged)
		return 0;
	int rc = transfer_clean((struct transfer_place){dir, name}, &st, op->want.mode);
	if (rc < 0)
		return rc;
	rc = apply_move_own((struct transfer_place){dir, name}, (struct transfer_place){e->stage_dir, e->stage_name});
	if (rc < 0)
		return rc;
	*stage = change_stat_of(&st);
	return 0;
}

/* The first time, stage_all has seen to it that the slot is free. */
static int fetch(const struct apply_tx *tx, const struct apply_op *op, const struct ends *e, struct change_stat *stage)
{
	const char *name;
	bool from_layer = is_fetched_from_layer(tx, op);
	*stage = (struct change_stat){0};
	if (op->in_layer)
		return clean_in_layer(op, e, stage);
	int rc = tx->recovering || !from_layer ? look_stage(e, stage) : 0;
	if (rc < 0 || stage->type != CHANGE_NOTHING || !from_layer)
		return rc;
	int dir = apply_layer_parent(tx, op->root, op->path, &name);
	return dir < 0 ? dir : fetch_from(dir, name, op, e, stage);
}

/* A directory that lay in a slot has the mode it had when it was live; we must be able to move it. */
static int open_staged(const struct ends *e, const struct change_stat *stage)
{
	if (stage->type != CHANGE_DIRECTORY || (stage->mode & 0700) == 0700)
		return 0;
	_cleanup_close_ int fd = openat(e->stage_dir, e->stage_name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : apply_chmod_fd(fd, stage->mode | 0700);
}

static int forward_install(struct apply_tx *tx, struct apply_op *op, const struct ends *e)
{
	struct change_stat stage;
	int rc = fetch(tx, op, e, &stage);
	if (rc < 0 || stage.inode != op->staged)
		return rc; /* it went live before */
	rc = open_staged(e, &stage);
	rc = rc < 0 ? rc : stage_to_live(e);
	return rc == -EEXIST ? STEP_FOREIGN : rc;
}

/* ── Taking ── */

/* Verifies after the exchange that we took what we had looked at: the same inode and, for a directory, no new
 * entries. 1: yes. Moving another name of a file changes its ctime, so that alone is no sign. */
static int is_right_catch(struct apply_op *op, const struct ends *e)
{
	struct change_stat caught;
	int rc = look_stage(e, &caught);
	if (rc < 0 || !is_as_planned(&caught, &op->old, true))
		return rc < 0 ? rc : 0;
	op->caught_ns = caught.type == CHANGE_DIRECTORY || caught.links > 1 ? 0 : caught.ctime_ns;
	if (caught.type != CHANGE_DIRECTORY || op->full)
		return 1;
	return apply_is_empty_dir(e->stage_dir, e->stage_name);
}

static int after_catch(struct apply_op *op, const struct ends *e, int (*undo)(const struct ends *))
{
	int right = is_right_catch(op, e);
	if (right > 0)
		return 0;
	int rc = undo(e);
	return rc < 0 ? rc : right < 0 ? right : STEP_FOREIGN;
}

/* A directory with an image in before/, so that it can be made again. */
static bool can_be_made_again(const struct apply_tx *tx, const struct apply_op *op)
{
	return tx->roots[op->root].copy && op->old.type == CHANGE_DIRECTORY;
}

static int remove_directory(const struct ends *e)
{
	if (unlinkat(e->live_dir, e->live_name, AT_REMOVEDIR) == 0)
		return 0;
	return errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR || errno == ENOENT ? STEP_FOREIGN : -errno;
}

static int exchange_directory(const struct ends *e)
{
	int rc = remove_directory(e);
	rc = rc != 0 ? rc : stage_to_live(e);
	return rc == -EEXIST ? STEP_FOREIGN : rc;
}

static int exchange_planned(const struct apply_tx *tx, struct apply_op *op, const struct ends *e)
{
	int rc = exchange(e);
	if (rc == -EXDEV && can_be_made_again(tx, op))
		return exchange_directory(e);
	if (rc < 0)
		return rc == -ENOENT ? STEP_FOREIGN : rc;
	return after_catch(op, e, exchange);
}

static int forward_exchange(struct apply_tx *tx, struct apply_op *op, const struct ends *e)
{
	struct change_stat stage, live;
	int rc = fetch(tx, op, e, &stage);
	if (rc < 0 || stage.inode != op->staged)
		return rc; /* done before */
	rc = change_stat_at(e->live_dir, e->live_name, &live);
	rc = rc < 0 ? rc : open_staged(e, &stage);
	if (rc < 0)
		return rc;
	if (live.type == CHANGE_NOTHING && tx->recovering && can_be_made_again(tx, op))
		return stage_to_live(e); /* killed between the two halves of exchange_directory */
	return is_as_planned(&live, &op->old, false) ? exchange_planned(tx, op, e) : STEP_FOREIGN;
}

/* Undo puts what it has taken away back into the layer at the end: then the stage is empty though the step is done. */
static bool is_home_again(const struct apply_tx *tx, const struct apply_op *op)
{
	struct change_stat st = {0};
	const char *name;
	int dir = tx->undo ? apply_layer_parent(tx, op->root, op->path, &name) : -ENOENT;
	return dir >= 0 && change_stat_at(dir, name, &st) == 0 && st.inode == op->old.inode;
}

static int forward_remove(struct apply_tx *tx, struct apply_op *op, const struct ends *e)
{
	struct change_stat stage, live;
	int rc = look_stage(e, &stage);
	if (rc < 0 || stage.type != CHANGE_NOTHING)
		return rc;
	rc = change_stat_at(e->live_dir, e->live_name, &live);
	if (rc < 0)
		return rc;
	if (!is_as_planned(&live, &op->old, false)) {
		bool gone = live.type == CHANGE_NOTHING || is_home_again(tx, op);
		return tx->recovering && gone ? 0 : STEP_FOREIGN;
	}
	rc = live_to_stage(e);
	if (rc == -EXDEV && can_be_made_again(tx, op))
		return remove_directory(e);
	if (rc < 0)
		return rc == -ENOENT ? STEP_FOREIGN : rc;
	return after_catch(op, e, stage_to_live);
}

/* ── Directories that stay ── */

static int xattrs_like(const struct apply_op *op, const struct ends *e, int from_dir, const char *from_name)
{
	_cleanup_close_ int from = openat(from_dir, from_name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (from < 0)
		return -errno;
	_cleanup_close_ int live = openat(e->live_dir, e->live_name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	if (live < 0 || fstat(live, &st) < 0)
		return errno == ENOENT ? STEP_FOREIGN : -errno;
	if (st.st_ino != op->old.inode || !S_ISDIR(st.st_mode))
		return STEP_FOREIGN;
	int rc = transfer_owner(from, live);
	return rc < 0 ? rc : transfer_xattrs(from, live);
}

/* new: what the transaction wants; else what was there before. The layer has the one, the image in before/ the other. */
static int set_meta(struct apply_tx *tx, struct apply_op *op, const struct ends *e, bool new)
{
	const char *name;
	if (new == tx->undo)
		return xattrs_like(op, e, tx->before_fd, e->stage_name);
	int dir = apply_layer_parent(tx, op->root, op->path, &name);
	return dir < 0 ? dir : xattrs_like(op, e, dir, name);
}

/* After a crash the image may be gone: then everything but the record was done. */
static int forward_meta(struct apply_tx *tx, struct apply_op *op, const struct ends *e)
{
	int rc = set_meta(tx, op, e, true);
	return rc == -ENOENT && tx->recovering ? 0 : rc;
}

/* Whether what is to become live still waits for it, in the stage or in the layer. */
static bool is_waiting(const struct apply_tx *tx, const struct apply_op *op, const struct ends *e)
{
	struct change_stat st = {0};
	const char *name;
	if (op->linked)
		return true;
	if (op->plain)
		return plain_is_waiting(op, e->stage_dir);
	if (look_stage(e, &st) < 0 || st.inode == op->staged || !is_fetched_from_layer(tx, op))
		return st.inode == op->staged;
	int dir = apply_layer_parent(tx, op->root, op->path, &name);
	return dir >= 0 && change_stat_at(dir, name, &st) == 0 && st.inode == op->staged;
}

/* The directory is gone; after a crash a later step of ours may have removed it. */
static int forward_without_directory(const struct apply_tx *tx, const struct apply_op *op, const struct ends *e)
{
	bool brings = op->step == APPLY_INSTALL || op->step == APPLY_EXCHANGE;
	if (!tx->recovering || op->step == APPLY_META || (brings && is_waiting(tx, op, e)))
		return STEP_FOREIGN;
	return 0;
}

int step_forward(struct apply_tx *tx, struct apply_op *op)
{
	assert(op->path[0] && op->path[0] != '/'); /* I6: a path is walked beneath its root's descriptor */
	struct ends e;
	if (op->step == APPLY_NONE)
		return 0;
	int rc = find_ends(tx, op, &e);
	if (rc != 0)
		return rc == STEP_FOREIGN ? forward_without_directory(tx, op, &e) : rc;
	if (op->linked && !tx->undo)
		return link_forward(tx, op, (struct transfer_place){e.live_dir, e.live_name});
	if (op->plain && op->step != APPLY_META)
		return plain_forward(tx, op, (struct transfer_place){e.live_dir, e.live_name}, e.stage_dir);
	switch (op->step) {
	case APPLY_REMOVE:
		return forward_remove(tx, op, &e);
	case APPLY_INSTALL:
		return forward_install(tx, op, &e);
	case APPLY_EXCHANGE:
		return forward_exchange(tx, op, &e);
	case APPLY_META:
		return forward_meta(tx, op, &e);
	case APPLY_NONE:
		break;
	}
	return 0;
}

/* ── Back ── */

/* From its image; where nothing is. Its mode and time come with those of all directories. */
static int make_again(const struct apply_tx *tx, const struct apply_op *op, const struct ends *e)
{
	struct change_stat live;
	struct change_slot name = change_slot_name(op->slot), again = apply_kept_name(op);
	int rc = change_stat_at(e->live_dir, e->live_name, &live);
	if (rc < 0 || live.type != CHANGE_NOTHING || !can_be_made_again(tx, op) || e->stage_dir < 0)
		return rc;
	rc = transfer_remove(e->stage_dir, again.text);
	rc = rc < 0 ? rc
		    : transfer_copy((struct transfer_place){tx->before_fd, name.text},
				    (struct transfer_place){e->stage_dir, again.text}, (int)op->old.mode | 0700);
	if (rc < 0)
		return rc;
	rc = renameat2(e->stage_dir, again.text, e->live_dir, e->live_name, RENAME_NOREPLACE) < 0 ? -errno : 0;
	return rc == -EEXIST ? STEP_FOREIGN : rc;
}

static int revert_bringing(struct apply_tx *tx, struct apply_op *op, const struct ends *e)
{
	struct change_stat stage, live;
	int rc = look_stage(e, &stage);
	if (rc < 0)
		return rc;
	if (stage.inode == op->staged) /* never done, or only its first half */
		return make_again(tx, op, e);
	rc = change_stat_at(e->live_dir, e->live_name, &live);
	if (rc < 0)
		return rc;
	if (live.inode != op->staged) /* still the old one, or somebody else's by now */
		return is_as_planned(&live, &op->old, true) ? 0 : STEP_FOREIGN;
	if (op->step == APPLY_EXCHANGE && stage.type != CHANGE_NOTHING)
		return exchange(e);
	rc = live_to_stage(e);
	return rc < 0 ? rc : make_again(tx, op, e);
}

static int revert_remove(struct apply_tx *tx, struct apply_op *op, const struct ends *e)
{
	struct change_stat stage;
	int rc = look_stage(e, &stage);
	if (rc < 0)
		return rc;
	if (stage.type == CHANGE_NOTHING)
		return make_again(tx, op, e);
	rc = open_staged(e, &stage);
	rc = rc < 0 ? rc : stage_to_live(e);
	return rc == -EEXIST ? STEP_FOREIGN : rc;
}

int step_revert(struct apply_tx *tx, struct apply_op *op)
{
	struct ends e;
	if (op->step == APPLY_NONE)
		return 0;
	int rc = find_ends(tx, op, &e);
	if (rc != 0)
		return rc == STEP_FOREIGN && op->step == APPLY_INSTALL ? 0 : rc; /* its directory never came */
	if (op->linked && !tx->undo)
		return link_revert(op, (struct transfer_place){e.live_dir, e.live_name});
	if (op->plain && op->step != APPLY_META)
		return plain_revert(tx, op, (struct transfer_place){e.live_dir, e.live_name}, e.stage_dir);
	switch (op->step) {
	case APPLY_REMOVE:
		return revert_remove(tx, op, &e);
	case APPLY_INSTALL:
	case APPLY_EXCHANGE:
		return revert_bringing(tx, op, &e);
	case APPLY_META:
		rc = set_meta(tx, op, &e, false);
		return rc == -ENOENT ? 0 : rc;
	case APPLY_NONE:
		break;
	}
	return 0;
}

/* ── Home ── */

static int stage_to_layer(struct apply_tx *tx, const struct apply_op *op, bool replace)
{
	const char *name;
	int dir = apply_layer_parent(tx, op->root, op->path, &name);
	if (dir < 0)
		return dir;
	struct change_slot slot = change_slot_name(op->slot);
	if (replace)
		return renameat(tx->before_fd, slot.text, dir, name) < 0 ? -errno : 0;
	return apply_move_own((struct transfer_place){tx->before_fd, slot.text}, (struct transfer_place){dir, name});
}

int step_unstage(struct apply_tx *tx, struct apply_op *op)
{
	struct change_stat st;
	struct change_slot slot = change_slot_name(op->slot);
	if (op->step == APPLY_NONE || tx->undo || op->in_layer || op->linked)
		return 0; /* the slot is home, or it never left the layer */
	int rc = change_stat_at(tx->before_fd, slot.text, &st);
	if (rc < 0 || st.type == CHANGE_NOTHING)
		return rc;
	if (is_fetched_from_layer(tx, op) && st.inode == op->staged)
		return stage_to_layer(tx, op, false);
	bool ours = tx->roots[op->root].copy || op->step == APPLY_META || st.inode == op->staged;
	return ours ? transfer_remove(tx->before_fd, slot.text) : 0;
}

/* Theirs, taken by a forced undo. */
static int keep(struct apply_tx *tx, const struct apply_op *op)
{
	struct change_slot slot = change_slot_name(op->slot), kept = apply_kept_name(op);
	NOTE(tx->notes, KEPT_ASIDE, .subject = op->path, .other = kept.text);
	return renameat(tx->before_fd, slot.text, tx->before_fd, kept.text) < 0 ? -errno : 0;
}

static int retire_taken(struct apply_tx *tx, const struct apply_op *op, const struct change_stat *st)
{
	if (op->foreign || (op->full && st->type == CHANGE_DIRECTORY))
		return keep(tx, op);
	if (st->type != CHANGE_DIRECTORY)
		return stage_to_layer(tx, op, true);
	/* the layer has its own directory, with what else is in it */
	return unlinkat(tx->before_fd, change_slot_name(op->slot).text, AT_REMOVEDIR) < 0 ? -errno : 0;
}

int step_retire(struct apply_tx *tx, struct apply_op *op)
{
	struct change_stat st;
	struct change_slot slot = change_slot_name(op->slot);
	if (op->step == APPLY_NONE || !tx->undo)
		return 0; /* what was taken is where it belongs */
	int rc = change_stat_at(tx->before_fd, slot.text, &st);
	if (rc < 0 || st.type == CHANGE_NOTHING)
		return rc;
	if (tx->roots[op->root].copy || op->step == APPLY_META || op->linked)
		return transfer_remove(tx->before_fd, slot.text);
	return op->step == APPLY_INSTALL ? 0 : retire_taken(tx, op, &st);
}
