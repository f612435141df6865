/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "change/scan/scan_parts.h"

#include "base/array.h"
#include "fs/beneath.h"

#include <fcntl.h>
#include <string.h>

struct scan_level *scan_top(const struct scan *s)
{
	return &s->levels[s->depth - 1];
}

void scan_true_mode(const struct scan *s, struct stat *st)
{
	if (s->in_place)
		copy_true_mode(s->set->origins, st);
}

int scan_push(struct scan *s, const struct scan_level *l)
{
	if (!ARRAY_ROOM(s->levels, s->depth, s->cap, 16)) {
		if (l->live_fd >= 0)
			(void)close(l->live_fd);
		return -ENOMEM;
	}
	s->levels[s->depth++] = *l;
	/* Any depth, few descriptors: those far above are opened again on the way back. */
	if (s->depth > FS_WALK_MAX_FDS)
		base_closep(&s->levels[s->depth - 1 - FS_WALK_MAX_FDS].live_fd);
	return 0;
}

static bool is_same_dir(int fd, const struct stat *st)
{
	struct stat now;
	return fstat(fd, &now) == 0 && now.st_dev == st->st_dev && now.st_ino == st->st_ino;
}

/* From below, which costs the same at any depth; ".." is trusted only when it leads to the directory we came from. */
static int reopen_from_child(const struct scan_level *l, int child_fd)
{
	_cleanup_close_ int fd = child_fd >= 0 ? openat(child_fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC) : -EBADF;
	return fd >= 0 && is_same_dir(fd, &l->live_st) ? TAKE_FD(fd) : -ESTALE;
}

static int reopen_from_root(struct scan *s)
{
	/* The walk is back at the entry the child was: its level's path has a slash at the end. */
	_cleanup_free_ char *path = strndup(s->upper.path.data ? s->upper.path.data : "", s->upper.path.len);
	if (!path)
		return -ENOMEM;
	if (path[0])
		path[strlen(path) - 1] = '\0';
	return fs_open_beneath(s->live_root, path, O_PATH | O_DIRECTORY);
}

/* What a live place is that could not be opened or looked at. */
static enum scan_live live_after(int error)
{
	bool gone = error == -ENOENT || error == -ENOTDIR || error == -ELOOP || error == -ENAMETOOLONG;
	return gone ? SCAN_ABSENT : SCAN_HIDDEN;
}

/* Somebody may have moved the directory meanwhile: then it is no longer there, which is what the live tree is now. */
static void reopen_top(struct scan *s, int child_fd)
{
	struct scan_level *l = scan_top(s);
	if (l->live != SCAN_PRESENT || l->live_fd >= 0)
		return;
	l->live_fd = reopen_from_child(l, child_fd);
	if (l->live_fd < 0)
		l->live_fd = reopen_from_root(s);
	if (l->live_fd < 0)
		l->live = live_after(l->live_fd);
}

struct scan_level scan_pop(struct scan *s)
{
	struct scan_level l = s->levels[--s->depth];
	if (s->depth > 0)
		reopen_top(s, l.live_fd);
	base_closep(&l.live_fd);
	return l;
}

void scan_levels_done(struct scan *s)
{
	while (s->depth > 0)
		base_closep(&s->levels[--s->depth].live_fd);
	base_freep(&s->levels);
	s->cap = 0;
}

/* A directory that may not be searched hides all its entries, and is told of once. */
enum scan_live scan_look_live(struct scan *s, const char *name, struct stat *ret)
{
	struct scan_level *l = scan_top(s);
	if (l->live != SCAN_PRESENT)
		return l->live;
	if (fstatat(l->live_fd, name, ret, AT_SYMLINK_NOFOLLOW) == 0) {
		scan_true_mode(s, ret);
		return SCAN_PRESENT;
	}
	enum scan_live live = live_after(-errno);
	if (live == SCAN_HIDDEN) {
		scan_note(s, fs_walk_path(&s->upper), errno, AIRLOCK_NOTE_ALL_TAKEN_CHANGED);
		l->live = SCAN_HIDDEN;
	}
	return live;
}
