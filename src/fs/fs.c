/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/fs.h"

#include "base/path.h"
#include "fs/io.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

/* Turns the errors that a path lookup commonly meets into sentences; all others are the system's refusal. */
static int lookup_error(struct airlock_error *err, int errnum, const char *op, const char *path)
{
	switch (errnum) {
	case ENOENT:
	case ENOTDIR:
		return base_errno(err, AIRLOCK_ERR_NOT_FOUND, errnum, op, path);
	case ELOOP:
	case ENAMETOOLONG:
		return base_errno(err, AIRLOCK_ERR_INVALID, errnum, op, path);
	default:
		return base_errno(err, AIRLOCK_ERR_IO, errnum, op, path);
	}
}

static int not_regular(struct airlock_error *err, const char *path)
{
	return base_error(err, AIRLOCK_ERR_INVALID, "read", path, "%s is not a regular file", path);
}

static int too_large(struct airlock_error *err, const char *path, size_t max)
{
	return base_error(err, AIRLOCK_ERR_LIMIT, "read", path, "%s is larger than %zu bytes", path, max);
}

/* O_NONBLOCK so that a FIFO without a writer cannot hang us, O_NOCTTY so that a terminal does not become ours. */
static int open_regular(const char *path, size_t max, struct airlock_error *err)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;
	if (fd < 0 && errno == ENXIO) /* a socket */
		return not_regular(err, path);
	if (fd < 0)
		return lookup_error(err, errno, "open", path);
	if (fstat(fd, &st) < 0)
		return base_errno(err, AIRLOCK_ERR_IO, errno, "fstat", path);
	if (!S_ISREG(st.st_mode))
		return not_regular(err, path);
	if ((uintmax_t)st.st_size > max)
		return too_large(err, path, max);
	return TAKE_FD(fd);
}

static int read_to_end(int fd, const char *path, size_t max, struct buf *content, struct airlock_error *err)
{
	int rc = fs_read_all(fd, max, content);
	if (rc == -EFBIG)
		return too_large(err, path, max);
	return rc == -ENOMEM ? base_oom(err) : rc < 0 ? base_errno(err, AIRLOCK_ERR_IO, rc, "read", path) : 0;
}

int fs_read_file(const char *path, size_t max, struct buf *ret, struct airlock_error *err)
{
	_cleanup_close_ int fd = open_regular(path, max, err);
	if (fd < 0)
		return fd;
	_cleanup_buf_ struct buf content = BUF_INIT;
	int rc = read_to_end(fd, path, max, &content, err);
	if (rc < 0)
		return rc;
	buf_done(ret);
	*ret = content;
	content = (struct buf)BUF_INIT;
	return 0;
}

/* An unusual umask may have removed our own bits. Never follow a symlink that was put there since; if this fails, the
 * next access reports it. */
static void restore_own_access(const char *dir)
{
	struct stat st;
	if (lstat(dir, &st) == 0 && S_ISDIR(st.st_mode) && (st.st_mode & 0700) != 0700)
		(void)fchmodat(AT_FDCWD, dir, 0700, AT_SYMLINK_NOFOLLOW);
}

static int make_one_dir(const char *dir, struct airlock_error *err)
{
	struct stat st;
	if (mkdir(dir, 0700) == 0) {
		restore_own_access(dir);
		return 0;
	}
	int errnum = errno;
	/* Checked after other errors than EEXIST too: automounts and read-only file systems refuse before they look. */
	if (stat(dir, &st) == 0 && S_ISDIR(st.st_mode))
		return 0;
	if (errnum == EEXIST || errnum == ENOTDIR)
		return base_error(err, AIRLOCK_ERR_INVALID, "mkdir", dir, "%s is in the way: it is not a directory",
				  dir);
	return base_errno(err, AIRLOCK_ERR_IO, errnum, "mkdir", dir);
}

int fs_make_private_dir(const char *path, struct airlock_error *err)
{
	struct stat st;
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return 0;
	if (mkdir(path, 0700) == 0) { /* Usually only the last directory is missing. */
		restore_own_access(path);
		return 0;
	}
	_cleanup_free_ char *dir = strdup(path);
	if (!dir)
		return base_oom(err);
	for (char *p = dir + strspn(dir, "/"); *p;) {
		p += strcspn(p, "/");
		char after = *p;
		*p = '\0';
		int rc = make_one_dir(dir, err);
		if (rc < 0)
			return rc;
		*p = after;
		p += strspn(p, "/");
	}
	return 0;
}

/* 128 random bits: nobody can have created this name before us, and two writers never collide. */
static int make_temp_name(char out[64])
{
	uint64_t r[2];
	if (getrandom(r, sizeof r, 0) != (ssize_t)sizeof r)
		return -errno;
	(void)snprintf(out, 64, ".airlock-%016llx%016llx", (unsigned long long)r[0], (unsigned long long)r[1]);
	return 0;
}

static int write_parts(int fd, fs_next_part next, void *data)
{
	_cleanup_buf_ struct buf part = BUF_INIT;
	int more;
	do {
		part.len = 0;
		more = next(data, &part);
		int rc = more < 0 ? more : part.failed ? -ENOMEM : fs_write_all(fd, part.data, part.len);
		if (rc < 0)
			return rc;
	} while (more);
	return 0;
}

