/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The copy of a root. Walked like everything else that somebody hostile may have filled (I6), though before the run it is
 * only the user's: an earlier run may have been there. Where the file system can, the bytes are shared. */
#include "change/scan/copy.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/text.h"
#include "change/transfer.h"
#include "fs/beneath.h"
#include "fs/fs.h"
#include "fs/inodes.h"
#include "fs/walk.h"
#include "layer/upper.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <search.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#define FILE_MAX ((size_t)1 << 32)

/* ── What was copied ── */

void copy_origins_done(struct copy_origins *o)
{
	base_freep(&o->v);
	base_freep(&o->paths);
	o->n = o->cap = 0;
	o->n_paths = o->cap_paths = 0;
}

static int compare_origins(const void *a, const void *b)
{
	const struct copy_origin *x = a, *y = b;
	return x->inode == y->inode ? 0 : x->inode < y->inode ? -1 : 1;
}

const struct copy_origin *copy_find(const struct copy_origins *o, uint64_t inode)
{
	const struct copy_origin key = {.inode = inode};
	return o && o->n ? bsearch(&key, o->v, o->n, sizeof key, compare_origins) : NULL;
}

static int compare_sums(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return *x == *y ? 0 : *x < *y ? -1 : 1;
}

static uint64_t sum_of(size_t root, const char *path)
{
	return hash_checksum(path, strlen(path)) + root;
}

bool copy_knew(const struct copy_origins *o, size_t root, const char *path)
{
	uint64_t sum = sum_of(root, path);
	return o && o->n_paths && bsearch(&sum, o->paths, o->n_paths, sizeof sum, compare_sums);
}

/* Every change of an entry, its names included, gives it a later ctime; one of the very moment of the start may be older
 * or newer than the copy. */
bool copy_is_untouched(const struct copy_origins *o, const struct stat *st, const struct stat *now, int64_t started_ns)
{
	const struct copy_origin *was = copy_find(o, st->st_ino);
	return was && was->from_inode == now->st_ino && was->from_ctime_ns == change_stat_of(now).ctime_ns &&
	       was->from_ctime_ns < started_ns;
}

void copy_true_mode(const struct copy_origins *o, struct stat *st)
{
	const struct copy_origin *was = copy_find(o, st->st_ino);
	if (was)
		st->st_mode = (st->st_mode & S_IFMT) | was->mode;
}

static int add_origin(struct copy_origins *o, const struct stat *copy, const struct stat *from)
{
	if (!ARRAY_ROOM(o->v, o->n, o->cap, 256))
		return -ENOMEM;
	o->v[o->n++] = (struct copy_origin){.inode = copy->st_ino,
					    .from_inode = from->st_ino,
					    .from_ctime_ns = change_stat_of(from).ctime_ns,
					    .mode = from->st_mode & 07777};
	return 0;
}

int copy_save(const struct copy_origins *o, const char *file, struct airlock_error *err)
{
	return fs_create_private_file(file, o->n ? (const void *)o->v : "", o->n * sizeof *o->v, err);
}

int copy_load(struct copy_origins *o, const char *file, struct airlock_error *err)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	int rc = fs_read_file(file, FILE_MAX, &text, err);
	if (rc < 0)
		return rc;
	if (text.len % sizeof *o->v)
		return base_error(err, AIRLOCK_ERR_CORRUPT, "read", file, "%s is damaged", file);
	o->v = malloc(text.len + 1);
	if (!o->v)
		return base_oom(err);
	memcpy(o->v, buf_str(&text), text.len);
	o->n = o->cap = text.len / sizeof *o->v;
	return 0;
}

/* ── Hard links ── */

/* A file with several names, and where the first of them was copied to. */
struct linked {
	dev_t dev;
	ino_t ino;
	nlink_t names, seen;
	char *path; /* below the root */
};

static int compare_linked(const void *a, const void *b)
{
	const struct linked *x = a, *y = b;
	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	return x->ino == y->ino ? 0 : x->ino < y->ino ? -1 : 1;
}

static void free_linked(void *node)
{
	struct linked *l = node;
	free(l->path);
	free(l);
}

/* ── Copying ── */

/* A directory's own attributes come when it is filled. */
struct copy_level {
	struct stat st;
	int pinned_fd; /* it had to be opened up for as long as the walk is in it; -EBADF: not */
};

