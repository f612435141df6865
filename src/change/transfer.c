/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "change/transfer.h"

#include "base/buf.h"
#include "layer/upper.h"
#include "layer/xattrs.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

#define COPY_CHUNK ((size_t)1 << 20)

struct proc_path {
	char text[32];
};

/* Calls that change an entry refuse O_PATH descriptors, so go through its link in /proc/self/fd. */
static struct proc_path proc_path(int fd)
{
	struct proc_path p;
	(void)snprintf(p.text, sizeof p.text, "/proc/self/fd/%d", fd);
	return p;
}

/* ── xattrs ── */

static bool is_carried(const char *attribute)
{
	return (strncmp(attribute, "user.", 5) == 0 || strncmp(attribute, "system.posix_acl_", 17) == 0) &&
	       !upper_owns_xattr(attribute);
}

static int copy_xattr(int from_fd, int to_fd, const char *attribute)
{
	_cleanup_buf_ struct buf value = BUF_INIT;
	int rc = xattrs_get(from_fd, NULL, attribute, &value);
	if (rc < 0)
		return rc == -ENODATA ? 0 : rc;
	return setxattr(proc_path(to_fd).text, attribute, value.data, value.len, 0) < 0 ? -errno : 0;
}

/* The file system has no xattrs: lose them, keep the rest of the entry. */
static int ignore_unsupported(int rc)
{
	return rc == -EOPNOTSUPP ? 0 : rc;
}

static bool has_name(const struct buf *names, const char *attribute)
{
	for (size_t at = 0; at < names->len; at += strlen(names->data + at) + 1)
		if (strcmp(names->data + at, attribute) == 0)
			return true;
	return false;
}

static int remove_others(int fd, const struct buf *keep)
{
	_cleanup_buf_ struct buf names = BUF_INIT;
	int rc = xattrs_list(fd, NULL, &names);
	for (size_t at = 0; rc == 0 && at < names.len; at += strlen(names.data + at) + 1) {
		if (!is_carried(names.data + at) || has_name(keep, names.data + at))
			continue;
		rc = xattrs_remove(fd, NULL, names.data + at);
		rc = rc == -ENODATA ? 0 : rc;
	}
	return rc;
}

static int copy_kind(int from_fd, int to_fd, const struct buf *names, bool acls)
{
	int rc = 0;
	for (size_t at = 0; rc == 0 && at < names->len; at += strlen(names->data + at) + 1) {
		bool is_acl = strncmp(names->data + at, "system.", 7) == 0;
		if (is_carried(names->data + at) && is_acl == acls)
			rc = ignore_unsupported(copy_xattr(from_fd, to_fd, names->data + at));
	}
	return rc;
}

/* ACLs last: they may take away the permission to write the others. */
static int copy_listed(int from_fd, int to_fd, const struct buf *names)
{
	int rc = copy_kind(from_fd, to_fd, names, false);
	return rc < 0 ? rc : copy_kind(from_fd, to_fd, names, true);
}

/* Attributes of user.* are read with the permission to read the entry, at every call: its owner opens it up meanwhile. */
static int copy_from_closed(int from_fd, int to_fd, const struct buf *names)
{
	struct stat st;
	if (fstat(from_fd, &st) < 0)
		return -errno;
	if ((st.st_mode & 0400) || chmod(proc_path(from_fd).text, (st.st_mode & 07777) | 0400) < 0)
		return -EACCES;
	int rc = copy_listed(from_fd, to_fd, names);
	return chmod(proc_path(from_fd).text, st.st_mode & 07777) < 0 ? -errno : rc;
}

int transfer_xattrs(int from_fd, int to_fd)
{
	_cleanup_buf_ struct buf names = BUF_INIT;
	int rc = xattrs_list(from_fd, NULL, &names);
	rc = rc < 0 ? rc : copy_listed(from_fd, to_fd, &names);
	if (rc == -EACCES)
		rc = copy_from_closed(from_fd, to_fd, &names);
	return rc < 0 ? rc : remove_others(to_fd, &names);
}

/* File capabilities grant privileges like setuid does, so they are dropped as well. */
static bool is_unfit(const char *attribute, const struct stat *st)
{
	return upper_owns_xattr(attribute) || (S_ISREG(st->st_mode) && strcmp(attribute, "security.capability") == 0);
}

static int remove_unfit(struct transfer_place at, const struct stat *st, const struct buf *names)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < names->len; i += strlen(names->data + i) + 1) {
		if (!is_unfit(names->data + i, st))
			continue;
		rc = xattrs_remove(at.dirfd, at.name, names->data + i);
		rc = rc == -ENODATA || rc == -EOPNOTSUPP ? 0 : rc;
	}
	return rc;
}

