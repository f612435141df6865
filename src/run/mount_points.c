/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/mount_points.h"

#include "base/path.h"
#include "fs/fs.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#define LOCK_TRIES 100

/* ── Which ── */

/* Does nothing but the workspace lie below this mount? */
static bool lies_on_root(const struct plan *plan, const struct plan_mount *m)
{
	const struct plan_mount *cover = NULL;
	for (const struct plan_mount *c = plan->mounts; c < m; c++)
		if (path_is_beneath(m->target, c->target))
			cover = c;
	return m->kind != PLAN_SEAL && m != plan->mounts && cover == plan->mounts;
}

/* The directory above; *opened is to be closed. Most lie in the workspace itself: nothing is opened for them. */
static int open_parent(int root_fd, const char *path, const char **ret_name, int *opened)
{
	int fd = root_fd;
	*ret_name = path;
	for (const char *slash; (slash = strchr(path, '/')); path = slash + 1) {
		_cleanup_free_ char *name = strndup(path, (size_t)(slash - path));
		int next = name ? openat(fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
		if (next < 0)
			return name ? -errno : -ENOMEM;
		base_closep(opened);
		*opened = fd = next;
	}
	*ret_name = path;
	return fd;
}

/* ── Making ── */

static int in_the_way(const char *dir, const char *path, struct airlock_error *err)
{
	base_error(err, AIRLOCK_ERR_INVALID, "workspace", path,
		   "%s in the workspace %s is of the wrong type for a mount point", path, dir);
	return base_hint(err, "airlock mounts the system's /%s there; rename yours", path);
}

static bool is_usable(const struct stat *st, bool directory)
{
	return S_ISDIR(st->st_mode) == directory && !S_ISLNK(st->st_mode);
}

/* 1: it was made now. */
static int make_one(int root_fd, const char *path, bool directory)
{
	const char *name;
	struct stat st;
	_cleanup_close_ int opened = -EBADF;
	int parent = open_parent(root_fd, path, &name, &opened);
	if (parent < 0)
		return parent;
	if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return is_usable(&st, directory) ? 0 : -ENOTDIR;
	if (directory ? mkdirat(parent, name, 0755) == 0 : mknodat(parent, name, S_IFREG | 0644, 0) == 0)
		return 1;
	int rc = -errno;
	/* Another run may have been faster. */
	if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return rc;
	return is_usable(&st, directory) ? 0 : -ENOTDIR;
}

static int make_all_of(struct mount_points *m, const char *path, bool directory, const char *dir,
		       struct airlock_error *err)
{
	for (size_t end = strcspn(path, "/");; end += 1 + strcspn(path + end + 1, "/")) {
		bool last = path[end] == '\0';
		_cleanup_free_ char *part = strndup(path, end);
		if (!part)
			return base_oom(err);
		int rc = make_one(m->dir_fd, part, !last || directory);
		if (rc == -ENOTDIR || rc == -ELOOP)
			return in_the_way(dir, part, err);
		if (rc < 0) {
			base_errno(err, AIRLOCK_ERR_INIT_FAILED, rc, "mkdir", part);
			return base_hint(
				err, "airlock makes empty directories in a workspace for as long as a command runs");
		}
		if (!strs_has(&m->paths, part))
			strs_add(&m->paths, part);
		if (rc == 1)
			strs_add(&m->made, part);
		if (m->paths.failed || m->made.failed)
			return base_oom(err);
		if (last)
			return 0;
	}
}

static void mark_made(struct mount_points *m)
{
	const struct timespec mark = {.tv_sec = FS_MOUNT_POINT_SECONDS}, times[2] = {mark, mark};
	for (size_t i = 0; i < m->made.n; i++) {
		const char *name;
		_cleanup_close_ int opened = -EBADF;
		int parent = open_parent(m->dir_fd, m->made.v[i], &name, &opened);
		if (parent >= 0)
			(void)utimensat(parent, name, times, AT_SYMLINK_NOFOLLOW);
	}
}

/* Every run in the workspace holds this lock shared; removal takes it exclusively, for a moment. */
static bool lock_shared(int fd)
{
	const struct timespec pause = {.tv_nsec = 10000000};
	for (int i = 0; i < LOCK_TRIES; i++) {
		if (flock(fd, LOCK_SH | LOCK_NB) == 0)
			return true;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return false;
		(void)nanosleep(&pause, NULL);
	}
	return false;
}

static bool is_directory(const struct plan_mount *p)
{
	struct stat st;
	return !p->source || stat(p->source, &st) < 0 || S_ISDIR(st.st_mode);
}

int mount_points_make(struct mount_points *m, const struct plan *plan, const char *dir, struct airlock_error *err)
{
	m->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (m->dir_fd < 0)
		return base_errno(err, AIRLOCK_ERR_IO, errno, "open", dir);
	m->active = true;
	m->locked = lock_shared(m->dir_fd);
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < plan->n_mounts; i++)
		if (lies_on_root(plan, &plan->mounts[i]))
			rc = make_all_of(m, plan->mounts[i].target + 1, is_directory(&plan->mounts[i]), dir, err);
	mark_made(m);
	if (rc < 0)
		mount_points_remove(m);
	return rc;
}

/* ── Removing ── */

static void remove_one(int root_fd, const char *path, const struct stat *was)
{
	const char *name;
	_cleanup_close_ int opened = -EBADF;
	int parent = open_parent(root_fd, path, &name, &opened);
	if (parent >= 0) /* only goes when it is empty */
		(void)unlinkat(parent, name, S_ISDIR(was->st_mode) ? AT_REMOVEDIR : 0);
}

/* Compare times before removing anything: a removal changes the time of the directory above. */
static void remove_marked(struct mount_points *m)
{
	_cleanup_free_ struct stat *st = calloc(m->paths.n + 1, sizeof *st);
	for (size_t i = 0; st && i < m->paths.n; i++) {
		const char *name;
		_cleanup_close_ int opened = -EBADF;
		int parent = open_parent(m->dir_fd, m->paths.v[i], &name, &opened);
		if (parent < 0 || fstatat(parent, name, &st[i], AT_SYMLINK_NOFOLLOW) < 0)
			st[i] = (struct stat){0};
	}
	for (size_t i = m->paths.n; st && i > 0; i--)
		if (fs_is_mount_point(&st[i - 1]))
			remove_one(m->dir_fd, m->paths.v[i - 1], &st[i - 1]);
}

void mount_points_leave(struct mount_points *m)
{
	if (!m->active)
		return;
	base_closep(&m->dir_fd);
	strs_done(&m->paths);
	strs_done(&m->made);
	m->active = false;
}

void mount_points_remove(struct mount_points *m)
{
	if (m->active && m->locked && flock(m->dir_fd, LOCK_EX | LOCK_NB) == 0) {
		remove_marked(m);
		(void)flock(m->dir_fd, LOCK_UN); /* a child of this program may have the descriptor for longer */
	}
	mount_points_leave(m);
}