struct copying {
	struct fs_walk w;
	const char *root;
	int to_fd;
	const struct copy_limits *limits;
	bool mirror;
	size_t number; /* of the root */
	struct copy_origins *origins;
	void *linked;		  /* tsearch(3) of struct linked */
	struct copy_level *stack; /* the directories the walk is in */
	size_t depth, cap;
	struct airlock_error *err;
};

static int fail(struct copying *c, int errnum, const char *op)
{
	const char *path = fs_walk_path(&c->w);
	_cleanup_buf_ struct buf shown = BUF_INIT;
	text_add_escaped(&shown, path ? path : "", path ? strlen(path) : 0);
	if (!path || errnum == -ENOMEM)
		return base_oom(c->err);
	int code = errnum == -EACCES || errnum == -EPERM || errnum == -EXDEV ? AIRLOCK_ERR_UNAVAILABLE : AIRLOCK_ERR_IO;
	int rc = base_error(c->err, code, op, c->root, "%s%s%s cannot be copied: %s", c->root, *path ? "/" : "",
			    buf_str(&shown), strerrordesc_np(-errnum));
	if (c->err)
		c->err->errnum = -errnum;
	return rc;
}

/* 1: it has a copy, which has been given this name too. */
static int link_known(struct copying *c, const struct stat *st, const char *path, struct transfer_place to)
{
	struct linked key = {.dev = st->st_dev, .ino = st->st_ino};
	struct linked **hit = tfind(&key, &c->linked, compare_linked);
	if (hit) {
		const char *name;
		(*hit)->seen++;
		_cleanup_close_ int dir = fs_open_parent(c->to_fd, (*hit)->path, &name);
		if (dir < 0)
			return dir;
		return linkat(dir, name, to.dirfd, to.name, 0) < 0 ? -errno : 1;
	}
	struct linked *l = malloc(sizeof *l);
	if (!l)
		return -ENOMEM;
	*l = (struct linked){st->st_dev, st->st_ino, st->st_nlink, 1, strdup(path)};
	if (!l->path || !tsearch(l, &c->linked, compare_linked)) {
		free_linked(l);
		return -ENOMEM;
	}
	return 0;
}

/* Always one that we can read again; the true mode is kept beside it. A directory of a mirror gets its own when it is filled. */
static int mode_of_copy(const struct copying *c, const struct stat *st)
{
	mode_t mode = st->st_mode & 07777;
	if (c->mirror && !S_ISDIR(st->st_mode))
		return (int)mode;
	return (int)(S_ISDIR(st->st_mode) ? mode | 0700 : S_ISREG(st->st_mode) ? mode | 0400 : mode);
}

static int remember_path(struct copying *c, const char *path)
{
	struct copy_origins *o = c->origins;
	if (!c->mirror)
		return 0;
	if (!ARRAY_ROOM(o->paths, o->n_paths, o->cap_paths, 256))
		return -ENOMEM;
	o->paths[o->n_paths++] = sum_of(c->number, path);
	return 0;
}