static int chmod_entry(struct transfer_place at, uint32_t mode)
{
	_cleanup_close_ int fd = openat(at.dirfd, at.name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 || chmod(proc_path(fd).text, mode & 07777) < 0 ? -errno : 0;
}

int transfer_clean(struct transfer_place at, const struct stat *st, uint32_t mode)
{
	_cleanup_buf_ struct buf names = BUF_INIT;
	uint32_t now = st->st_mode & 07777;
	int rc = S_ISLNK(st->st_mode) ? 0 : xattrs_list(at.dirfd, at.name, &names);
	rc = rc < 0 ? rc : remove_unfit(at, st, &names);
	if (rc == -EACCES && !(now & 0200)) { /* of user.* they go only with permission to write */
		rc = chmod_entry(at, now | 0200);
		now |= 0200;
		rc = rc < 0 ? rc : remove_unfit(at, st, &names);
	}
	bool other_mode = S_ISREG(st->st_mode) ? now != mode : now != (st->st_mode & 07777);
	if (rc < 0 || !other_mode)
		return rc;
	return chmod_entry(at, S_ISREG(st->st_mode) ? mode : st->st_mode);
}

/* ── Data ── */

/* copy_file_range moves at most 2 GiB at a time and not between all file systems; where it cannot, bytes go through us. */
static int copy_bytes(int from_fd, int to_fd, off_t at, off_t end, char *chunk)
{
	while (at < end) {
		size_t want = (size_t)AL_MIN(end - at, (off_t)1 << 30);
		off_t in = at, out = at;
		ssize_t n = copy_file_range(from_fd, &in, to_fd, &out, want, 0);
		if (n < 0 && (errno == EXDEV || errno == EINVAL || errno == EOPNOTSUPP || errno == ENOSYS)) {
			n = pread(from_fd, chunk, AL_MIN(want, COPY_CHUNK), at);
			n = n > 0 ? pwrite(to_fd, chunk, (size_t)n, at) : n;
		}
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0)
			return 0; /* the file became shorter while we copied; the check after the exchange finds that */
		at += n > 0 ? n : 0;
	}
	return 0;
}

/* Copy only the data ranges, so that a sparse file stays sparse. */
static int copy_data(int from_fd, int to_fd, off_t size)
{
	_cleanup_free_ char *chunk = malloc(COPY_CHUNK);
	if (!chunk)
		return -ENOMEM;
	for (off_t at = 0; at < size;) {
		off_t data = lseek(from_fd, at, SEEK_DATA);
		if (data < 0 && errno == ENXIO)
			break;
		off_t hole = data < 0 ? -1 : lseek(from_fd, data, SEEK_HOLE);
		if (hole < 0) { /* no such seeking here: all of it */
			data = at;
			hole = size;
		}
		int rc = copy_bytes(from_fd, to_fd, data, hole, chunk);
		if (rc < 0)
			return rc;
		at = hole;
	}
	return 0;
}

static int fill(int from_fd, int to_fd, off_t size, bool *ret_shared)
{
	*ret_shared = size == 0 || ioctl(to_fd, FICLONE, from_fd) == 0;
	if (*ret_shared)
		return 0;
	if (ftruncate(to_fd, size) < 0)
		return -errno;
	return copy_data(from_fd, to_fd, size);
}

/* ── Entries ── */

