/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One layer onto another, entry by entry. Both were filled by commands and are only ours to write: their entries are reached one
 * component at a time beneath the two roots (I6).
 *
 * What the upper entry is decides: a whiteout or a file takes the place of whatever was there; a directory is joined with a
 * directory, unless it is opaque, and takes the place of everything else. Where it takes the place of a whiteout or a file, it must
 * be opaque from now on: those hid what the project has. Where there is no such directory below there must be no whiteouts either: the
 * kernel reads a directory that is joined with no other without looking for them, and they would be entries that can be neither looked
 * at nor removed.
 */
#include "change/fold/fold.h"

#include "base/path.h"
#include "change/transfer.h"
#include "fs/beneath.h"
#include "fs/fs.h"
#include "fs/walk.h"
#include "layer/upper.h"
#include "layer/xattrs.h"

#include <fcntl.h>
#include <search.h>
#include <stdio.h>
#include <string.h>

#define OPAQUE_ATTRIBUTE "user.overlay.opaque"

/* A file with several names that was copied: the next name becomes a link. */
struct copied {
	ino_t inode;
	char *path; /* in the merged layer */
};

struct layering {
	enum fold_files how;
	struct fs_walk walk;	 /* of the layer that is put on */
	int root;		 /* of the merged one */
	int dir;		 /* of the merged one, beside the walk's */
	struct upper_dir *marks; /* of the directories that the walk is in, the last at depth - 1 */
	struct stat *stats;
	bool *unlocked;
	size_t depth, cap;
	const struct strs *below;
	size_t covered; /* the depth from which on a directory of the merged layer is joined with none below; 0: all are */
	void *copies; /* tree of struct copied, FOLD_COPY */
	const char *layer, *onto;
	struct airlock_error *err;
};

static int fail(struct layering *m, int errnum, const char *op)
{
	const char *path = fs_walk_path(&m->walk);
	_cleanup_free_ char *full = path_join(m->layer, path ? path : "");
	if (!full || errnum == -ENOMEM)
		return base_oom(m->err);
	return base_errno(m->err, AIRLOCK_ERR_IO, errnum, op, full);
}

static int compare_copied(const void *a, const void *b)
{
	const struct copied *x = a, *y = b;
	return (x->inode > y->inode) - (x->inode < y->inode);
}

static void free_copied(void *p)
{
	struct copied *c = p;
	free(c->path);
	free(c);
}

static int set_opaque(int dir_fd)
{
	return xattrs_set(dir_fd, OPAQUE_ATTRIBUTE, "y", 1);
}

/* Whatever has the name in the merged layer. 0 or -errno. */
static int remove_entry(int dir, const char *name)
{
	if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -errno;
	struct airlock_error why = {0};
	int rc = fs_remove_tree_at(dir, name, NULL, &why);
	return rc < 0 ? -(why.errnum ? why.errnum : EIO) : 0;
}

static int go_to(struct layering *m, const char *path)
{
	base_closep(&m->dir);
	m->dir = fs_open_beneath(m->root, path, O_RDONLY | O_DIRECTORY);
	return m->dir < 0 ? m->dir : 0;
}

/* ── Files ── */

static int copy_file(struct layering *m, const struct stat *st)
{
	struct transfer_place from = {fs_walk_dirfd(&m->walk), m->walk.name}, to = {m->dir, m->walk.name};
	bool shared;
	if (!S_ISREG(st->st_mode) || st->st_nlink < 2)
		return transfer_copy_quickly(from, to, -1, &shared);
	struct copied key = {.inode = st->st_ino};
	struct copied **found = tfind(&key, &m->copies, compare_copied);
	if (found) {
		const char *name = NULL;
		_cleanup_close_ int dir = fs_open_parent(m->root, (*found)->path, &name);
		if (dir >= 0 && linkat(dir, name, m->dir, m->walk.name, 0) == 0)
			return 0;
	}
	int rc = transfer_copy_quickly(from, to, -1, &shared);
	struct copied *made = rc < 0 || found ? NULL : calloc(1, sizeof *made);
	if (!made)
		return rc;
	const char *path = fs_walk_path(&m->walk);
	*made = (struct copied){st->st_ino, path ? strdup(path) : NULL};
	if (!made->path || !tsearch(made, &m->copies, compare_copied)) {
		free_copied(made);
		return -ENOMEM;
	}
	return 0;
}

