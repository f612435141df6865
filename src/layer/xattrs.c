/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "layer/xattrs.h"

#include <fcntl.h>
#include <linux/limits.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

/* Linux 6.13 has calls that take a directory; their numbers are the same on all architectures. On older kernels, and
 * under filters that do not know them, we go through /proc, which costs several times as much. */
#define NR_GETXATTRAT 464
#define NR_LISTXATTRAT 465
#define NR_REMOVEXATTRAT 466

struct xattrat_args {
	uint64_t value;
	uint32_t size, flags;
};

static bool is_unknown_call(long rc)
{
	return rc < 0 && (errno == ENOSYS || errno == EPERM);
}

struct xattr_place {
	char path[sizeof "/proc/self/fd/-2147483648/" + NAME_MAX];
};

static struct xattr_place place_of(int fd, const char *name)
{
	struct xattr_place p;
	(void)snprintf(p.path, sizeof p.path, "/proc/self/fd/%d%s%s", fd, name ? "/" : "", name ? name : "");
	return p;
}

/* The path of a name in a directory, or from where we are, as the calls that take a directory mean it. */
static const char *path_in(int fd, const char *name, struct xattr_place *room)
{
	if (fd == AT_FDCWD)
		return name;
	*room = place_of(fd, name);
	return room->path;
}

/* For the descriptor itself. An O_PATH descriptor is reached through its magic link, which leads to its own file. */

static ssize_t list_own(int fd, char *to, size_t room)
{
	ssize_t n = flistxattr(fd, to, room);
	if (n >= 0 || errno != EBADF)
		return n;
	struct xattr_place p = place_of(fd, NULL);
	return listxattr(p.path, to, room);
}

static ssize_t get_own(int fd, const char *attribute, char *to, size_t room)
{
	ssize_t n = fgetxattr(fd, attribute, to, room);
	if (n >= 0 || errno != EBADF)
		return n;
	struct xattr_place p = place_of(fd, NULL);
	return getxattr(p.path, attribute, to, room);
}

static int remove_own(int fd, const char *attribute)
{
	int rc = fremovexattr(fd, attribute);
	if (rc >= 0 || errno != EBADF)
		return rc;
	struct xattr_place p = place_of(fd, NULL);
	return removexattr(p.path, attribute);
}

/* For a name in a directory, without following it. */

static ssize_t list_in(int fd, const char *name, char *to, size_t room)
{
	long n = syscall(NR_LISTXATTRAT, fd, name, AT_SYMLINK_NOFOLLOW, to, room);
	if (!is_unknown_call(n))
		return n;
	struct xattr_place p;
	return llistxattr(path_in(fd, name, &p), to, room);
}

static ssize_t get_in(int fd, const char *name, const char *attribute, char *to, size_t room)
{
	struct xattrat_args args = {.value = (uintptr_t)to, .size = (uint32_t)room};
	long n = syscall(NR_GETXATTRAT, fd, name, AT_SYMLINK_NOFOLLOW, attribute, &args, sizeof args);
	if (!is_unknown_call(n))
		return n;
	struct xattr_place p;
	return lgetxattr(path_in(fd, name, &p), attribute, to, room);
}

static long remove_in(int fd, const char *name, const char *attribute)
{
	long rc = syscall(NR_REMOVEXATTRAT, fd, name, AT_SYMLINK_NOFOLLOW, attribute);
	if (!is_unknown_call(rc))
		return rc;
	struct xattr_place p;
	return lremovexattr(path_in(fd, name, &p), attribute);
}

static ssize_t list(int fd, const char *name, struct buf *b)
{
	size_t room = b->cap - 1;
	return name ? list_in(fd, name, b->data, room) : list_own(fd, b->data, room);
}

static ssize_t get(int fd, const char *name, const char *attribute, struct buf *b)
{
	size_t room = b->cap - 1;
	return name ? get_in(fd, name, attribute, b->data, room) : get_own(fd, attribute, b->data, room);
}

/* Makes room for size bytes and a NUL; the content is lost. */
static int make_room(struct buf *b, size_t size)
{
	b->len = 0;
	if (b->cap > size)
		return 0;
	buf_done(b);
	b->data = malloc(size + 1);
	if (!b->data)
		return -ENOMEM;
	b->cap = size + 1;
	return 0;
}

/* Tries a small buffer first, because lists and values are almost always small; then the largest possible. attribute
 * NULL: the list. */
static int fill(int fd, const char *name, const char *attribute, struct buf *ret)
{
	static const size_t sizes[] = {512, XATTR_SIZE_MAX};
	for (size_t i = 0; i < AL_ARRAY_LEN(sizes); i++) {
		int rc = make_room(ret, sizes[i]);
		if (rc < 0)
			return rc;
		ssize_t n = attribute ? get(fd, name, attribute, ret) : list(fd, name, ret);
		if (n >= 0) {
			ret->len = (size_t)n;
			ret->data[n] = '\0';
			return 0;
		}
		if (errno != ERANGE)
			return -errno;
	}
	return -E2BIG;
}

int xattrs_list(int fd, const char *name, struct buf *ret)
{
	int rc = fill(fd, name, NULL, ret);
	return rc == -EOPNOTSUPP ? 0 : rc;
}

int xattrs_get(int fd, const char *name, const char *attribute, struct buf *ret)
{
	return fill(fd, name, attribute, ret);
}

int xattrs_remove(int fd, const char *name, const char *attribute)
{
	long rc = name ? remove_in(fd, name, attribute) : remove_own(fd, attribute);
	return rc < 0 ? -errno : 0;
}

int xattrs_set(int fd, const char *attribute, const void *value, size_t len)
{
	struct xattr_place p = place_of(fd, NULL);
	return setxattr(p.path, attribute, value, len, 0) < 0 ? -errno : 0;
}
