/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "layer/upper.h"

#include "base/buf.h"
#include "fs/beneath.h"
#include "fs/walk.h"
#include "layer/open.h"
#include "layer/xattrs.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* With userxattr, overlay stores its marks in user.*, otherwise in trusted.*, which only root can see. */
static const char *const prefixes[] = {"user.overlay.", "trusted.overlay."};

/* The rest after overlay's prefix, or NULL if it is not overlay's attribute. */
static const char *own_part(const char *attribute)
{
	for (size_t i = 0; i < AL_ARRAY_LEN(prefixes); i++)
		if (strncmp(attribute, prefixes[i], strlen(prefixes[i])) == 0)
			return attribute + strlen(prefixes[i]);
	return NULL;
}

bool upper_owns_xattr(const char *attribute)
{
	return own_part(attribute) != NULL;
}

/* "y" hides the directories below; "x" only says that there may be whiteouts in xattr form. */
static int read_opaque(int fd, const char *name, const char *attribute, struct upper_dir *ret)
{
	_cleanup_buf_ struct buf value = BUF_INIT;
	int rc = xattrs_get(fd, name, attribute, &value);
	if (rc < 0)
		return rc == -ENODATA ? 0 : rc;
	ret->opaque |= value.len == 1 && value.data[0] == 'y';
	ret->whiteouts |= value.len == 1 && value.data[0] == 'x';
	return 0;
}

static int read_mark(int fd, const char *name, const char *attribute, struct upper_dir *ret)
{
	const char *mark = own_part(attribute);
	if (!mark)
		return 0;
	if (strcmp(mark, "opaque") == 0)
		return read_opaque(fd, name, attribute, ret);
	ret->whiteouts |= strcmp(mark, "whiteouts") == 0;
	ret->copied_up |= strcmp(mark, "origin") == 0;
	return 0;
}

int upper_dir_read(int fd, const char *name, struct upper_dir *ret)
{
	_cleanup_buf_ struct buf names = BUF_INIT;
	*ret = (struct upper_dir){0};
	int rc = xattrs_list(fd, name, &names);
	for (size_t at = 0; rc == 0 && at < names.len; at += strlen(names.data + at) + 1)
		rc = read_mark(fd, name, names.data + at, ret);
	return rc;
}

static bool is_device_whiteout(const struct stat *st)
{
	return S_ISCHR(st->st_mode) && st->st_rdev == 0;
}

int upper_entry_read(int dirfd, const char *name, const struct stat *st, const struct upper_dir *dir,
		     struct upper_entry *ret)
{
	_cleanup_buf_ struct buf names = BUF_INIT;
	*ret = (struct upper_entry){.whiteout = is_device_whiteout(st)};
	if (ret->whiteout || S_ISLNK(st->st_mode)) /* a symlink cannot have either mark */
		return 0;
	bool may_be_whiteout = dir->whiteouts && S_ISREG(st->st_mode) && st->st_size == 0;
	int rc = xattrs_list(dirfd, name, &names);
	for (size_t at = 0; rc == 0 && at < names.len; at += strlen(names.data + at) + 1) {
		const char *mark = own_part(names.data + at);
		if (!mark)
			continue;
		ret->whiteout |= may_be_whiteout && strcmp(mark, "whiteout") == 0;
		ret->copied_up |= strcmp(mark, "origin") == 0;
	}
	return rc;
}

/* ── Access ── */

int upper_chmod(int pinned_fd, mode_t mode)
{
	char proc[32]; /* fchmod does not accept an O_PATH descriptor */
	(void)snprintf(proc, sizeof proc, "/proc/self/fd/%d", pinned_fd);
	return chmod(proc, mode & 07777) < 0 ? -errno : 0;
}

