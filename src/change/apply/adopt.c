/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a command has written straight into a root, as if it had been applied: each change gets its slot in before/ with what
 * the copy has kept, and the layer gets the directories that undoing puts things into. From then on apply, undo, redo, diff
 * and recovery know nothing of copies.
 *
 * Everything is made beside what is there: linked from the copy, not moved. So a crash before the record is saved leaves
 * the copy whole, and this is done again from the beginning.
 */
#include "change/scan/copy.h"

#include "base/path.h"
#include "change/apply/apply_tx.h"
#include "change/transfer.h"
#include "fs/beneath.h"
#include "fs/fs.h"
#include "fs/walk.h"
#include "layer/upper.h"

#include <fcntl.h>
#include <string.h>

/* A live directory that was closed to its owner, and its mode. */
struct opened {
	int fd; /* O_PATH */
	uint32_t mode;
};

struct adopting {
	struct change_set *set;
	int run_fd, before_fd;
	struct adopted_place {
		int live, copy, upper;
	} * roots;
	struct opened *opened; /* parents first */
	size_t n_opened;
	struct returns returns;
	char *dir; /* whose ancestors were looked at last */
	size_t dir_root;
	struct airlock_error *err;
};

static int fail(struct adopting *a, int rc, const char *op, const struct change *c)
{
	return rc == -ENOMEM ? base_oom(a->err) : base_errno(a->err, AIRLOCK_ERR_IO, rc, op, c->path);
}

/* ── Closed directories ── */

/* Opened up until all is adopted: no step of a transaction is near, and a crash only leaves the owner's own access. */
static int open_up(struct adopting *a, int fd)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return -errno;
	if ((st.st_mode & 0500) == 0500)
		return 0;
	struct opened *v = reallocarray(a->opened, a->n_opened + 1, sizeof *v);
	if (!v)
		return -ENOMEM;
	a->opened = v;
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	int rc = own < 0 ? -errno : apply_chmod_fd(fd, (uint32_t)st.st_mode | 0700);
	if (rc < 0)
		base_closep(&own);
	else
		v[a->n_opened++] = (struct opened){own, st.st_mode & 07777};
	return rc;
}

static void close_again(struct adopting *a)
{
	while (a->n_opened > 0) {
		struct opened *o = &a->opened[--a->n_opened];
		(void)apply_chmod_fd(o->fd, o->mode);
		base_closep(&o->fd);
	}
	base_freep(&a->opened);
}

/* As fs_open_parent, of a live path, whatever the modes on the way. */
static int live_parent(struct adopting *a, size_t root, const char *path, const char **ret_name)
{
	struct stat st;
	const char *slash;
	int found = fs_open_parent(a->roots[root].live, path, ret_name);
	if (found >= 0 && (fstatat(found, *ret_name, &st, AT_SYMLINK_NOFOLLOW) == 0 || errno != EACCES))
		return found;
	if (found < 0 && found != -EACCES)
		return found;
	base_closep(&found);
	_cleanup_close_ int fd = fcntl(a->roots[root].live, F_DUPFD_CLOEXEC, 3);
	int rc = fd < 0 ? -errno : 0;
	while (rc == 0 && (slash = strchr(path, '/'))) {
		_cleanup_free_ char *part = strndup(path, (size_t)(slash - path));
		int next = part ? fs_open_dir_at(fd, part, O_PATH) : -ENOMEM;
		if (next < 0)
			return next;
		base_closep(&fd);
		fd = next;
		rc = open_up(a, fd);
		path = slash + 1;
	}
	*ret_name = path;
	return rc < 0 ? rc : TAKE_FD(fd);
}

