/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "child/watch_proc.h"

#include "child/raw_calls.h"

#include <linux/fcntl.h>

struct dirent_raw {
	uint64_t ino;
	int64_t off;
	uint16_t reclen;
	uint8_t type;
	char name[];
};

static size_t add_text(char path[WATCH_PATH], size_t at, const char *text)
{
	while (*text && at + 1 < WATCH_PATH)
		path[at++] = *text++;
	path[at] = '\0';
	return at;
}

static size_t add_number(char path[WATCH_PATH], size_t at, int number)
{
	char digits[12];
	size_t n = sizeof digits;
	digits[--n] = '\0';
	for (int v = number; v || n == sizeof digits - 1; v /= 10)
		digits[--n] = (char)('0' + v % 10);
	return add_text(path, at, digits + n);
}

void watch_path(char path[WATCH_PATH], int pid, const char *file)
{
	size_t at = add_text(path, 0, "/proc/");
	if (pid)
		at = add_text(path, add_number(path, at, pid), "/");
	(void)add_text(path, at, file);
}

void watch_path_numbered(char path[WATCH_PATH], int pid, const char *file, int number)
{
	watch_path(path, pid, file);
	size_t at = 0;
	while (path[at])
		at++;
	(void)add_number(path, add_text(path, at, "/"), number);
}

long watch_read(const char *path, char *buf, size_t size)
{
	long fd = r_open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return fd;
	size_t len = 0;
	long got;
	while (len + 1 < size && (got = r_read((int)fd, buf + len, size - 1 - len)) > 0)
		len += (size_t)got;
	buf[len] = '\0';
	(void)r_close((int)fd);
	return (long)len;
}

int64_t watch_parse_number(const char **p)
{
	while (**p == ' ' || **p == '\t')
		(*p)++;
	int64_t v = 0;
	for (; **p >= '0' && **p <= '9'; (*p)++)
		v = v * 10 + (**p - '0');
	return v;
}

int64_t watch_find_number(const char *text, const char *name)
{
	while (*text) {
		const char *at = text, *want = name;
		while (*want && *at == *want) {
			at++;
			want++;
		}
		if (!*want)
			return watch_parse_number(&at);
		while (*text && *text != '\n')
			text++;
		text += *text == '\n';
	}
	return -1;
}

long watch_each_number(const char *dir, int (*visit)(int number, void *data), void *data)
{
	long fd = r_open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return fd;
	char buf[4096] __attribute__((aligned(8)));
	long n;
	int done = 0;
	while (!done && (n = raw_call3(__NR_getdents64, fd, buf, sizeof buf)) > 0) {
		for (long at = 0; at < n && !done;) {
			const struct dirent_raw *d = (const void *)(buf + at);
			at += d->reclen;
			const char *p = d->name;
			int number = (int)watch_parse_number(&p);
			if (p != d->name && *p == '\0')
				done = visit(number, data);
		}
	}
	(void)r_close((int)fd);
	return 0;
}
