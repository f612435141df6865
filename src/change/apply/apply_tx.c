/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "change/apply/apply_tx.h"

#include "base/array.h"
#include "base/path.h"
#include "base/text.h"
#include "change/same_root.h"
#include "fs/beneath.h"
#include "fs/walk.h"
#include "layer/upper.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <time.h>

static void nearby_done(struct apply_nearby *n)
{
	base_freep(&n->dir);
	base_closep(&n->fd);
}

void apply_forget_nearby(struct apply_tx *tx)
{
	for (size_t i = 0; i < tx->n_roots; i++) {
		nearby_done(&tx->roots[i].live_near);
		nearby_done(&tx->roots[i].layer_near);
	}
}

void apply_tx_done(struct apply_tx *tx)
{
	apply_forget_nearby(tx);
	for (size_t i = 0; i < tx->n_ops; i++) {
		free(tx->ops[i].path);
		free(tx->ops[i].link);
	}
	for (size_t i = 0; i < tx->n_dirs; i++)
		free(tx->dirs[i].path);
	for (size_t i = 0; i < tx->n_roots; i++) {
		struct apply_root *r = &tx->roots[i];
		free(r->path);
		free(r->upper);
		base_closep(&r->live_fd);
		base_closep(&r->upper_fd);
		base_closep(&r->stage_fd);
	}
	base_closep(&tx->run_fd);
	base_closep(&tx->before_fd);
	base_freep(&tx->ops);
	base_freep(&tx->dirs);
	base_freep(&tx->roots);
	base_freep(&tx->run);
	base_freep(&tx->lock_dir);
	tx->n_ops = tx->n_dirs = tx->n_roots = 0;
}

int apply_tx_add_root(struct apply_tx *tx, const struct apply_root *root)
{
	struct apply_root *v = reallocarray(tx->roots, tx->n_roots + 1, sizeof *v);
	char *path = strdup(root->path), *upper = strdup(root->upper);
	if (v)
		tx->roots = v;
	if (!v || !path || !upper) {
		free(path);
		free(upper);
		return -ENOMEM;
	}
	v[tx->n_roots] = *root;
	v[tx->n_roots].path = path;
	v[tx->n_roots].upper = upper;
	v[tx->n_roots].live_fd = v[tx->n_roots].upper_fd = v[tx->n_roots].stage_fd = -EBADF;
	v[tx->n_roots].live_near = v[tx->n_roots].layer_near = (struct apply_nearby){.fd = -EBADF};
	tx->n_roots++;
	return 0;
}

/* ── Opening ── */

/* Some file systems (sshfs) number their inodes anew each time they are mounted. What an interrupted transaction has put
 * into the root, under a name that only this run has, says that this is the one. */
