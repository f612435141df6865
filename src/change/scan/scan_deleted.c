/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the layer has taken away: each live entry of it is a change of its own, so each can be looked at, held, kept or put
 * back alone. */
#include "change/scan/scan_parts.h"

#include <fcntl.h>
#include <string.h>

/* A live directory that could not be read, unless it is merely gone: noted. 0 or a code. */
static int left_out(struct scan *s, int rc, const char *path, enum airlock_note_code consequence)
{
	if (scan_is_shortage(rc))
		return scan_shortage(s, rc, path);
	if (rc < 0 && rc != -ENOENT)
		scan_note(s, path, -rc, consequence);
	return 0;
}

/* In a mirror the command never saw what somebody else has made since it began. */
static bool is_others(const struct scan *s, const char *path)
{
	return s->mirror && !copy_knew(s->set->origins, s->root, path);
}

static int step(struct scan *s, struct fs_walk *live, struct buf *path, size_t prefix)
{
	struct stat st;
	const char *below = fs_walk_path(live);
	path->len = prefix;
	buf_adds(path, below ? below : "");
	if (!below || path->failed)
		return base_oom(s->err);
	if (fstatat(fs_walk_dirfd(live), live->name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		if (errno != ENOENT)
			scan_note(s, path->data, errno, AIRLOCK_NOTE_LEFT_OUT);
		return 0;
	}
	if (is_others(s, path->data))
		return 0;
	scan_true_mode(s, &st);
	if (!scan_report(s, path->data, CHANGE_DELETED, &st, NULL))
		return AIRLOCK_ERR_INTERNAL;
	int rc = S_ISDIR(st.st_mode) ? fs_walk_enter(live) : 0;
	return left_out(s, rc, path->data, AIRLOCK_NOTE_CONTENT_LEFT_OUT);
}

/* Everything below a live directory, whose path with a slash is in path. Takes fd. */
static int delete_below(struct scan *s, int fd, struct buf *path)
{
	_cleanup_walk_ struct fs_walk live = FS_WALK_INIT;
	size_t prefix = path->len;
	int event = fs_walk_start(&live, fd);
	while (event >= 0 && (event = fs_walk_next(&live)) > 0) {
		int rc = event == FS_WALK_LEAVE ? 0 : step(s, &live, path, prefix);
		if (rc < 0)
			return rc;
	}
	path->len = prefix;
	path->data[prefix] = '\0';
	return left_out(s, event, path->data, AIRLOCK_NOTE_SOME_LEFT_OUT);
}

int scan_delete_content(struct scan *s, const char *name, const char *path)
{
	_cleanup_buf_ struct buf prefix = BUF_INIT;
	int fd = fs_open_dir_at(scan_top(s)->live_fd, name, O_RDONLY);
	if (fd < 0)
		return left_out(s, fd, path, AIRLOCK_NOTE_CONTENT_LEFT_OUT);
	buf_adds(&prefix, path);
	buf_addc(&prefix, '/');
	if (prefix.failed)
		base_closep(&fd);
	return prefix.failed ? base_oom(s->err) : delete_below(s, fd, &prefix);
}

int scan_delete(struct scan *s, const char *name, const char *path, const struct stat *live)
{
	/* path may lie in the walk's memory, which stays as it is: this does not move the upper's walk. */
	if (!scan_report(s, path, CHANGE_DELETED, live, NULL))
		return AIRLOCK_ERR_INTERNAL;
	return S_ISDIR(live->st_mode) ? scan_delete_content(s, name, path) : 0;
}

/* One entry of a live directory that the upper one hides. */
static int delete_unless_there(struct scan *s, const char *name, struct buf *path, size_t prefix)
{
	struct stat st;
	/* What the upper has, a whiteout included, the walk comes to itself. */
	if (fstatat(fs_walk_dirfd(&s->upper), name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	path->len = prefix;
	buf_adds(path, name);
	if (path->failed)
		return base_oom(s->err);
	if (is_others(s, path->data) || fstatat(scan_top(s)->live_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0; /* gone meanwhile */
	scan_true_mode(s, &st);
	return scan_delete(s, name, path->data, &st);
}

static int delete_each(struct scan *s, struct fs_walk *live)
{
	_cleanup_buf_ struct buf path = BUF_INIT;
	int event = 0, rc = 0;
	buf_add(&path, buf_str(&s->upper.path), s->upper.path.len); /* with its slash: the walk has just entered */
	size_t prefix = path.len;
	while (rc == 0 && (event = fs_walk_next(live)) > 0)
		rc = delete_unless_there(s, live->name, &path, prefix);
	return rc != 0 ? rc : left_out(s, event, buf_str(&s->upper.path), AIRLOCK_NOTE_SOME_LEFT_OUT);
}

int scan_delete_hidden(struct scan *s)
{
	_cleanup_walk_ struct fs_walk live = FS_WALK_INIT;
	int fd = fs_open_dir_at(scan_top(s)->live_fd, ".", O_RDONLY);
	int rc = fd < 0 ? fd : fs_walk_start(&live, fd);
	if (rc < 0)
		return left_out(s, rc, buf_str(&s->upper.path), AIRLOCK_NOTE_CONTENT_LEFT_OUT);
	return delete_each(s, &live);
}
