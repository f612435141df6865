/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The steps on a file system that knows no flags of renameat2: NFS, most of what FUSE mounts (sshfs, bindfs, s3fs), 9p, exFAT.
 * There the only atomic step is a plain rename, which replaces whatever is at the new name.
 *
 * Everything that is to come was copied into our directory in the root beforehand, and everything that is to go was copied to
 * before/ (docs/design/apply.md, "Across file systems"). In our directory each operation has two names:
 *
 *   <slot>    the entry that is to become live; there: the step is not done
 *   o<slot>   the entry that was live
 *
 * Which of them exist, and what is live, tells how far a step came. Inode numbers are asked last: sshfs and others give an
 * entry another one each time they are mounted.
 *
 *   file over file    link live as o<slot>, rename <slot> over live. The path is never missing. The link shows afterwards
 *                     whether what was replaced is what was planned with; if not, the same is done the other way round (I3).
 *   to an empty name  link <slot> as live, which fails when something is there, remove <slot>. A directory, or where there are
 *                     no hard links: look, then rename.
 *   directory         rename live to o<slot>, then <slot> to live. Between the two nothing is there; recovery goes on.
 *
 * Without hard links the old file is copied to o<slot>, and what somebody else writes between the last look and the rename
 * is lost: that is the one thing such a file system gives no way to see.
 */
#include "change/apply/apply_tx.h"

#include "change/transfer.h"

#include <fcntl.h>
#include <stdio.h>

struct names {
	struct transfer_place live, new, old;
	struct change_slot new_text, old_text;
	bool links;
};

static void name_all(struct names *n, const struct apply_op *op, struct transfer_place live, int stage_dir)
{
	n->links = op->links;
	n->new_text = change_slot_name(op->slot);
	(void)snprintf(n->old_text.text, sizeof n->old_text.text, "o%llu", (unsigned long long)op->slot);
	n->live = live;
	n->new = (struct transfer_place){stage_dir, n->new_text.text};
	n->old = (struct transfer_place){stage_dir, n->old_text.text};
}

struct seen {
	struct change_stat live, new, old;
};

/* Other programs and other machines may change the live entry: ask the server, do not trust cached attributes. */
static int look(const struct names *n, struct seen *s)
{
	int rc = change_stat_fresh(n->live.dirfd, n->live.name, &s->live);
	s->new = s->old = (struct change_stat){0};
	if (rc < 0 || n->new.dirfd < 0)
		return rc;
	rc = change_stat_at(n->new.dirfd, n->new.name, &s->new);
	return rc < 0 ? rc : change_stat_at(n->old.dirfd, n->old.name, &s->old);
}

/* ── Which entry is it? ── */

static bool is_there(const struct change_stat *st)
{
	return st->type != CHANGE_NOTHING;
}

static bool is_directory(const struct change_stat *st)
{
	return st->type == CHANGE_DIRECTORY;
}

/* The same entry after the file system was mounted again: other inode numbers, and perhaps times in whole seconds. A link may
 * have other times than it was to get (transfer.c). */
static bool looks_like(const struct change_stat *now, const struct change_stat *then)
{
	if (now->type != then->type || is_directory(now))
		return now->type == then->type;
	return now->size == then->size &&
	       (now->type == CHANGE_SYMLINK || now->mtime_ns / 1000000000 == then->mtime_ns / 1000000000);
}

static bool is_planned(const struct apply_tx *tx, const struct apply_op *op, const struct seen *s)
{
	const struct change_stat *live = &s->live;
	if (live->type != op->old.type)
		return false;
	if (live->inode != op->old.inode)
		return (tx->recovering || tx->roots[op->root].made_up_inodes) && looks_like(live, &op->old);
	if (is_directory(live))
		return true;
	/* Our own link gave it a new ctime before we were killed. */
	bool linked = is_there(&s->old) && s->old.inode == live->inode;
	return live->mtime_ns == op->old.mtime_ns && live->size == op->old.size &&
	       (linked || op->old.links > 1 || live->ctime_ns == op->old.ctime_ns);
}

static bool is_ours(const struct apply_op *op, const struct change_stat *live)
{
	if (!is_there(live) || live->inode == op->staged)
		return is_there(live);
	return live->inode != op->old.inode && looks_like(live, &op->want) && !looks_like(live, &op->old);
}

/* ── Moves ── */

static int move(struct transfer_place from, struct transfer_place to)
{
	return renameat(from.dirfd, from.name, to.dirfd, to.name) < 0 ? -errno : 0;
}

