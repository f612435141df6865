/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `ln a b` of a live file a: applied, b is another name of a, not a copy of it.
 *
 * The step is one linkat between the two live names, which fails when something is at b; whether it is done is seen from what
 * is there. Nothing is staged, and nothing is written to the file itself. So a must be exactly what the layer has for b: the gate
 * has judged that, and somebody may have edited a since. Otherwise b becomes a file of its own, and a note says so.
 *
 * The layer keeps its own b: what is in a layer may be written to, and must never be a file that is live. Undo only takes the
 * name away.
 */
#include "change/apply/apply_tx.h"

#include "change/scan/compare.h"
#include "fs/beneath.h"
#include "layer/upper.h"

#include <fcntl.h>

static bool can_link(const struct apply_tx *tx, const struct apply_op *op)
{
	const struct apply_root *r = &tx->roots[op->root];
	return op->link && op->step == APPLY_INSTALL && !tx->no_links && !r->made_up_inodes && (!r->plain || r->links);
}

/* 1: the live file is what the layer has. */
static int is_same_file(const struct apply_tx *tx, const struct apply_op *op, struct transfer_place live,
			const struct stat *live_st)
{
	struct compare compare = {.owners = geteuid() == 0};
	struct comparison found = {0};
	struct stat st;
	const char *name;
	int dir = apply_layer_parent(tx, op->root, op->path, &name);
	if (dir < 0 || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return dir < 0 ? dir : -errno;
	int unlocked = upper_unlock(dir, name, &st);
	if (unlocked < 0)
		return unlocked;
	int rc = compare_entries(&compare, &(struct compare_side){dir, name, &st},
				 &(struct compare_side){live.dirfd, live.name, live_st}, &found);
	int back = unlocked ? upper_relock(dir, name, &st) : 0;
	compare_done(&compare);
	return rc < 0 ? rc : back < 0 ? back : !found.differs;
}

static bool is_same_stat(const struct change_stat *a, const struct change_stat *b)
{
	return a->type == b->type && a->inode == b->inode && a->mode == b->mode && a->size == b->size &&
	       a->mtime_ns == b->mtime_ns;
}

int link_choose(struct apply_tx *tx, struct apply_op *op)
{
	struct stat st;
	struct transfer_place live;
	if (!can_link(tx, op))
		return 0;
	live.dirfd = apply_live_parent(tx, op->root, op->link, &live.name);
	if (live.dirfd < 0 || fstatat(live.dirfd, live.name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0; /* it is gone */
	if (!S_ISREG(st.st_mode) || (st.st_mode & 07777) != op->want.mode)
		return 0;
	int rc = is_same_file(tx, op, live, &st);
	if (rc <= 0)
		return rc;
	op->linked = true;
	op->in_layer = false;
	op->want = change_stat_of(&st);
	op->staged = op->want.inode;
	return 1;
}

void link_note_split(const struct apply_tx *tx)
{
	const struct apply_op *first = NULL;
	size_t n = 0;
	for (size_t i = 0; i < tx->n_ops; i++) {
		const struct apply_op *op = &tx->ops[i];
		bool split = op->link && !op->linked && op->step != APPLY_NONE;
		first = split && !first ? op : first;
		n += split;
	}
	if (n > 0)
		NOTE(tx->notes, LINK_NOT_MADE, .subject = first->path, .other = first->link, .number = (int64_t)n - 1);
}

int link_is_only_name(const struct apply_tx *tx, const struct apply_op *op, const struct change *c)
{
	struct change_stat there;
	const char *name;
	if (!c->link || op->from || !is_same_stat(&op->old, &c->after))
		return 0;
	int dir = apply_layer_parent(tx, c->root, c->path, &name);
	int rc = dir < 0 ? dir : change_stat_at(dir, name, &there);
	if (rc == -ENOENT || rc == -ENOTDIR)
		return 0;
	return rc < 0 ? rc : there.type == CHANGE_FILE && there.inode != op->old.inode;
}

/* ── The step ── */

/* Link errors that mean "not possible here": somebody else's file, too many names, no hard links at all. */
static bool is_refusal(int errnum)
{
	return errnum == EPERM || errnum == EMLINK || errnum == EXDEV || errnum == EOPNOTSUPP || errnum == ENOSYS;
}

static int make_link(struct apply_tx *tx, const struct apply_op *op, struct transfer_place to)
{
	const char *name;
	_cleanup_close_ int dir = fs_open_parent(tx->roots[op->root].live_fd, op->link, &name);
	if (dir >= 0 && linkat(dir, name, to.dirfd, to.name, 0) == 0)
		return 0;
	int errnum = dir < 0 ? -dir : errno;
	tx->link_refused |= is_refusal(errnum);
	bool foreign = errnum == EEXIST || errnum == ENOENT || errnum == ENOTDIR || errnum == ELOOP;
	return foreign ? STEP_FOREIGN : -errnum;
}

int link_forward(struct apply_tx *tx, const struct apply_op *op, struct transfer_place live)
{
	struct change_stat st;
	int rc = change_stat_fresh(live.dirfd, live.name, &st);
	if (rc == 0 && st.type != CHANGE_NOTHING)
		return tx->recovering && st.inode == op->staged ? 0 : STEP_FOREIGN;
	rc = rc < 0 ? rc : make_link(tx, op, live);
	rc = rc != 0 ? rc : change_stat_at(live.dirfd, live.name, &st);
	if (rc != 0 || is_same_stat(&st, &op->want))
		return rc;
	/* another file has come to that name meanwhile, or it was written to */
	return unlinkat(live.dirfd, live.name, 0) < 0 ? -errno : STEP_FOREIGN;
}

int link_revert(const struct apply_op *op, struct transfer_place live)
{
	struct change_stat st;
	int rc = change_stat_fresh(live.dirfd, live.name, &st);
	if (rc < 0 || st.type == CHANGE_NOTHING)
		return rc;
	if (st.type != CHANGE_FILE || st.inode != op->staged)
		return STEP_FOREIGN;
	return unlinkat(live.dirfd, live.name, 0) < 0 ? -errno : 0;
}