static int set_times(struct transfer_place to, const struct stat *st)
{
	struct timespec times[2] = {st->st_atim, st->st_mtim};
	return utimensat(to.dirfd, to.name, times, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}

/* Root keeps owners; everybody else makes files of their own, which is what the run did too, and keeps the group where it is
 * one of theirs: in a directory that a group shares, the others must stay able to read what was copied. */
static int set_owner(struct transfer_place to, const struct stat *st)
{
	if (geteuid() != 0 && st->st_gid != getegid())
		(void)fchownat(to.dirfd, to.name, (uid_t)-1, st->st_gid, AT_SYMLINK_NOFOLLOW);
	if (geteuid() != 0)
		return 0;
	return fchownat(to.dirfd, to.name, st->st_uid, st->st_gid, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}

static bool is_own_group(gid_t gid)
{
	_cleanup_free_ gid_t *groups = NULL;
	int n = getgroups(0, NULL);
	if (gid == getegid())
		return true;
	groups = n > 0 ? calloc((size_t)n, sizeof *groups) : NULL;
	n = groups ? getgroups(n, groups) : 0;
	for (int i = 0; i < n; i++)
		if (groups[i] == gid)
			return true;
	return false;
}

int transfer_owner(int from_fd, int to_fd)
{
	struct stat from, to;
	if (fstat(from_fd, &from) < 0 || fstat(to_fd, &to) < 0)
		return -errno;
	bool is_root = geteuid() == 0;
	/* An ordinary user's copy of a file with a foreign group gets the user's own group: not a change. */
	bool same = from.st_gid == to.st_gid && (!is_root || from.st_uid == to.st_uid);
	if (same || (!is_root && !(is_own_group(from.st_gid) && is_own_group(to.st_gid))))
		return 0;
	uid_t uid = is_root ? from.st_uid : (uid_t)-1;
	return fchownat(to_fd, "", uid, from.st_gid, AT_EMPTY_PATH) < 0 ? -errno : 0;
}

struct transfer_manner {
	bool sync;
	bool shared; /* out: no byte was copied */
};

static int copy_file(struct transfer_place from, struct transfer_place to, const struct stat *st,
		     struct transfer_manner *how)
{
	_cleanup_close_ int in = upper_open_file(from.dirfd, from.name);
	if (in < 0)
		return in;
	_cleanup_close_ int out = openat(to.dirfd, to.name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (out < 0)
		return -errno;
	/* A default ACL above may have taken our own rights away, which attributes need. */
	int rc = fchmod(out, 0600) < 0 ? -errno : fill(in, out, st->st_size, &how->shared);
	rc = rc < 0 ? rc : transfer_xattrs(in, out);
	rc = rc < 0 ? rc : set_owner(to, st);
	if (rc == 0 && fchmod(out, st->st_mode & 07777) < 0)
		rc = -errno;
	rc = rc < 0 ? rc : set_times(to, st);
	if (rc == 0 && how->sync && fsync(out) < 0)
		rc = -errno;
	return rc;
}

/* sshfs, and perhaps other FUSE file systems, follow a link although we ask them not to: owner and times would go to its target,
 * which is anywhere. There a link keeps those that it was made with. */
static bool follows_links(int dirfd)
{
	struct statfs fs;
	return fstatfs(dirfd, &fs) < 0 || (uint32_t)fs.f_type == FUSE_SUPER_MAGIC;
}

static int copy_symlink(struct transfer_place from, struct transfer_place to, const struct stat *st)
{
	char target[4097];
	ssize_t n = readlinkat(from.dirfd, from.name, target, sizeof target - 1);
	if (n < 0)
		return -errno;
	target[n] = '\0';
	if (symlinkat(target, to.dirfd, to.name) < 0)
		return -errno;
	if (follows_links(to.dirfd))
		return 0;
	int rc = set_owner(to, st);
	return rc < 0 ? rc : set_times(to, st);
}

static int copy_directory(struct transfer_place from, struct transfer_place to, const struct stat *st)
{
	_cleanup_close_ int in = openat(from.dirfd, from.name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (in < 0 || mkdirat(to.dirfd, to.name, 0700) < 0)
		return -errno;
	/* The default ACL of the directory above may have taken our own rights away. */
	if (fchmodat(to.dirfd, to.name, 0700, 0) < 0)
		return -errno;
	_cleanup_close_ int out = openat(to.dirfd, to.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (out < 0)
		return -errno;
	int rc = transfer_xattrs(in, out);
	rc = rc < 0 ? rc : set_owner(to, st);
	if (rc == 0 && fchmod(out, st->st_mode & 07777) < 0)
		rc = -errno;
	return rc < 0 ? rc : set_times(to, st);
}

static int copy_special(struct transfer_place to, const struct stat *st)
{
	_cleanup_close_ int fd = -EBADF;
	if (mknodat(to.dirfd, to.name, st->st_mode & (S_IFMT | 0777), st->st_rdev) < 0)
		return -errno;
	int rc = set_owner(to, st);
	if (rc == 0 && (fd = openat(to.dirfd, to.name, O_PATH | O_NOFOLLOW | O_CLOEXEC)) < 0)
		rc = -errno;
	if (rc == 0 && chmod(proc_path(fd).text, st->st_mode & 07777) < 0) /* the umask took bits away */
		rc = -errno;
	return rc < 0 ? rc : set_times(to, st);
}

static int copy_entry(struct transfer_place from, struct transfer_place to, int mode, struct transfer_manner *how)
{
	struct stat st;
	if (fstatat(from.dirfd, from.name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (mode >= 0)
		st.st_mode = (st.st_mode & S_IFMT) | (mode_t)mode;
	switch (st.st_mode & S_IFMT) {
	case S_IFREG:
		return copy_file(from, to, &st, how);
	case S_IFLNK:
		return copy_symlink(from, to, &st);
	case S_IFDIR:
		return copy_directory(from, to, &st);
	default:
		return copy_special(to, &st);
	}
}

int transfer_copy(struct transfer_place from, struct transfer_place to, int mode)
{
	return copy_entry(from, to, mode, &(struct transfer_manner){.sync = true});
}

int transfer_copy_quickly(struct transfer_place from, struct transfer_place to, int mode, bool *ret_shared)
{
	struct transfer_manner how = {0};
	int rc = copy_entry(from, to, mode, &how);
	*ret_shared = how.shared;
	return rc;
}

int transfer_remove(int dirfd, const char *name)
{
	if (unlinkat(dirfd, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -errno;
	return unlinkat(dirfd, name, AT_REMOVEDIR) < 0 && errno != ENOENT ? -errno : 0;
}