/* To a live name where nothing is. */
static int put(const struct names *n, struct transfer_place from, const struct change_stat *st)
{
	struct change_stat now;
	if (n->links && !is_directory(st)) {
		if (linkat(from.dirfd, from.name, n->live.dirfd, n->live.name, 0) < 0)
			return errno == EEXIST ? STEP_FOREIGN : -errno;
		return unlinkat(from.dirfd, from.name, 0) < 0 ? -errno : 0;
	}
	int rc = change_stat_fresh(n->live.dirfd, n->live.name, &now);
	if (rc < 0 || is_there(&now))
		return rc < 0 ? rc : STEP_FOREIGN;
	return move(from, n->live);
}

/* The live file gets a second name, or a copy, in our directory. What lies there may be from before we were killed. */
static int save(const struct names *n, struct transfer_place to)
{
	int rc = transfer_remove(to.dirfd, to.name);
	if (rc < 0)
		return rc;
	if (!n->links)
		return transfer_copy(n->live, to, -1);
	return linkat(n->live.dirfd, n->live.name, to.dirfd, to.name, 0) < 0 ? -errno : 0;
}

static int swap(const struct names *n, struct transfer_place in, struct transfer_place out)
{
	int rc = save(n, out);
	return rc < 0 ? rc : move(in, n->live);
}

/* 1: what was taken is what was looked at, and a directory is empty. */
static int is_right(const struct apply_op *op, const struct names *n)
{
	struct change_stat st;
	int rc = change_stat_at(n->old.dirfd, n->old.name, &st);
	if (rc < 0)
		return rc;
	if (is_directory(&st))
		return apply_is_empty_dir(n->old.dirfd, n->old.name);
	return st.type == op->old.type && st.size == op->old.size &&
	       (!n->links || (st.inode == op->old.inode && st.mtime_ns == op->old.mtime_ns));
}

/* ── Forward ── */

/* If we were killed between link and unlink of put(), the new entry has both names. */
static bool is_half_put(const struct names *n, const struct seen *s)
{
	return n->links && is_there(&s->new) && s->live.inode == s->new.inode;
}

static int install(const struct names *n, const struct seen *s)
{
	if (!is_there(&s->new))
		return 0;
	if (!is_there(&s->live))
		return put(n, n->new, &s->new);
	return is_half_put(n, s) ? transfer_remove(n->new.dirfd, n->new.name) : STEP_FOREIGN;
}

static int take_out(struct apply_op *op, const struct names *n)
{
	int rc = move(n->live, n->old);
	if (rc < 0)
		return rc == -ENOENT ? STEP_FOREIGN : rc;
	int right = is_right(op, n);
	if (right > 0)
		return 0;
	rc = move(n->old, n->live);
	return rc < 0 ? rc : right < 0 ? right : STEP_FOREIGN;
}

static int replace_file(const struct apply_tx *tx, struct apply_op *op, const struct names *n)
{
	int rc = swap(n, n->new, n->old);
	if (rc < 0)
		return rc == -ENOENT ? STEP_FOREIGN : rc;
	int right = tx->recovering ? 1 : is_right(op, n);
	if (right > 0)
		return 0;
	rc = swap(n, n->old, n->new);
	return rc < 0 ? rc : right < 0 ? right : STEP_FOREIGN;
}

static int exchange(const struct apply_tx *tx, struct apply_op *op, const struct names *n, const struct seen *s)
{
	if (!is_there(&s->new))
		return 0;
	if (!is_there(&s->live) && is_there(&s->old) && tx->recovering) /* killed between the two renames */
		return put(n, n->new, &s->new);
	if (is_half_put(n, s))
		return transfer_remove(n->new.dirfd, n->new.name);
	if (!is_planned(tx, op, s))
		return STEP_FOREIGN;
	if (!is_directory(&s->live) && !is_directory(&s->new))
		return replace_file(tx, op, n);
	int rc = take_out(op, n);
	return rc != 0 ? rc : put(n, n->new, &s->new);
}

static int take(const struct apply_tx *tx, struct apply_op *op, const struct names *n, const struct seen *s)
{
	if (is_there(&s->old))
		return 0;
	if (is_planned(tx, op, s))
		return take_out(op, n);
	return tx->recovering && !is_there(&s->live) ? 0 : STEP_FOREIGN;
}

int plain_forward(const struct apply_tx *tx, struct apply_op *op, struct transfer_place live, int stage_dir)
{
	struct names n;
	struct seen s;
	name_all(&n, op, live, stage_dir);
	int rc = look(&n, &s);
	if (rc < 0)
		return rc;
	switch (op->step) {
	case APPLY_REMOVE:
		return take(tx, op, &n, &s);
	case APPLY_INSTALL:
		return install(&n, &s);
	case APPLY_EXCHANGE:
		return exchange(tx, op, &n, &s);
	case APPLY_META:
	case APPLY_NONE:
		break;
	}
	return 0;
}

