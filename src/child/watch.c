/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Theory of operation. A look happens every few milliseconds, so the first sum is cheap and never too small: private
 * pages of every process, and the growth of the machine's shared memory, look by look, since the sandbox's own was
 * last known. Memory that others free is not subtracted: it would hide what the command takes. Only if the sum exceeds
 * the limit, the expensive files are read (smaps_rollup, every descriptor), which divide pages that processes share
 * after fork and leave out what others on the machine have (watch_shared.c).
 *
 * The first thread of a process may end before the others. The process is then a zombie with threads and has no memory
 * or descriptors in its own files, so it must be examined through one of its threads. */
#include "child/watch.h"

#include "child/raw_calls.h"
#include "child/watch_proc.h"
#include "child/watch_shared.h"

#include <linux/errno.h>
#include <stddef.h>

#define PAGE_BYTES 4096
#define MAX_TRACKED 4096 /* processes examined in one round; more than any profile's limit */

struct watched_process {
	int pid, parent;
	int thread; /* the number to examine it by: pid, or a live thread */
	int64_t threads;
};

struct stat_line {
	char state;
	int parent;
	int64_t threads;
};

/* From /proc/<pid>/stat: the name in parentheses may contain anything, so read from its last ')'. */
static int read_stat(int pid, struct stat_line *ret)
{
	char path[WATCH_PATH], buf[512];
	watch_path(path, pid, "stat");
	long n = watch_read(path, buf, sizeof buf);
	if (n <= 0)
		return -1;
	const char *p = buf + n;
	while (p > buf && *p != ')')
		p--;
	if (p[0] != ')' || p[1] != ' ')
		return -1;
	ret->state = p[2];
	p += 3;
	ret->parent = (int)watch_parse_number(&p);
	for (int field = 5; field < 20; field++) { /* pgrp (5) … nice (19); the next is num_threads */
		while (*p == ' ')
			p++;
		while (*p && *p != ' ')
			p++;
	}
	ret->threads = watch_parse_number(&p);
	return 0;
}

static int is_over(const struct stat_line *s)
{
	return s->state == 'Z' || s->state == 'X';
}

static int take_live_thread(int thread, void *data)
{
	struct stat_line s;
	if (read_stat(thread, &s) < 0 || is_over(&s))
		return 0;
	*(int *)data = thread;
	return 1;
}

static int read_entry(int pid, struct watched_process *ret)
{
	struct stat_line s;
	if (read_stat(pid, &s) < 0)
		return -1;
	*ret = (struct watched_process){pid, s.parent, pid, s.threads};
	if (!is_over(&s))
		return 0;
	char path[WATCH_PATH];
	ret->thread = 0;
	watch_path(path, pid, "task");
	if (s.threads > 1)
		(void)watch_each_number(path, take_live_thread, &ret->thread);
	return ret->thread ? 0 : -1;
}

struct list {
	struct watched_process *v;
	size_t n, max;
};

static int list_one(int pid, void *data)
{
	struct list *l = data;
	if (pid > 1 && read_entry(pid, &l->v[l->n]) == 0)
		l->n++;
	return l->n == l->max;
}

static size_t list_processes(struct watched_process *out, size_t max)
{
	struct list l = {out, 0, max};
	(void)watch_each_number("/proc", list_one, &l);
	return l.n;
}

static int descends_from(const struct watched_process *list, size_t n, const struct watched_process *e, int ancestor)
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

/* Resident pages that no file and no shared memory backs. statm is always readable. */
static int64_t cheap_memory(int thread)
{
	char path[WATCH_PATH], buf[256];
	watch_path(path, thread, "statm");
	if (watch_read(path, buf, sizeof buf) <= 0)
		return 0;
	const char *p = buf;
	(void)watch_parse_number(&p);
	int64_t resident = watch_parse_number(&p), shared = watch_parse_number(&p);
	return (resident - shared) * PAGE_BYTES;
}

static int64_t machine_shared(void)
{
	char buf[2048];
	if (watch_read("/proc/meminfo", buf, sizeof buf) <= 0)
		return -1;
	int64_t kb = watch_find_number(buf, "Shmem:");
	return kb < 0 ? -1 : kb * 1024;
}