static int put_file(struct layering *m, const struct stat *st)
{
	if (m->how == FOLD_COPY)
		return copy_file(m, st);
	if (linkat(fs_walk_dirfd(&m->walk), m->walk.name, m->dir, m->walk.name, 0) == 0)
		return 0;
	/* Too many names, another file system, or a file system without links. */
	return errno == EMLINK || errno == EXDEV || errno == EPERM || errno == EOPNOTSUPP ? copy_file(m, st) : -errno;
}

static int on_entry(struct layering *m)
{
	struct stat st;
	struct upper_entry entry;
	int dir = fs_walk_dirfd(&m->walk);
	if (fstatat(dir, m->walk.name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return fail(m, -errno, "lstat");
	int rc = upper_entry_read(dir, m->walk.name, &st, &m->marks[m->depth - 1], &entry);
	if (rc < 0)
		return fail(m, rc, "listxattr");
	rc = remove_entry(m->dir, m->walk.name);
	if (rc < 0)
		return fail(m, rc, "unlink");
	if (entry.whiteout && m->covered) /* there is nothing to hide, and listings would show it */
		rc = 0;
	else if (entry.whiteout)
		rc = mknodat(m->dir, m->walk.name, S_IFCHR, 0) < 0 ? -errno : 0;
	else
		rc = put_file(m, &st);
	return rc < 0 ? fail(m, rc, "link") : 0;
}

/* ── Directories ── */

static int push(struct layering *m, const struct stat *st, const struct upper_dir *marks, bool unlocked)
{
	if (m->depth == m->cap) {
		size_t cap = m->cap ? m->cap * 2 : 16;
		struct upper_dir *marks_v = reallocarray(m->marks, cap, sizeof *marks_v);
		m->marks = marks_v ? marks_v : m->marks;
		struct stat *stats = reallocarray(m->stats, cap, sizeof *stats);
		m->stats = stats ? stats : m->stats;
		bool *flags = reallocarray(m->unlocked, cap, sizeof *flags);
		m->unlocked = flags ? flags : m->unlocked;
		if (!marks_v || !stats || !flags)
			return -ENOMEM;
		m->cap = cap;
	}
	m->marks[m->depth] = *marks;
	m->stats[m->depth] = *st;
	m->unlocked[m->depth++] = unlocked;
	return 0;
}

/* A directory of this name that can be written to, joined with what is there or new. */
static int make_dir(struct layering *m, bool opaque)
{
	struct stat there;
	const char *name = m->walk.name;
	bool exists = fstatat(m->dir, name, &there, AT_SYMLINK_NOFOLLOW) == 0;
	bool joins = exists && S_ISDIR(there.st_mode) && !opaque;
	if (!exists && errno != ENOENT)
		return -errno;
	if (joins)
		return fchmodat(m->dir, name, (there.st_mode & 07777) | 0700, 0) < 0 ? -errno : 0;
	int rc = exists ? remove_entry(m->dir, name) : 0;
	if (rc < 0)
		return rc;
	if (mkdirat(m->dir, name, 0700) < 0)
		return -errno;
	if (!exists && !opaque)
		return 0;
	_cleanup_close_ int fd = fs_open_dir_at(m->dir, name, O_RDONLY);
	return fd < 0 ? fd : set_opaque(fd);
}

static int on_dir(struct layering *m)
{
	struct stat st;
	struct upper_dir marks = {0};
	int dir = fs_walk_dirfd(&m->walk);
	if (fstatat(dir, m->walk.name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return fail(m, -errno, "lstat");
	int unlocked = upper_unlock(dir, m->walk.name, &st);
	int rc = unlocked < 0 ? unlocked : upper_dir_read(dir, m->walk.name, &marks);
	rc = rc < 0 ? rc : make_dir(m, marks.opaque);
	if (rc < 0)
		return fail(m, rc, "mkdir");
	_cleanup_free_ char *path = fs_walk_path(&m->walk) ? strdup(fs_walk_path(&m->walk)) : NULL;
	rc = path ? push(m, &st, &marks, unlocked > 0) : -ENOMEM;
	rc = rc < 0 ? rc : fs_walk_enter(&m->walk);
	rc = rc < 0 ? rc : go_to(m, path);
	rc = rc < 0 ? rc : upper_dir_read(m->dir, NULL, &marks);
	if (rc >= 0 && !m->covered && (marks.opaque || !fold_has_dir(m->below, path)))
		m->covered = m->depth;
	return rc < 0 ? fail(m, rc, "open") : 0;
}

/* Gives the merged directory the attributes of the layer's, which is the later one. */
static int give_attributes(int from, int to, const struct stat *st)
{
	struct upper_dir marks;
	struct timespec times[2] = {st->st_atim, st->st_mtim};
	int rc = upper_dir_read(to, NULL, &marks);
	rc = rc < 0 ? rc : transfer_xattrs(from, to);
	if (rc == 0 && marks.opaque)
		rc = set_opaque(to);
	rc = rc < 0 ? rc : transfer_owner(from, to);
	if (rc == 0 && fchmod(to, st->st_mode & 07777) < 0)
		rc = -errno;
	return rc < 0 ? rc : futimens(to, times) < 0 ? -errno : 0;
}

/* The walk is at the directory again, and m->dir still inside it. */
static int on_leave(struct layering *m)
{
	struct stat st = m->stats[--m->depth];
	bool unlocked = m->unlocked[m->depth];
	m->covered = m->covered > m->depth ? 0 : m->covered;
	int dir = fs_walk_dirfd(&m->walk);
	_cleanup_close_ int from = fs_open_dir_at(dir, m->walk.name, O_RDONLY);
	int rc = from < 0 ? from : give_attributes(from, m->dir, &st);
	int back = unlocked ? upper_relock(dir, m->walk.name, &st) : 0;
	const char *path = fs_walk_path(&m->walk);
	_cleanup_free_ char *parent = path ? path_dirname(path) : NULL;
	if (!parent)
		return base_oom(m->err);
	rc = rc < 0 ? rc : back;
	rc = rc < 0 ? rc : go_to(m, strchr(path, '/') ? parent : "");
	return rc < 0 ? fail(m, rc, "set attributes") : 0;
}

static int walk(struct layering *m)
{
	for (;;) {
		int event = fs_walk_next(&m->walk), rc = 0;
		if (event <= 0)
			return event < 0 ? fail(m, event, "read") : 0;
		rc = event == FS_WALK_ENTRY ? on_entry(m) : event == FS_WALK_DIR ? on_dir(m) : on_leave(m);
		if (rc < 0)
			return rc;
	}
}

static int put_on(struct layering *m)
{
	struct stat st;
	struct upper_dir marks = {0};
	_cleanup_close_ int from = open(m->layer, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (from < 0 || fstat(from, &st) < 0)
		return base_errno(m->err, AIRLOCK_ERR_IO, errno, "open", m->layer);
	m->root = open(m->onto, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (m->root < 0)
		return base_errno(m->err, AIRLOCK_ERR_IO, errno, "open", m->onto);
	int rc = upper_dir_read(from, NULL, &marks);
	rc = rc < 0 ? rc : push(m, &st, &marks, false);
	rc = rc < 0 ? rc : go_to(m, "");
	rc = rc < 0 ? rc : fs_walk_start(&m->walk, fcntl(from, F_DUPFD_CLOEXEC, 3));
	if (rc < 0)
		return fail(m, rc, "open");
	rc = walk(m);
	if (rc < 0)
		return rc;
	rc = give_attributes(from, m->root, &st);
	return rc < 0 ? base_errno(m->err, AIRLOCK_ERR_IO, rc, "set attributes", m->onto) : 0;
}

bool fold_has_dir(const struct strs *below, const char *path)
{
	for (size_t i = 0; i < below->n; i++) {
		_cleanup_close_ int root = open(below->v[i], O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		_cleanup_close_ int dir = root < 0 ? root : fs_open_beneath(root, path, O_PATH | O_DIRECTORY);
		if (dir >= 0)
			return true;
	}
	return false;
}

int fold_layer(const char *onto, const char *layer, enum fold_files how, const struct strs *below,
	       struct airlock_error *err)
{
	struct layering m = {.how = how,
			     .walk = FS_WALK_INIT,
			     .root = -EBADF,
			     .dir = -EBADF,
			     .layer = layer,
			     .below = below,
			     .onto = onto,
			     .err = err};
	int rc = put_on(&m);
	fs_walk_done(&m.walk);
	base_closep(&m.root);
	base_closep(&m.dir);
	free(m.marks);
	free(m.stats);
	free(m.unlocked);
	tdestroy(m.copies, free_copied);
	return rc;
}