static bool has_our_stage(const struct apply_tx *tx, const struct apply_root *r)
{
	char name[256];
	struct stat st;
	(void)snprintf(name, sizeof name, APPLY_STAGE_PREFIX "%s", tx->run);
	return tx->recovering && r->copy && fstatat(r->live_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

/* A file system without a device of its own (NFS, FUSE) gets another number each time it is mounted. The journal of an
 * interrupted transaction must be finished all the same: nothing can be applied there before. */
static bool is_mounted_again(const struct apply_tx *tx, const struct apply_root *r, const struct stat *st)
{
	return tx->recovering && r->copy && st->st_ino == r->inode && major(st->st_dev) == 0 && major(r->device) == 0;
}

static int open_live(const struct apply_tx *tx, struct apply_root *r, int64_t oldest_ns, struct airlock_error *err)
{
	struct stat st;
	r->live_fd = open(r->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (r->live_fd < 0 && errno == EACCES)
		r->live_fd = open(r->path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (r->live_fd < 0 && errno != ENOENT && errno != ENOTDIR && errno != ELOOP)
		return base_errno(err, AIRLOCK_ERR_IO, errno, "open", r->path);
	if (r->live_fd >= 0 && fstat(r->live_fd, &st) < 0)
		return base_errno(err, AIRLOCK_ERR_IO, errno, "fstat", r->path);
	const struct same_root_key key = {r->device, r->inode, oldest_ns};
	bool same = r->live_fd >= 0 &&
		    (same_root(r->live_fd, &st, &key) || has_our_stage(tx, r) || is_mounted_again(tx, r, &st));
	if (!same)
		return base_error(err, AIRLOCK_ERR_CONFLICT, "open", r->path,
				  "%s is no longer the directory in which the command ran", r->path);
	r->made_up_inodes = has_made_up_inodes(r->live_fd);
	return 0;
}

static int open_root(struct apply_tx *tx, struct apply_root *r, int64_t oldest_ns, struct airlock_error *err)
{
	int rc = open_live(tx, r, oldest_ns, err);
	if (rc < 0)
		return rc;
	r->upper_fd = open(r->upper, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (r->upper_fd < 0)
		return base_errno(err, errno == ENOENT ? AIRLOCK_ERR_NOT_FOUND : AIRLOCK_ERR_IO, errno, "open",
				  r->upper);
	return 0;
}

static int open_before(struct apply_tx *tx)
{
	bool made = mkdirat(tx->run_fd, "before", 0700) == 0;
	/* Only airlock writes in a run's directory, so opening its mode up is safe; the caller's umask may have
	 * removed our own rights. */
	if (made ? fchmodat(tx->run_fd, "before", 0700, 0) < 0 : errno != EEXIST)
		return -errno;
	return fs_open_dir_at(tx->run_fd, "before", O_RDONLY);
}

int apply_tx_open(struct apply_tx *tx, const char *run_dir, int64_t oldest_ns, struct airlock_error *err)
{
	tx->run_fd = open(run_dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (tx->run_fd < 0)
		return base_errno(err, errno == ENOENT ? AIRLOCK_ERR_NOT_FOUND : AIRLOCK_ERR_IO, errno, "open",
				  run_dir);
	tx->before_fd = open_before(tx);
	if (tx->before_fd < 0)
		return base_errno(err, AIRLOCK_ERR_IO, tx->before_fd, "open", "before");
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < tx->n_roots; i++)
		rc = open_root(tx, &tx->roots[i], oldest_ns, err);
	return rc;
}

/* ── Lists ── */

struct apply_op *apply_tx_add_op(struct apply_tx *tx, const struct apply_op *op)
{
	if (!op->path || !ARRAY_ROOM(tx->ops, tx->n_ops, tx->cap_ops, 16)) {
		free(op->path);
		free(op->link);
		return NULL;
	}
	tx->ops[tx->n_ops] = *op;
	return &tx->ops[tx->n_ops++];
}

struct apply_dir *apply_tx_add_dir(struct apply_tx *tx, const struct apply_dir *d)
{
	if (!d->path || !ARRAY_ROOM(tx->dirs, tx->n_dirs, tx->cap_dirs, 16)) {
		free(d->path);
		return NULL;
	}
	tx->dirs[tx->n_dirs] = *d;
	return &tx->dirs[tx->n_dirs++];
}

int apply_error(struct airlock_error *err, int errnum, const char *op, const struct apply_tx *tx, size_t root,
		const char *path)
{
	_cleanup_free_ char *full = path_join(tx->roots[root].path, path);
	if (errnum == -ENOMEM || !full)
		return base_oom(err);
	return base_errno(err, AIRLOCK_ERR_IO, errnum, op, full);
}

/* ── Places ── */

struct change_slot apply_kept_name(const struct apply_op *op)
{
	struct change_slot n;
	(void)snprintf(n.text, sizeof n.text, "k%llu.%llu", (unsigned long long)op->slot,
		       (unsigned long long)op->old.inode);
	return n;
}

int apply_move_own(struct transfer_place from, struct transfer_place to)
{
	struct change_stat st;
	if (renameat2(from.dirfd, from.name, to.dirfd, to.name, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL)
		return -errno;
	int rc = change_stat_at(to.dirfd, to.name, &st);
	if (rc < 0 || st.type != CHANGE_NOTHING)
		return rc < 0 ? rc : -EEXIST;
	return renameat(from.dirfd, from.name, to.dirfd, to.name) < 0 ? -errno : 0;
}

int apply_chmod_fd(int fd, uint32_t mode)
{
	char proc[32];
	(void)snprintf(proc, sizeof proc, "/proc/self/fd/%d", fd);
	return chmod(proc, mode & 07777) < 0 ? -errno : 0;
}

int apply_set_mtime_fd(int fd, int64_t mtime_ns)
{
	char proc[32];
	int64_t sec = mtime_ns / 1000000000, nsec = mtime_ns % 1000000000;
	if (nsec < 0) {
		sec--;
		nsec += 1000000000;
	}
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = sec, .tv_nsec = nsec}};
	(void)snprintf(proc, sizeof proc, "/proc/self/fd/%d", fd);
	return utimensat(AT_FDCWD, proc, times, 0) < 0 ? -errno : 0;
}

/* Gives us what we need to take entries out of a directory of the layer. */
static int make_usable(int fd)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return -errno;
	return (st.st_mode & 0700) == 0700 ? 0 : apply_chmod_fd(fd, (uint32_t)st.st_mode | 0700);
}

/* The name when path is in the directory that is known; NULL when it is in another. */
static const char *name_in(const struct apply_nearby *n, const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t len = slash ? (size_t)(slash - path) : 0;
	if (!n->dir || strncmp(n->dir, path, len) != 0 || n->dir[len] != '\0')
		return NULL;
	return slash ? slash + 1 : path;
}

/* Takes fd, also on failure. */
static int remember(struct apply_nearby *n, const char *path, const char *name, int fd)
{
	nearby_done(n);
	n->fd = fd;
	n->dir = strndup(path, name > path ? (size_t)(name - path) - 1 : 0);
	if (n->dir)
		return n->fd;
	nearby_done(n);
	return -ENOMEM;
}

int apply_live_parent(const struct apply_tx *tx, size_t root, const char *path, const char **ret_name)
{
	struct apply_root *r = &tx->roots[root];
	*ret_name = name_in(&r->live_near, path);
	if (*ret_name)
		return r->live_near.fd;
	int fd = fs_open_parent(r->live_fd, path, ret_name);
	return fd < 0 ? fd : remember(&r->live_near, path, *ret_name, fd);
}

int apply_layer_parent(const struct apply_tx *tx, size_t root, const char *path, const char **ret_name)
{
	struct apply_root *r = &tx->roots[root];
	*ret_name = name_in(&r->layer_near, path);
	if (*ret_name)
		return r->layer_near.fd;
	_cleanup_close_ int fd = upper_open_parent(r->upper_fd, path, ret_name);
	int rc = fd < 0 ? fd : make_usable(fd);
	return rc < 0 ? rc : remember(&r->layer_near, path, *ret_name, TAKE_FD(fd));
}

int apply_is_empty_dir(int dirfd, const char *name)
{
	_Alignas(struct dirent64) char chunk[1024];
	_cleanup_close_ int fd = fs_open_dir_at(dirfd, name, O_RDONLY);
	if (fd < 0)
		return fd;
	ssize_t n = getdents64(fd, chunk, sizeof chunk);
	if (n < 0)
		return -errno;
	size_t seen = 0;
	for (ssize_t at = 0; at < n; at += ((struct dirent64 *)(void *)(chunk + at))->d_reclen)
		seen++;
	return seen <= 2;
}