bool plain_is_waiting(const struct apply_op *op, int stage_dir)
{
	struct change_stat st = {0};
	return stage_dir >= 0 && change_stat_at(stage_dir, change_slot_name(op->slot).text, &st) == 0 && is_there(&st);
}

/* ── Back ── */

static int revert_install(const struct apply_op *op, const struct names *n, const struct seen *s)
{
	if (!is_there(&s->live))
		return 0;
	if (is_there(&s->new)) /* never done, or only by half */
		return is_half_put(n, s) ? transfer_remove(n->live.dirfd, n->live.name) : 0;
	if (!is_ours(op, &s->live))
		return STEP_FOREIGN;
	return n->new.dirfd < 0 ? -ENOENT : move(n->live, n->new);
}

static int revert_exchange(const struct apply_tx *tx, const struct apply_op *op, const struct names *n,
			   const struct seen *s)
{
	if (!is_there(&s->old)) /* never begun, or back already */
		return is_there(&s->new) || is_planned(tx, op, s) ? 0 : is_ours(op, &s->live) ? -ENOENT : STEP_FOREIGN;
	if (!is_there(&s->live))
		return put(n, n->old, &s->old);
	if (!is_ours(op, &s->live)) {
		bool kept = is_planned(tx, op, s) || s->live.inode == s->old.inode;
		return kept ? transfer_remove(n->old.dirfd, n->old.name) : STEP_FOREIGN;
	}
	if (!is_directory(&s->live) && !is_directory(&s->old))
		return swap(n, n->old, n->new);
	int rc = is_half_put(n, s) ? transfer_remove(n->live.dirfd, n->live.name) : move(n->live, n->new);
	return rc < 0 ? rc : put(n, n->old, &s->old);
}

/* The same entry may have both names: killed between link and unlink. */
static int revert_take(const struct names *n, const struct seen *s)
{
	if (!is_there(&s->old))
		return 0;
	if (is_there(&s->live) && n->links && s->live.inode == s->old.inode)
		return transfer_remove(n->old.dirfd, n->old.name);
	return is_there(&s->live) ? STEP_FOREIGN : put(n, n->old, &s->old);
}

int plain_revert(const struct apply_tx *tx, struct apply_op *op, struct transfer_place live, int stage_dir)
{
	struct names n;
	struct seen s;
	name_all(&n, op, live, stage_dir);
	int rc = look(&n, &s);
	if (rc < 0)
		return rc;
	switch (op->step) {
	case APPLY_REMOVE:
		return revert_take(&n, &s);
	case APPLY_INSTALL:
		return revert_install(op, &n, &s);
	case APPLY_EXCHANGE:
		return revert_exchange(tx, op, &n, &s);
	case APPLY_META:
	case APPLY_NONE:
		break;
	}
	return 0;
}

/* ── What can this file system do? ── */

#define TRY_A "try-a"
#define TRY_B "try-b"
#define TRY_C "try-c"

static int make_empty(int dir, const char *name)
{
	_cleanup_close_ int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : 0;
}

/* 1: yes, 0: no. Any other error is one of the file system, and not an answer. */
static int can_exchange(int dir)
{
	if (renameat2(dir, TRY_A, dir, TRY_B, RENAME_EXCHANGE) == 0)
		return 1;
	return errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP || errno == EPERM ? 0 : -errno;
}

/* Hard links help only where both names report the same inode. */
static bool can_link(int dir)
{
	struct change_stat a, c;
	return linkat(dir, TRY_A, dir, TRY_C, 0) == 0 && change_stat_at(dir, TRY_A, &a) == 0 &&
	       change_stat_at(dir, TRY_C, &c) == 0 && a.inode == c.inode;
}

int plain_probe(int stage_dir, bool *ret_plain, bool *ret_links)
{
	int rc = make_empty(stage_dir, TRY_A);
	rc = rc < 0 ? rc : make_empty(stage_dir, TRY_B);
	rc = rc < 0 ? rc : can_exchange(stage_dir);
	if (rc >= 0) {
		*ret_plain = rc == 0;
		*ret_links = rc == 0 && can_link(stage_dir);
	}
	static const char *const tries[] = {TRY_A, TRY_B, TRY_C};
	for (size_t i = 0; i < AL_ARRAY_LEN(tries); i++)
		if (unlinkat(stage_dir, tries[i], 0) < 0 && errno != ENOENT && rc >= 0)
			rc = -errno;
	return rc < 0 ? rc : 0;
}
