/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Undo is an apply in the other direction (I5); only what counts as somebody else's change differs: what is live must be what
 * was applied. */
#include "change/apply/apply_tx.h"
#include "change/reason.h"
#include "fs/beneath.h"
#include "layer/open.h"

/* A directory's times change with what is in it. */
static bool is_as_recorded(const struct apply_root *r, const struct change_stat *live, const struct change_stat *after)
{
	if (live->type != after->type || (live->inode != after->inode && !r->made_up_inodes))
		return false;
	if (live->type == CHANGE_NOTHING)
		return true;
	if (live->type == CHANGE_DIRECTORY)
		return live->mode == after->mode;
	bool same = live->mtime_ns == after->mtime_ns && live->size == after->size && live->mode == after->mode;
	return same && (after->links > 1 || live->ctime_ns == after->ctime_ns);
}

/* A later run may have replaced it and, undone, put it back: the inode is the same, the ctime is not. */
static bool is_as_applied(const struct apply_tx *tx, size_t root, const struct change_stat *live,
			  const struct change_stat *after)
{
	return is_as_recorded(&tx->roots[root], live, after) || returns_is_same(tx->known, after, live);
}

/* True if git rewrote the applied index only to remember file times: the staged entries are the same. */
static bool is_same_index(const struct apply_tx *tx, const struct change *c, const struct change_stat *live)
{
	const char *name;
	if (!c->index_mark_after || live->type != CHANGE_FILE || live->mode != c->after.mode)
		return false;
	_cleanup_close_ int dir = fs_open_parent(tx->roots[c->root].live_fd, c->path, &name);
	_cleanup_close_ int fd = dir < 0 ? dir : open_regular_at(dir, name);
	return fd >= 0 && gate_index_mark(fd) == c->index_mark_after;
}

/* 1: as it was applied, 0: not, -errno. */
static int is_untouched(const struct apply_tx *tx, const struct change *c)
{
	struct change_stat live, nothing = {0};
	int rc = ops_look_live(tx, c->root, c->path, &live);
	if (rc < 0 || (!is_as_applied(tx, c->root, &live, &c->after) && !is_same_index(tx, c, &live)))
		return rc;
	if (!c->from)
		return 1;
	rc = ops_look_live(tx, c->root, c->from, &live);
	return rc < 0 ? rc : is_as_applied(tx, c->root, &live, &nothing);
}

int undo_check(const struct apply_tx *tx, struct change_set *set, const bool *selected, struct airlock_error *err)
{
	const struct change *first = NULL;
	for (size_t i = 0; i < set->n; i++) {
		struct change *c = &set->v[i];
		if (c->state != CHANGE_APPLIED || (selected && !selected[i]))
			continue;
		int rc = is_untouched(tx, c);
		if (rc < 0)
			return apply_error(err, rc, "lstat", tx, c->root, c->path);
		if (rc > 0)
			continue;
		if (change_reason_set(c, change_reason_of(AIRLOCK_REASON_CHANGED_SINCE)) < 0)
			return base_oom(err);
		first = first ? first : c;
	}
	return first ? change_reason_refuse(err, "undo", first->path, &first->reasons[0]) : 0;
}