int upper_pin(int dirfd, const char *name, const struct stat *st)
{
	_cleanup_close_ int fd = openat(dirfd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat now;
	if (fd < 0 || fstat(fd, &now) < 0)
		return -errno;
	return now.st_dev == st->st_dev && now.st_ino == st->st_ino ? TAKE_FD(fd) : -ESTALE;
}

static int chmod_entry(int dirfd, const char *name, const struct stat *st, mode_t mode)
{
	_cleanup_close_ int fd = upper_pin(dirfd, name, st);
	return fd < 0 ? fd : upper_chmod(fd, mode);
}

int upper_unlock(int dirfd, const char *name, const struct stat *st)
{
	bool is_dir = S_ISDIR(st->st_mode);
	mode_t need = is_dir ? 0500 : 0400;
	if ((st->st_mode & need) == need || !(is_dir || S_ISREG(st->st_mode)))
		return 0;
	if (faccessat(dirfd, name, is_dir ? R_OK | X_OK : R_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW) == 0)
		return 0; /* root */
	int rc = chmod_entry(dirfd, name, st, st->st_mode | need);
	return rc < 0 ? rc : 1;
}

int upper_relock(int dirfd, const char *name, const struct stat *st)
{
	return chmod_entry(dirfd, name, st, st->st_mode);
}

/* Pinned while it is unlocked: restoring the mode then needs no resource that could run out. */
static int open_locked(int dirfd, const char *name, const struct stat *st)
{
	_cleanup_close_ int pinned = upper_pin(dirfd, name, st);
	int rc = pinned < 0 ? pinned : upper_chmod(pinned, st->st_mode | 0400);
	if (rc < 0)
		return rc == -EPERM ? -EACCES : rc;
	int fd = open_known_at(dirfd, name, st);
	rc = upper_chmod(pinned, st->st_mode);
	if (rc < 0)
		base_closep(&fd);
	return rc < 0 ? rc : fd;
}

int upper_open_known(int dirfd, const char *name, const struct stat *known)
{
	int fd = open_known_at(dirfd, name, known);
	return fd == -EACCES ? open_locked(dirfd, name, known) : fd;
}

static int open_up(int fd)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return -errno;
	return (st.st_mode & 0700) == 0700 ? 0 : upper_chmod(fd, st.st_mode | 0700);
}

/* Component by component: slow, and rarely needed. Takes start_fd. */
static int descend(int start_fd, const char *path, size_t len)
{
	_cleanup_close_ int fd = start_fd;
	_cleanup_free_ char *dir = strndup(path, len);
	int rc = fd < 0 ? fd : dir ? open_up(fd) : -ENOMEM;
	for (char *save = NULL, *part = dir ? strtok_r(dir, "/", &save) : NULL; rc == 0 && part;
	     part = strtok_r(NULL, "/", &save)) {
		int next = fs_open_dir_at(fd, part, O_PATH);
		if (next < 0)
			return next;
		base_closep(&fd);
		fd = next;
		rc = open_up(fd);
	}
	return rc < 0 ? rc : TAKE_FD(fd);
}

int upper_open_parent(int upper_fd, const char *path, const char **ret_name)
{
	struct stat st;
	_cleanup_close_ int fd = fs_open_parent(upper_fd, path, ret_name);
	bool closed = fd == -EACCES;
	if (fd >= 0)
		closed = fstatat(fd, *ret_name, &st, AT_SYMLINK_NOFOLLOW) < 0 && errno == EACCES;
	if (!closed)
		return TAKE_FD(fd);
	const char *slash = strrchr(path, '/');
	*ret_name = slash ? slash + 1 : path;
	return descend(fs_open_beneath(upper_fd, "", O_PATH | O_DIRECTORY), path, slash ? (size_t)(slash - path) : 0);
}

int upper_open_file(int dirfd, const char *name)
{
	struct stat st;
	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	return upper_open_known(dirfd, name, &st);
}

/* ── Stripping ── */

static int strip_listed(int fd, const struct buf *names)
{
	int n = 0;
	for (size_t at = 0; at < names->len; at += strlen(names->data + at) + 1) {
		if (!upper_owns_xattr(names->data + at))
			continue;
		int rc = xattrs_remove(fd, NULL, names->data + at);
		if (rc < 0 && rc != -ENODATA)
			return rc;
		n++;
	}
	return n;
}

/* Removing user.* attributes needs write permission, which for example git's object files do not give. */
int upper_strip_xattrs(int fd)
{
	_cleanup_buf_ struct buf names = BUF_INIT;
	struct stat st;
	int rc = xattrs_list(fd, NULL, &names);
	if (rc < 0 || names.len == 0)
		return rc;
	rc = strip_listed(fd, &names);
	if (rc != -EACCES || fstat(fd, &st) < 0 || upper_chmod(fd, st.st_mode | 0200) < 0)
		return rc;
	rc = strip_listed(fd, &names);
	int back = upper_chmod(fd, st.st_mode);
	return rc < 0 ? rc : back < 0 ? back : rc;
}
