/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "child/watch.h"

#include "child/raw_calls.h"

#include <linux/fcntl.h>
#include <stddef.h>

#define PAGE_BYTES 4096
#define MAX_TRACKED 4096 /* processes looked at in one round; more than any profile's limit of them */

struct dirent_raw {
	uint64_t ino;
	int64_t off;
	uint16_t reclen;
	uint8_t type;
	char name[];
};

/* /proc/<pid>/<file> into a buffer; returns its length, or a negative number when the process is gone. */
static long read_proc(int pid, const char *file, char *buf, size_t size)
{
	char path[48] = "/proc/", digits[12];
	size_t n = 0, at = 6;
	for (int v = pid; v || !n; v /= 10)
		digits[n++] = (char)('0' + v % 10);
	while (n)
		path[at++] = digits[--n];
	path[at++] = '/';
	while (*file && at + 1 < sizeof path)
		path[at++] = *file++;
	path[at] = '\0';
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

static int64_t parse_number(const char **p)
{
	while (**p == ' ' || **p == '\t')
		(*p)++;
	int64_t v = 0;
	for (; **p >= '0' && **p <= '9'; (*p)++)
		v = v * 10 + (**p - '0');
	return v;
}

struct entry {
	int pid, parent;
	int64_t threads;
};

/* Parent and thread count from /proc/<pid>/stat: the name in parentheses may contain anything, so read from its last ')'. */
static int read_entry(int pid, struct entry *ret)
{
	char buf[512];
	long n = read_proc(pid, "stat", buf, sizeof buf);
	if (n <= 0)
		return -1;
	const char *p = buf + n;
	while (p > buf && *p != ')')
		p--;
	if (p[0] != ')' || p[1] != ' ' || p[2] == 'Z' || p[2] == 'X')
		return -1;
	p += 3;
	ret->pid = pid;
	ret->parent = (int)parse_number(&p);
	for (int field = 5; field < 20; field++) { /* pgrp (5) … nice (19); the next is num_threads */
		while (*p == ' ')
			p++;
		while (*p && *p != ' ')
			p++;
	}
	ret->threads = parse_number(&p);
	return 0;
}

static size_t list_processes(struct entry *out, size_t max)
{
	long fd = r_open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	size_t count = 0;
	char buf[4096] __attribute__((aligned(8)));
	long n;
	while (count < max && (n = raw_call3(__NR_getdents64, fd, buf, sizeof buf)) > 0) {
		for (long at = 0; at < n && count < max;) {
			const struct dirent_raw *d = (const void *)(buf + at);
			at += d->reclen;
			const char *p = d->name;
			int pid = (int)parse_number(&p);
			if (pid > 1 && *p == '\0' && read_entry(pid, &out[count]) == 0)
				count++;
		}
	}
	(void)r_close((int)fd);
	return count;
}

static int descends_from(const struct entry *list, size_t n, const struct entry *e, int ancestor)
{
	int parent = e->parent;
	for (size_t hops = 0; hops < n + 1; hops++) {
		if (parent == ancestor)
			return 1;
		size_t i = 0;
		while (i < n && list[i].pid != parent)
			i++;
		if (i == n)
			return 0;
		parent = list[i].parent;
	}
	return 0;
}

/* Resident anonymous and shared-memory pages; file pages are the page cache's. statm is always readable. */
static int64_t cheap_memory(int pid)
{
	char buf[256];
	if (read_proc(pid, "statm", buf, sizeof buf) <= 0)
		return 0;
	const char *p = buf;
	(void)parse_number(&p);
	int64_t resident = parse_number(&p), shared = parse_number(&p);
	return (resident - shared) * PAGE_BYTES;
}

static int starts_with(const char *s, const char *prefix)
{
	while (*prefix)
		if (*s++ != *prefix++)
			return 0;
	return 1;
}

/* Proportional share of the same, or the cheap figure when the process hides its maps. */
static int64_t exact_memory(int pid)
{
	char buf[2048];
	if (read_proc(pid, "smaps_rollup", buf, sizeof buf) <= 0)
		return cheap_memory(pid);
	int64_t kb = 0;
	for (const char *p = buf; *p;) {
		const char *line = p;
		while (*p && *p != '\n')
			p++;
		if (starts_with(line, "Pss_Anon:") || starts_with(line, "Pss_Shmem:")) {
			line += starts_with(line, "Pss_Anon:") ? 9 : 10;
			kb += parse_number(&line);
		}
		p += *p == '\n';
	}
	return kb * 1024;
}

struct watch_totals watch_measure(int ancestor, int64_t limit)
{
	struct entry list[MAX_TRACKED];
	struct watch_totals t = {0, 0};
	size_t n = list_processes(list, MAX_TRACKED);
	for (size_t i = 0; i < n; i++) {
		if (ancestor && !descends_from(list, n, &list[i], ancestor))
			list[i].pid = 0;
		else
			t.processes += list[i].threads;
	}
	for (size_t i = 0; limit >= 0 && i < n; i++)
		t.memory += list[i].pid ? cheap_memory(list[i].pid) : 0;
	if (limit < 0 || t.memory <= limit)
		return t;
	t.memory = 0;
	for (size_t i = 0; i < n; i++)
		t.memory += list[i].pid ? exact_memory(list[i].pid) : 0;
	return t;
}

void watch_signal_descendants(int ancestor, int sig)
{
	struct entry list[MAX_TRACKED];
	size_t n = list_processes(list, MAX_TRACKED);
	for (size_t i = 0; i < n; i++)
		if (descends_from(list, n, &list[i], ancestor))
			(void)r_kill(list[i].pid, sig);
}