/* The private memory of a process; its shared memory is added to `shared`. */
static int64_t exact_memory(int thread, struct watch_shared *shared)
{
	char path[WATCH_PATH], buf[2048];
	watch_path(path, thread, "smaps_rollup");
	long n = watch_read(path, buf, sizeof buf);
	int may_look = n != -EACCES;
	if (n <= 0 && may_look)
		return 0; /* it has just ended */
	if (!may_look) {  /* it is not dumpable */
		watch_path(path, thread, "status");
		if (watch_read(path, buf, sizeof buf) <= 0)
			return 0;
		shared->hidden = 1;
	}
	int64_t anonymous = watch_find_number(buf, may_look ? "Pss_Anon:" : "RssAnon:");
	int64_t mapped = watch_find_number(buf, may_look ? "Pss_Shmem:" : "RssShmem:");
	shared->mapped += mapped < 0 ? 0 : mapped * 1024;
	return anonymous < 0 ? 0 : anonymous * 1024;
}

static int add_thread(int thread, void *data)
{
	watch_shared_add_files(data, thread);
	return 0;
}

/* Threads may have their own descriptors (CLONE_FILES), so each is examined. */
static void add_descriptors(const struct watched_process *e, struct watch_shared *shared)
{
	char path[WATCH_PATH];
	watch_path(path, e->pid, "task");
	if (e->threads == 1)
		watch_shared_add_files(shared, e->pid);
	else
		(void)watch_each_number(path, add_thread, shared);
}

static int64_t exact_total(const struct watched_process *list, size_t n, struct watch_history *h)
{
	struct watch_shared shared;
	shared.objects = shared.mapped = 0;
	shared.hidden = 0;
	shared.n_seen = 0;
	int64_t total = 0;
	for (size_t i = 0; i < n; i++) {
		if (!list[i].pid)
			continue;
		total += exact_memory(list[i].thread, &shared);
		add_descriptors(&list[i], &shared);
	}
	watch_shared_add_places(&shared);
	h->own_shared = watch_shared_total(&shared, h->own_shared);
	return total + h->own_shared;
}

void watch_begin(struct watch_history *h)
{
	h->machine_shared = machine_shared();
	h->own_shared = 0;
}

/* Returns whether the machine reports its shared memory. */
static int follow_machine(struct watch_history *h)
{
	int64_t before = h->machine_shared, now = machine_shared();
	h->machine_shared = now;
	if (before >= 0 && now > before)
		h->own_shared += now - before;
	return before >= 0 && now >= 0;
}

struct watch_totals watch_measure(int ancestor, int64_t limit, struct watch_history *h)
{
	struct watched_process list[MAX_TRACKED];
	struct watch_totals t = {0, 0};
	size_t n = list_processes(list, MAX_TRACKED);
	for (size_t i = 0; i < n; i++) {
		if (ancestor && !descends_from(list, n, &list[i], ancestor))
			list[i].pid = 0;
		else
			t.processes += list[i].threads;
	}
	if (limit < 0)
		return t;
	int is_known = follow_machine(h);
	for (size_t i = 0; i < n; i++)
		t.memory += list[i].pid ? cheap_memory(list[i].thread) : 0;
	t.memory += h->own_shared;
	if (!is_known)
		h->own_shared = INT64_MAX; /* then everything that can be found counts, and is searched every time */
	if (t.memory > limit || !is_known)
		t.memory = exact_total(list, n, h);
	return t;
}

void watch_signal_descendants(int ancestor, int sig)
{
	struct watched_process list[MAX_TRACKED];
	size_t n = list_processes(list, MAX_TRACKED);
	for (size_t i = 0; i < n; i++)
		if (descends_from(list, n, &list[i], ancestor))
			(void)r_kill(list[i].pid, sig);
}

struct children {
	int parent, sig;
};

static int signal_child(int pid, void *data)
{
	const struct children *c = data;
	struct watched_process e;
	if (pid > 1 && read_entry(pid, &e) == 0 && e.parent == c->parent)
		(void)r_kill(pid, c->sig);
	return 0;
}

void watch_signal_children(int parent, int sig)
{
	(void)watch_each_number("/proc", signal_child, &(struct children){parent, sig});
}
