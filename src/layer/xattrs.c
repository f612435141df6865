/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "layer/xattrs.h"

#include <linux/limits.h>
#include <stdio.h>
#include <sys/xattr.h>

struct place {
	char path[sizeof "/proc/self/fd/-2147483648/" + NAME_MAX];
};

static struct place place_of(int fd, const char *name)
{
	struct place p;
	(void)snprintf(p.path, sizeof p.path, "/proc/self/fd/%d%s%s", fd, name ? "/" : "", name ? name : "");
	return p;
}

/* The magic link is followed to the descriptor's own file; a name in a directory is not followed further. */

static ssize_t list(const struct place *p, bool itself, struct buf *b)
{
	size_t room = b->cap - 1;
	return itself ? listxattr(p->path, b->data, room) : llistxattr(p->path, b->data, room);
}

static ssize_t get(const struct place *p, bool itself, const char *attribute, struct buf *b)
{
	size_t room = b->cap - 1;
	return itself ? getxattr(p->path, attribute, b->data, room) : lgetxattr(p->path, attribute, b->data, room);
}

/* Room for size bytes and a NUL; the content is lost. */
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

/* Lists and values are almost always small; the largest possible comes second. attribute NULL: the list. */
static int fill(int fd, const char *name, const char *attribute, struct buf *ret)
{
	static const size_t sizes[] = {512, XATTR_SIZE_MAX};
	struct place p = place_of(fd, name);
	for (size_t i = 0; i < AL_ARRAY_LEN(sizes); i++) {
		int rc = make_room(ret, sizes[i]);
		if (rc < 0)
			return rc;
		ssize_t n = attribute ? get(&p, !name, attribute, ret) : list(&p, !name, ret);
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
	struct place p = place_of(fd, name);
	int rc = name ? lremovexattr(p.path, attribute) : removexattr(p.path, attribute);
	return rc < 0 ? -errno : 0;
}