static int look_live(struct adopting *a, size_t root, const char *path, struct stat *ret)
{
	const char *name;
	if (*path == '\0')
		return fstat(a->roots[root].live, ret) < 0 ? -errno : 0;
	_cleanup_close_ int dir = live_parent(a, root, path, &name);
	if (dir < 0)
		return dir;
	return fstatat(dir, name, ret, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}

/* ── What was there ── */

/* The image of a file is its copy under another name. It gets the mode that the original had. */
static int link_image(struct adopting *a, const struct change *c, struct transfer_place from, const char *slot)
{
	struct stat st;
	if (linkat(from.dirfd, from.name, a->before_fd, slot, 0) < 0)
		return -errno;
	if (fstatat(a->before_fd, slot, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || (st.st_mode & 07777) == c->before.mode)
		return 0;
	_cleanup_close_ int fd = openat(a->before_fd, slot, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : apply_chmod_fd(fd, c->before.mode);
}

static int make_image(struct adopting *a, struct change *c)
{
	struct stat st;
	struct transfer_place from = {0};
	struct change_slot slot = change_slot_name(c->slot + (c->from != NULL));
	if (c->before.type == CHANGE_NOTHING)
		return 0;
	_cleanup_close_ int dir = fs_open_parent(a->roots[c->root].copy, c->from ? c->from : c->path, &from.name);
	from.dirfd = dir;
	if (dir < 0 || fstatat(dir, from.name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return dir < 0 ? dir : -errno;
	/* Who knew the original knows it again when it comes back (returns.h). */
	const struct copy_origin *was = copy_find(a->set->origins, st.st_ino);
	if (was) {
		c->before.inode = was->from_inode;
		c->before.ctime_ns = was->from_ctime_ns;
	}
	return S_ISDIR(st.st_mode) ? transfer_copy(from, (struct transfer_place){a->before_fd, slot.text}, -1)
				   : link_image(a, c, from, slot.text);
}

/* ── What is there ── */

/* Comparing and judging may have opened up an entry for a moment, which its ctime tells. */
static int look_again(struct adopting *a, struct change *c)
{
	struct stat st;
	if (c->after.type == CHANGE_NOTHING)
		return 0;
	int rc = look_live(a, c->root, c->path, &st);
	if (rc < 0)
		return rc == -ENOENT || rc == -ENOTDIR || rc == -ELOOP
			       ? 0
			       : rc; /* somebody is at work; undoing finds that */
	struct change_stat now = change_stat_of(&st);
	if (now.type == CHANGE_DIRECTORY && now.type == c->after.type)
		now.mode = c->after.mode; /* it may be open now */
	if (now.type == c->after.type && now.inode == c->after.inode && now.mtime_ns == c->after.mtime_ns)
		c->after = now;
	return 0;
}

/* Remove overlay's xattrs: in the next run they would hide the entries that carry them. */
static int strip(struct adopting *a, const struct change *c)
{
	const char *name;
	if (c->after.type != CHANGE_FILE && c->after.type != CHANGE_DIRECTORY)
		return 0;
	_cleanup_close_ int dir = live_parent(a, c->root, c->path, &name);
	_cleanup_close_ int fd = dir < 0 ? dir : openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	int rc = fd < 0 ? 0 : upper_strip_xattrs(fd);
	return rc < 0 && rc != -EPERM && rc != -EACCES ? rc : 0;
}

/* The directory of the layer that holds path, made with all above it. */
static int layer_parent(int upper, const char *path, const char **ret_name)
{
	_cleanup_close_ int fd = fcntl(upper, F_DUPFD_CLOEXEC, 3);
	_cleanup_free_ char *part = NULL;
	const char *slash;
	while (fd >= 0 && (slash = strchr(path, '/'))) {
		base_freep(&part);
		part = strndup(path, (size_t)(slash - path));
		if (!part)
			return -ENOMEM;
		bool made = mkdirat(fd, part, 0700) == 0; /* less where a default ACL above says so */
		if (made ? fchmodat(fd, part, 0700, 0) < 0 : errno != EEXIST)
			return -errno;
		int next = fs_open_dir_at(fd, part, O_PATH);
		if (next < 0)
			return next;
		base_closep(&fd);
		fd = next;
		path = slash + 1;
	}
	*ret_name = path;
	return fd < 0 ? -errno : TAKE_FD(fd);
}

/* Directories come before what is in them, so that each is made once and with its own attributes. */
static int make_layer_dir(struct adopting *a, const struct change *c)
{
	struct transfer_place from = {0}, to = {0};
	if (c->after.type == CHANGE_NOTHING)
		return 0;
	_cleanup_close_ int dir = layer_parent(a->roots[c->root].upper, c->path, &to.name);
	if (dir < 0 || c->after.type != CHANGE_DIRECTORY)
		return dir < 0 ? dir : 0;
	_cleanup_close_ int live = live_parent(a, c->root, c->path, &from.name);
	if (live < 0)
		return live == -ENOENT ? 0 : live;
	to.dirfd = dir;
	from.dirfd = live;
	int rc = transfer_copy(from, to, (int)c->after.mode | 0700);
	return rc == -EEXIST || rc == -ENOENT ? 0 : rc;
}

/* ── Directories' times ── */

static int look_copy(const struct adopting *a, size_t root, const char *path, struct stat *ret)
{
	int fd = a->roots[root].copy;
	return *path ? fs_stat_beneath(fd, path, ret) : fstat(fd, ret) < 0 ? -errno : 0;
}

static int64_t time_of(int rc, const struct stat *st)
{
	return rc == 0 && S_ISDIR(st->st_mode) ? change_stat_of(st).mtime_ns : APPLY_NO_TIME;
}

static int add_dir(struct adopting *a, size_t root, char *path)
{
	struct stat was, now;
	if (!path)
		return -ENOMEM;
	int64_t without = time_of(look_copy(a, root, path, &was), &was);
	int64_t with = time_of(look_live(a, root, path, &now), &now);
	return change_set_take_dir(a->set, root, path, without, with);
}

/* Treat a directory that the command removed and made again as the same one; otherwise it would look foreign when the
 * changes are applied again. */
static int note_made_anew(struct adopting *a, size_t root, const char *path)
{
	struct stat was, now;
	const char *name;
	if (look_copy(a, root, path, &was) < 0 || look_live(a, root, path, &now) < 0)
		return 0;
	const struct copy_origin *from = copy_find(a->set->origins, was.st_ino);
	if (!from || !S_ISDIR(was.st_mode) || !S_ISDIR(now.st_mode))
		return 0;
	_cleanup_close_ int dir = live_parent(a, root, path, &name);
	_cleanup_close_ int fd = dir < 0 ? dir : fs_open_dir_at(dir, name, O_PATH);
	struct returned one = {.directory = true, .from_inode = from->from_inode, .to_inode = now.st_ino};
	one.to_ns = fd < 0 ? 0 : returns_birth(fd);
	/* made anew it may have got the same number */
	bool anew = one.to_inode != one.from_inode || one.to_ns > a->set->started_ns;
	return anew ? returns_add(&a->returns, &one) : 0;
}

/* Neighbours have the same directories above them. */
static int look_at_ancestors(struct adopting *a, size_t root, const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t len = slash ? (size_t)(slash - path) : 0;
	if (a->dir && a->dir_root == root && strlen(a->dir) == len && memcmp(a->dir, path, len) == 0)
		return 0;
	free(a->dir);
	a->dir = strndup(path, len);
	a->dir_root = root;
	int rc = a->dir ? 0 : -ENOMEM;
	for (size_t n = 0; rc == 0 && n < len; n++) {
		n += strcspn(path + n, "/");
		_cleanup_free_ char *above = strndup(path, n);
		rc = above ? note_made_anew(a, root, above) : -ENOMEM;
	}
	return rc;
}

static char *parent_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	return strndup(path, slash ? (size_t)(slash - path) : 0);
}

static int add_dirs_of(struct adopting *a, const struct change *c)
{
	int rc = add_dir(a, c->root, parent_of(c->path));
	rc = rc < 0 ? rc : look_at_ancestors(a, c->root, c->path);
	if (rc == 0 && c->from)
		rc = add_dir(a, c->root, parent_of(c->from));
	if (rc == 0 && (c->before.type == CHANGE_DIRECTORY || c->after.type == CHANGE_DIRECTORY))
		rc = add_dir(a, c->root, strdup(c->path));
	return rc;
}

static int compare_dirs(const void *x, const void *y)
{
	const struct change_dir *a = x, *b = y;
	if (a->root != b->root)
		return a->root < b->root ? -1 : 1;
	return path_compare(a->path, b->path);
}

static void sort_dirs(struct change_set *set)
{
	size_t kept = 0;
	if (set->n_dirs > 1)
		qsort(set->dirs, set->n_dirs, sizeof *set->dirs, compare_dirs);
	for (size_t i = 0; i < set->n_dirs; i++) {
		if (kept && compare_dirs(&set->dirs[kept - 1], &set->dirs[i]) == 0)
			free(set->dirs[i].path);
		else
			set->dirs[kept++] = set->dirs[i];
	}
	set->n_dirs = kept;
}

/* ── The roots themselves ── */

/* A root's own attributes are never a change; with a layer the command would have changed only that one's. Its time follows
 * from what was done in it, and when that was nothing, it was set. */
static int restore_root(struct adopting *a, size_t root)
{
	const struct adopted_place *p = &a->roots[root];
	struct stat now, was;
	bool busy = false;
	if (fstat(p->live, &now) < 0 || fstat(p->copy, &was) < 0)
		return -errno;
	copy_true_mode(a->set->origins, &was);
	for (size_t i = 0; i < a->set->n; i++)
		busy |= a->set->v[i].root == root && (!strchr(a->set->v[i].path, '/') || a->set->v[i].from);
	int rc = 0;
	if (copy_find(a->set->origins, was.st_ino) && (now.st_mode & 07777) != (was.st_mode & 07777))
		rc = apply_chmod_fd(p->live, was.st_mode & 07777);
	rc = rc < 0 ? rc : transfer_xattrs(p->copy, p->live);
	if (rc == 0 && !busy && change_stat_of(&now).mtime_ns != change_stat_of(&was).mtime_ns)
		rc = apply_set_mtime_fd(p->live, change_stat_of(&was).mtime_ns);
	return rc;
}

/* If only the time of a directory differs, put the old time back: no change reports it, so nobody could undo it.
 * Leave it alone if somebody else changed it since. */
static int restore_idle(struct adopting *a, const struct change_dir *d)
{
	const char *name;
	struct stat now;
	_cleanup_close_ int dir = live_parent(a, d->root, d->path, &name);
	_cleanup_close_ int fd = dir < 0 ? dir : fs_open_dir_at(dir, name, O_RDONLY);
	if (fd < 0 || fstat(fd, &now) < 0 || change_stat_of(&now).mtime_ns != d->with_ns)
		return 0;
	return apply_set_mtime_fd(fd, d->without_ns);
}

/* ── All of it ── */

static int adopt_one(struct adopting *a, size_t i)
{
	struct change *c = &a->set->v[i];
	c->slot = 2 * i + 1;
	int rc = make_image(a, c);
	if (rc < 0)
		return fail(a, rc, "keep", c);
	rc = strip(a, c);
	rc = rc < 0 ? rc : look_again(a, c);
	rc = rc < 0 ? rc : make_layer_dir(a, c);
	rc = rc < 0 ? rc : add_dirs_of(a, c);
	if (rc < 0)
		return fail(a, rc, "adopt", c);
	c->state = CHANGE_APPLIED;
	return 0;
}

static int open_top(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 && errno == EACCES ? open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : fd;
}

static int open_roots(struct adopting *a)
{
	for (size_t i = 0; i < a->set->n_roots; i++) {
		const struct change_root *r = &a->set->roots[i];
		a->roots[i] = (struct adopted_place){open_top(r->path), open_top(r->copy), open_top(r->upper)};
		if (a->roots[i].live < 0 || a->roots[i].copy < 0 || a->roots[i].upper < 0)
			return base_errno(a->err, AIRLOCK_ERR_IO, errno, "open", r->path);
	}
	return 0;
}

/* Replace what a killed attempt left there. */
static int open_before(struct adopting *a, const char *run_dir)
{
	int run = a->run_fd = open(run_dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (run < 0)
		return base_errno(a->err, AIRLOCK_ERR_IO, errno, "open", run_dir);
	int rc = fs_remove_tree_at(run, "before", NULL, a->err);
	if (rc < 0 && rc != AIRLOCK_ERR_NOT_FOUND)
		return rc;
	if (a->err && rc < 0)
		base_error_clear(a->err);
	if (mkdirat(run, "before", 0700) == 0 && fchmodat(run, "before", 0700, 0) == 0)
		a->before_fd = fs_open_dir_at(run, "before", O_RDONLY);
	return a->before_fd < 0 ? base_errno(a->err, AIRLOCK_ERR_IO, errno, "mkdir", "before") : 0;
}

static int adopt(struct adopting *a, const char *run_dir)
{
	int rc = open_roots(a);
	rc = rc < 0 ? rc : open_before(a, run_dir);
	for (size_t i = 0; rc == 0 && i < a->set->n; i++)
		rc = adopt_one(a, i);
	for (size_t i = 0; rc == 0 && i < a->set->n_idle; i++) {
		rc = restore_idle(a, &a->set->idle[i]);
		rc = rc < 0 ? base_errno(a->err, AIRLOCK_ERR_IO, rc, "restore", a->set->idle[i].path) : 0;
	}
	sort_dirs(a->set);
	close_again(a);
	if (rc == 0)
		returns_save(&a->returns, a->run_fd);
	for (size_t i = 0; rc == 0 && i < a->set->n_roots; i++) {
		rc = restore_root(a, i);
		rc = rc < 0 ? base_errno(a->err, AIRLOCK_ERR_IO, rc, "restore", a->set->roots[i].path) : 0;
	}
	/* Sync before the record is saved: what the record names must be on the disk. The content has been there
	 * since before the run (I4). */
	if (rc == 0 && a->set->n > 0 && fsync(a->before_fd) < 0 && errno != EINVAL)
		rc = base_errno(a->err, AIRLOCK_ERR_IO, errno, "fsync", "before");
	return rc;
}

int copy_adopt(struct change_set *set, const char *run_dir, struct airlock_error *err)
{
	struct adopting a = {.set = set, .run_fd = -EBADF, .before_fd = -EBADF, .err = err};
	a.roots = calloc(set->n_roots + 1, sizeof *a.roots);
	if (!a.roots)
		return base_oom(err);
	for (size_t i = 0; i < set->n_roots; i++)
		a.roots[i] = (struct adopted_place){-EBADF, -EBADF, -EBADF};
	int rc = adopt(&a, run_dir);
	for (size_t i = 0; i < set->n_roots; i++) {
		base_closep(&a.roots[i].live);
		base_closep(&a.roots[i].copy);
		base_closep(&a.roots[i].upper);
	}
	base_closep(&a.before_fd);
	base_closep(&a.run_fd);
	returns_done(&a.returns);
	free(a.roots);
	free(a.dir);
	return rc;
}

void copy_settle_images(struct change_set *set, const char *run_dir)
{
	_cleanup_free_ char *dir = path_join(run_dir, "before");
	_cleanup_close_ int fd = dir ? open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -EBADF;
	for (size_t i = 0; fd >= 0 && i < set->n; i++) {
		struct change *c = &set->v[i];
		struct change_stat st;
		if (c->state == CHANGE_APPLIED && c->slot && c->before.type != CHANGE_NOTHING &&
		    change_stat_at(fd, change_slot_name(c->slot + (c->from != NULL)).text, &st) == 0)
			c->image_ns = st.ctime_ns;
	}
}