static int copy_one(struct copying *c, const struct stat *st, const char *path)
{
	struct stat made;
	struct transfer_place from = {fs_walk_dirfd(&c->w), c->w.name}, to = {0};
	_cleanup_close_ int dir = fs_open_parent(c->to_fd, path, &to.name);
	to.dirfd = dir;
	if (dir < 0)
		return dir;
	int rc = !S_ISDIR(st->st_mode) && st->st_nlink > 1 ? link_known(c, st, path, to) : 0;
	if (rc != 0)
		return rc < 0 ? rc : 0;
	bool shared = false;
	rc = transfer_copy_quickly(from, to, mode_of_copy(c, st), &shared);
	if (rc < 0)
		return rc;
	if (S_ISREG(st->st_mode) && !shared)
		c->origins->bytes += AL_MIN((uint64_t)st->st_size, (uint64_t)st->st_blocks * 512);
	if (fstatat(dir, to.name, &made, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	return add_origin(c->origins, &made, st);
}

static int check_limits(struct copying *c)
{
	if (c->origins->n <= c->limits->entries && c->origins->bytes <= c->limits->bytes)
		return 0;
	return base_error(c->err, AIRLOCK_ERR_LIMIT, "copy", c->root, "%s is too large to be copied", c->root);
}

static int close_up(struct copy_level *l)
{
	int rc = l->pinned_fd >= 0 ? upper_chmod(l->pinned_fd, l->st.st_mode) : 0;
	base_closep(&l->pinned_fd);
	return rc;
}

/* A directory of ours that we may not look into. */
static int open_up(struct copying *c, struct copy_level *l)
{
	if ((l->st.st_mode & 0500) == 0500)
		return -EACCES;
	l->pinned_fd = upper_pin(fs_walk_dirfd(&c->w), c->w.name, &l->st);
	int rc = l->pinned_fd < 0 ? l->pinned_fd : upper_chmod(l->pinned_fd, l->st.st_mode | 0500);
	return rc == -EPERM ? -EACCES : rc;
}

static int enter(struct copying *c, const struct stat *st)
{
	if (!ARRAY_ROOM(c->stack, c->depth, c->cap, 32))
		return -ENOMEM;
	struct copy_level *l = &c->stack[c->depth];
	*l = (struct copy_level){.st = *st, .pinned_fd = -EBADF};
	int rc = fs_walk_enter(&c->w);
	if (rc == -EACCES) {
		rc = open_up(c, l);
		rc = rc < 0 ? rc : fs_walk_enter(&c->w);
	}
	if (rc < 0)
		(void)close_up(l);
	else
		c->depth++;
	return rc;
}

/* Leave out what we may not read: the command could not read it either, and the scan knows that it is left out. */
static void leave_out(struct copying *c, const char *path)
{
	struct copy_origins *o = c->origins;
	size_t n = strlen(path), fits = sizeof o->unread_of - 1;
	if (o->unread++ == 0)
		(void)snprintf(o->unread_of, sizeof o->unread_of, "%s", path + (n > fits ? n - fits : 0));
}

static int on_entry(struct copying *c, bool is_dir)
{
	struct stat st;
	const char *path = fs_walk_path(&c->w);
	if (!path)
		return base_oom(c->err);
	if (fstatat(fs_walk_dirfd(&c->w), c->w.name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : fail(c, -errno, "lstat"); /* gone meanwhile */
	int rc = remember_path(c, path);
	rc = rc < 0 ? rc : copy_one(c, &st, path);
	if (rc == -ENOENT && fstatat(fs_walk_dirfd(&c->w), c->w.name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (rc == -EACCES && c->mirror) {
		c->origins->n_paths--;
		leave_out(c, path);
		return 0;
	}
	if (rc < 0)
		return fail(c, rc, "copy");
	rc = check_limits(c);
	if (rc < 0 || !is_dir)
		return rc;
	rc = enter(c, &st);
	if (rc == -EACCES && c->mirror) {
		leave_out(c, path);
		return 0;
	}
	return rc < 0 ? fail(c, rc, "open") : 0;
}

/* Filling it changed the copy's time; looking into it needed another mode. */
static int on_leave(struct copying *c)
{
	struct copy_level *l = &c->stack[--c->depth];
	int rc = close_up(l);
	const char *name, *path = fs_walk_path(&c->w);
	if (!path)
		return base_oom(c->err);
	_cleanup_close_ int dir = fs_open_parent(c->to_fd, path, &name);
	struct timespec times[2] = {l->st.st_atim, l->st.st_mtim};
	bool closed = c->mirror && (l->st.st_mode & 0700) != 0700;
	if (rc == 0 && closed && dir >= 0 && fchmodat(dir, name, l->st.st_mode & 07777, 0) < 0)
		rc = -errno;
	if (rc == 0 && (dir < 0 || utimensat(dir, name, times, AT_SYMLINK_NOFOLLOW) < 0))
		rc = dir < 0 ? dir : -errno;
	return rc < 0 ? fail(c, rc, "copy") : 0;
}

static int copy_all(struct copying *c)
{
	for (;;) {
		int event = fs_walk_next(&c->w);
		if (event == FS_WALK_END)
			return 0;
		if (event < 0)
			return fail(c, event, "read");
		int rc = event == FS_WALK_LEAVE ? on_leave(c) : on_entry(c, event == FS_WALK_DIR);
		if (rc < 0)
			return rc;
	}
}

/* After a failure each directory that was opened up gets its mode back. */
static void unwind(struct copying *c)
{
	while (c->depth > 0)
		(void)close_up(&c->stack[--c->depth]);
}

static void count_outside(const void *node, VISIT visit, void *context)
{
	const struct linked *l = *(const struct linked *const *)node;
	struct copy_origins *o = context;
	if ((visit != postorder && visit != leaf) || l->seen >= l->names)
		return;
	size_t n = strlen(l->path), fits = sizeof o->outside_of - 1;
	if (o->outside++ == 0)
		(void)snprintf(o->outside_of, sizeof o->outside_of, "%s", l->path + (n > fits ? n - fits : 0));
}

/* The root itself: its attributes are put back after the run, whatever becomes of the rest. */
static int copy_top(struct copying *c, int fd)
{
	struct stat st, made;
	if (fstat(fd, &st) < 0 || fstat(c->to_fd, &made) < 0)
		return -errno;
	int rc = transfer_xattrs(fd, c->to_fd);
	return rc < 0 ? rc : add_origin(c->origins, &made, &st);
}

static int set_top_time(struct copying *c, const struct stat *st)
{
	struct timespec times[2] = {st->st_atim, st->st_mtim};
	return futimens(c->to_fd, times) < 0 ? -errno : 0;
}

static int take(struct copying *c, const char *to)
{
	struct stat st;
	int fd = open(c->root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	c->to_fd = open(to, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || c->to_fd < 0 || fstat(fd, &st) < 0) {
		int rc = base_errno(c->err, AIRLOCK_ERR_IO, errno, "open", fd < 0 ? c->root : to);
		base_closep(&fd);
		return rc;
	}
	int rc = copy_top(c, fd);
	if (rc < 0)
		base_closep(&fd);
	else
		rc = fs_walk_start(&c->w, fd);
	if (rc < 0)
		return fail(c, rc, "open");
	rc = copy_all(c);
	if (rc < 0)
		unwind(c);
	if (rc < 0)
		return rc;
	rc = set_top_time(c, &st);
	return rc < 0 ? base_errno(c->err, AIRLOCK_ERR_IO, rc, "set the time of", to) : 0;
}

static int take_all(struct copying *c, const char *to)
{
	struct copy_origins *o = c->origins;
	int rc = take(c, to);
	if (c->linked)
		twalk_r(c->linked, count_outside, o);
	if (o->n > 1)
		qsort(o->v, o->n, sizeof *o->v, compare_origins);
	if (o->n_paths > 1)
		qsort(o->paths, o->n_paths, sizeof *o->paths, compare_sums);
	tdestroy(c->linked, free_linked);
	fs_walk_done(&c->w);
	base_closep(&c->to_fd);
	free(c->stack);
	return rc;
}

int copy_take(const char *root, const char *to, const struct copy_limits *limits, struct copy_origins *origins,
	      struct airlock_error *err)
{
	struct copying c = {.root = root, .to_fd = -EBADF, .limits = limits, .origins = origins, .err = err};
	return take_all(&c, to);
}

int copy_take_mirror(const char *root, const char *to, size_t number, const struct copy_limits *limits,
		     struct copy_origins *origins, struct airlock_error *err)
{
	struct copying c = {.root = root,
			    .to_fd = -EBADF,
			    .limits = limits,
			    .mirror = true,
			    .number = number,
			    .origins = origins,
			    .err = err};
	return take_all(&c, to);
}

/* ── Measuring ── */

/* Whether a file's bytes can be shared with one in the directory. */
static bool can_share(int dirfd, const char *name, const char *state_dir)
{
	_cleanup_close_ int from = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	_cleanup_close_ int to = open(state_dir, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	return from >= 0 && to >= 0 && ioctl(to, FICLONE, from) == 0;
}

int copy_measure(const char *root, const char *state_dir, struct copy_size *total, struct airlock_error *err)
{
	_cleanup_walk_ struct fs_walk w = FS_WALK_INIT;
	_cleanup_inodes_ struct fs_inodes seen = FS_INODES_INIT;
	bool tried = false, shares = false;
	int fd = open(root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int event = fd < 0 ? -errno : fs_walk_start(&w, fd);
	while (event >= 0 && (event = fs_walk_next(&w)) > 0) {
		struct stat st;
		if (event == FS_WALK_LEAVE)
			continue;
		total->entries++;
		if (event == FS_WALK_DIR)
			(void)fs_walk_enter(&w); /* copying says what is wrong with it */
		else if (fstatat(fs_walk_dirfd(&w), w.name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
			 st.st_size > 0) {
			if (!tried)
				shares = can_share(fs_walk_dirfd(&w), w.name, state_dir);
			tried = true;
			if (!shares && (st.st_nlink == 1 || fs_inodes_add(&seen, st.st_dev, st.st_ino)))
				total->bytes += AL_MIN((uint64_t)st.st_size, (uint64_t)st.st_blocks * 512);
		}
	}
	return event < 0 ? base_errno(err, AIRLOCK_ERR_IO, event, "read", root) : 0;
}
