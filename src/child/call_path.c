/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "child/call_path.h"

#include "child/raw_calls.h"

#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/openat2.h>
#include <linux/stat.h>

#define MAX_LINKS 20

/* Static buffers for all calls: the first process answers them one by one, and its stack is too small for paths. */
static struct {
	char head[PATH_MAX]; /* what may exist */
	char rest[PATH_MAX]; /* what is known to be missing below it */
	char link[PATH_MAX];
} work;

static size_t length(const char *s)
{
	size_t n = 0;
	while (s[n])
		n++;
	return n;
}

static void move_bytes(char *to, const char *from, size_t n)
{
	if (to < from)
		for (size_t i = 0; i < n; i++)
			to[i] = from[i];
	else
		while (n--)
			to[n] = from[n];
}

static long open_name(int base, const char *path, int follow)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW),
			       .resolve = RESOLVE_NO_MAGICLINKS};
	return raw_call4(__NR_openat2, base, path, &how, sizeof how);
}

/* The name of an open file, in our own root. */
static long name_of(int fd, char *out, size_t size)
{
	char link[32] = "/proc/self/fd/", digits[12];
	size_t n = 0, at = 14;
	do
		digits[n++] = (char)('0' + fd % 10);
	while (fd /= 10);
	while (n)
		link[at++] = digits[--n];
	link[at] = '\0';
	long len = raw_call4(__NR_readlinkat, AT_FDCWD, link, out, size - 1);
	if (len < 0)
		return len;
	if (len >= (long)size - 1 || len == 0 || out[0] != '/')
		return -ENOENT;
	out[len] = '\0';
	return len;
}

/* Moves the last name of head to the front of rest. 0 if there is none. */
static int pop_name(void)
{
	char *head = work.head, *rest = work.rest;
	size_t n = length(head), had = length(rest);
	while (n > 1 && head[n - 1] == '/')
		head[--n] = '\0';
	size_t from = n;
	while (from > 0 && head[from - 1] != '/')
		from--;
	size_t name = n - from;
	if (name == 0 || (name == 1 && head[from] == '.') || name + 1 + had >= PATH_MAX)
		return 0;
	if (had) {
		move_bytes(rest + name + 1, rest, had + 1);
		rest[name] = '/';
	} else
		rest[name] = '\0';
	move_bytes(rest, head + from, name);
	if (from == 0)
		head[from++] = '.';
	head[from] = '\0';
	return 1;
}

static size_t first_name(const char *rest)
{
	size_t n = 0;
	while (rest[n] && rest[n] != '/')
		n++;
	return n;
}

/* The first name of rest is a dangling link in dir: its text, and what comes after it, is the new path. */
static int take_link(int dir, int follow)
{
	size_t name = first_name(work.rest);
	char after = work.rest[name];
	if (!follow && !after)
		return 0;
	work.rest[name] = '\0';
	long n = raw_call4(__NR_readlinkat, dir, work.rest, work.link, PATH_MAX);
	work.rest[name] = after;
	size_t tail = length(work.rest + name);
	if (n <= 0 || (size_t)n + tail >= PATH_MAX)
		return 0;
	move_bytes(work.head, work.link, (size_t)n);
	move_bytes(work.head + n, work.rest + name, tail + 1);
	work.rest[0] = '\0';
	return 1;
}

/* The deepest existing part of head; the others go to rest. */
static long open_existing(int base, int follow)
{
	for (;;) {
		long fd = open_name(base, work.head, follow || work.rest[0]);
		if (fd != -ENOENT)
			return fd;
		if (!pop_name())
			return -ENOENT;
	}
}

static long tell_missing(int dir, struct resolved *ret)
{
	long n = name_of(dir, ret->path, sizeof ret->path);
	if (n < 0)
		return n;
	size_t len = (size_t)n, rest = length(work.rest);
	if (len > 1)
		ret->path[len++] = '/';
	if (len + rest >= sizeof ret->path)
		return -ENAMETOOLONG;
	move_bytes(ret->path + len, work.rest, rest + 1);
	ret->first_missing = len + first_name(work.rest);
	ret->len = len + rest;
	while (ret->len > ret->first_missing && ret->path[ret->len - 1] == '/')
		ret->path[--ret->len] = '\0';
	ret->type = 0;
	return 0;
}

static long tell_existing(int fd, struct resolved *ret)
{
	struct statx st;
	long n = name_of(fd, ret->path, sizeof ret->path);
	if (n >= 0 && raw_call5(__NR_statx, fd, "", AT_EMPTY_PATH, STATX_TYPE, &st) < 0)
		n = -ENOENT;
	if (n < 0)
		return n;
	ret->len = ret->first_missing = (size_t)n;
	ret->type = st.stx_mode & S_IFMT;
	return 0;
}

long resolve_path(int base, const char *path, int follow, struct resolved *ret)
{
	long rc = -ELOOP, from = -1; /* from: the directory of the link we came over */
	move_bytes(work.head, path, length(path) + 1);
	work.rest[0] = '\0';
	for (int links = 0; links < MAX_LINKS; links++) {
		long fd = open_existing(from >= 0 ? (int)from : base, follow);
		if (from >= 0)
			(void)r_close((int)from);
		from = fd;
		if (fd < 0)
			return fd;
		if (!work.rest[0])
			rc = tell_existing((int)fd, ret);
		else if (take_link((int)fd, follow))
			continue;
		else
			rc = tell_missing((int)fd, ret);
		break;
	}
	(void)r_close((int)from);
	return rc;
}