static int fill_temp(int dirfd, const char *temp, fs_next_part next, void *data)
{
	_cleanup_close_ int fd = openat(dirfd, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	int rc = write_parts(fd, next, data);
	if (rc < 0)
		return rc;
	/* fchmod, because the umask may have removed bits. */
	return fchmod(fd, 0600) < 0 || fsync(fd) < 0 ? -errno : 0;
}

/* Some network and user-space file systems cannot sync a directory and return EINVAL; the rename itself has happened.
 */
static int sync_dir(int dirfd)
{
	return fsync(dirfd) < 0 && errno != EINVAL ? -errno : 0;
}

static int replace_at(int dirfd, const char *name, fs_next_part next, void *data)
{
	char temp[64];
	int rc = make_temp_name(temp);
	if (rc < 0)
		return rc;
	rc = fill_temp(dirfd, temp, next, data);
	if (rc == 0 && renameat(dirfd, temp, dirfd, name) < 0)
		rc = -errno;
	if (rc < 0) {
		(void)unlinkat(dirfd, temp, 0);
		return rc;
	}
	return sync_dir(dirfd);
}

int fs_write_private_parts(const char *path, fs_next_part next, void *data, struct airlock_error *err)
{
	_cleanup_free_ char *dir = path_dirname(path);
	if (!dir)
		return base_oom(err);
	int rc = fs_make_private_dir(dir, err);
	if (rc < 0)
		return rc;
	_cleanup_close_ int dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dirfd < 0)
		return base_errno(err, AIRLOCK_ERR_IO, errno, "open", dir);
	rc = replace_at(dirfd, path_basename(path), next, data);
	if (rc == -EISDIR)
		return base_error(err, AIRLOCK_ERR_INVALID, "rename", path, "%s is in the way: it is a directory",
				  path);
	return rc < 0 ? base_errno(err, AIRLOCK_ERR_IO, rc, "write", path) : 0;
}

struct whole {
	const void *data;
	size_t len;
};

static int next_whole(void *data, struct buf *part)
{
	const struct whole *w = data;
	buf_add(part, w->data, w->len);
	return 0;
}

int fs_write_private_file(const char *path, const void *data, size_t len, struct airlock_error *err)
{
	struct whole whole = {data, len};
	return fs_write_private_parts(path, next_whole, &whole, err);
}

int fs_create_private_file(const char *path, const void *data, size_t len, struct airlock_error *err)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int rc = fd < 0 || fchmod(fd, 0600) < 0 ? -errno : fs_write_all(fd, data, len);
	return rc < 0 ? base_errno(err, AIRLOCK_ERR_IO, rc, "write", path) : 0;
}

int fs_prepare_file(const char *dir)
{
	_cleanup_close_ int fd = open(dir, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	return fd >= 0 && fchmod(fd, 0600) == 0 ? TAKE_FD(fd) : -1;
}

int fs_create_prepared_file(int prepared, const char *path, const void *data, size_t len, struct airlock_error *err)
{
	_cleanup_close_ int fd = prepared;
	char name[32];
	(void)snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
	if (fd >= 0 && fs_write_all(fd, data, len) == 0 &&
	    linkat(AT_FDCWD, name, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0)
		return 0;
	return fs_create_private_file(path, data, len, err);
}

/* With umask 002, a user's files are writable by the user's own group, which by convention has the same number. That
 * is not another user. */
static bool others_may_write(const struct stat *st)
{
	return (st->st_mode & 0002) || ((st->st_mode & 0020) && st->st_gid != st->st_uid);
}

int fs_check_private(const char *path, struct airlock_error *err)
{
	struct stat st;
	if (lstat(path, &st) < 0)
		return lookup_error(err, errno, "lstat", path);
	if (S_ISLNK(st.st_mode))
		return base_error(err, AIRLOCK_ERR_INVALID, "check", path, "%s is a symlink; it must not be one", path);
	/* A file of root is no less safe than a file of ours. */
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return base_error(err, AIRLOCK_ERR_INVALID, "check", path, "%s belongs to another user (uid %u)", path,
				  (unsigned)st.st_uid);
	if (others_may_write(&st)) {
		(void)base_error(err, AIRLOCK_ERR_INVALID, "check", path,
				 "%s can be written by other users (mode %04o)", path, (unsigned)(st.st_mode & 07777));
		(void)base_hint(err, "remove that permission: chmod go-w");
		return AIRLOCK_ERR_INVALID;
	}
	return 0;
}

int fs_real_path(const char *path, char **ret, struct airlock_error *err)
{
	char *real = realpath(path, NULL);
	if (!real && errno == ENOENT)
		return base_error(err, AIRLOCK_ERR_NOT_FOUND, "realpath", path, "%s does not exist", path);
	if (!real)
		return errno == ENOMEM ? base_oom(err) : lookup_error(err, errno, "realpath", path);
	*ret = real;
	return 0;
}

bool fs_is_mount_point(const struct stat *st)
{
	return st->st_mtim.tv_sec == FS_MOUNT_POINT_SECONDS && st->st_mtim.tv_nsec == 0 &&
	       (S_ISDIR(st->st_mode) || (S_ISREG(st->st_mode) && st->st_size == 0));
}
