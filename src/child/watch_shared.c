/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Theory of operation. The kernel does not tell whose a page of shared memory is. It tells
 *   - what is mapped: Pss_Shmem of each process, with pages of files in tmpfs among it;
 *   - what there is: blocks of memory files (by the descriptors that are open), of System V segments, of a tmpfs;
 *   - what the whole machine has, and so how that grew while the command ran.
 * The first two overlap, for a memory file may be mapped: the truth lies between the larger of them and their sum. The growth
 * is the truth as long as nobody else on the machine allocates any, so it decides between these two.
 *
 * A command can keep memory files from being seen: in a process that may not be looked at (PR_SET_DUMPABLE), or under way in
 * a socket, where they belong to no process. Then nothing bounds the estimate from above, and the growth alone decides. That
 * may blame others' memory on the command, but only on one that does such things while the machine's shared memory grows. */
#include "child/watch_shared.h"

#include "child/raw_calls.h"
#include "child/watch_proc.h"

#include <asm/statfs.h>
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/magic.h>
#include <linux/stat.h>

static int begins_with(const char *s, const char *prefix)
{
	while (*prefix)
		if (*s++ != *prefix++)
			return 0;
	return 1;
}

static void add_memory_file(struct watch_shared *s, const char *path)
{
	struct statx st;
	if (raw_call5(__NR_statx, AT_FDCWD, path, 0, STATX_BLOCKS | STATX_INO, &st) < 0)
		return;
	for (size_t i = 0; i < s->n_seen; i++)
		if (s->seen[i] == st.stx_ino)
			return;
	if (s->n_seen == WATCH_MEMORY_FILES) {
		s->hidden = 1; /* more than we can distinguish */
		return;
	}
	s->seen[s->n_seen++] = st.stx_ino;
	s->objects += (int64_t)st.stx_blocks * 512;
}

struct descriptors {
	struct watch_shared *shared;
	int thread;
};

static int visit_descriptor(int number, void *data)
{
	struct descriptors *d = data;
	char path[WATCH_PATH], target[16], info[1024];
	watch_path_numbered(path, d->thread, "fd", number);
	long n = raw_call4(__NR_readlinkat, AT_FDCWD, path, target, sizeof target - 1);
	if (n <= 0)
		return 0;
	target[n] = '\0';
	if (begins_with(target, "/memfd:"))
		add_memory_file(d->shared, path);
	if (begins_with(target, "socket:")) {
		watch_path_numbered(path, d->thread, "fdinfo", number);
		if (watch_read(path, info, sizeof info) > 0 && watch_find_number(info, "scm_fds:") > 0)
			d->shared->hidden = 1;
	}
	return 0;
}

/* False for a thread that is ending: the kernel takes its memory first. */
static int has_memory(int thread)
{
	char path[WATCH_PATH], buf[256];
	watch_path(path, thread, "statm");
	const char *p = buf;
	return watch_read(path, buf, sizeof buf) > 0 && watch_parse_number(&p) > 0;
}

void watch_shared_add_files(struct watch_shared *s, int thread)
{
	char path[WATCH_PATH];
	watch_path(path, thread, "fd");
	/* A process that has just ended hides nothing, though its descriptors belong to root from the moment it has no memory. */
	if (watch_each_number(path, visit_descriptor, &(struct descriptors){s, thread}) == -EACCES &&
	    has_memory(thread))
		s->hidden = 1;
}

static void add_segments(struct watch_shared *s)
{
	char buf[8192];
	long n = watch_read("/proc/sysvipc/shm", buf, sizeof buf);
	if (n >= (long)sizeof buf - 1)
		s->hidden = 1;
	const char *p = buf;
	while (n > 0 && *p && *p != '\n') /* the line with the titles */
		p++;
	while (n > 0 && *p == '\n') {
		p++;
		for (int field = 0; field < 14 && *p && *p != '\n'; field++) { /* rss is the fifteenth */
			while (*p == ' ')
				p++;
			while (*p && *p != ' ' && *p != '\n')
				p++;
		}
		s->objects += watch_parse_number(&p); /* swap, behind it, would be zero or more */
		while (*p && *p != '\n')
			p++;
	}
}

/* The sandbox's directories in memory; some may be the same, or on a disk. */
void watch_shared_add_places(struct watch_shared *s)
{
	static const char *const places[] = {"/tmp", "/dev/shm", "/var/tmp"};
	uint64_t counted[3] = {0};
	size_t n_counted = 0;
	for (size_t i = 0; i < 3; i++) {
		struct statx st;
		struct statfs fs;
		if (raw_call5(__NR_statx, AT_FDCWD, places[i], 0, STATX_INO, &st) < 0 ||
		    raw_call2(__NR_statfs, places[i], &fs) < 0 || fs.f_type != TMPFS_MAGIC)
			continue;
		uint64_t device = (uint64_t)st.stx_dev_major << 32 | st.stx_dev_minor;
		size_t k = 0;
		while (k < n_counted && counted[k] != device)
			k++;
		if (k < n_counted)
			continue;
		counted[n_counted++] = device;
		s->objects += (int64_t)(fs.f_blocks - fs.f_bfree) * (int64_t)fs.f_bsize;
	}
	add_segments(s);
}

int64_t watch_shared_total(const struct watch_shared *s, int64_t bound)
{
	int64_t least = s->objects > s->mapped ? s->objects : s->mapped, most = s->objects + s->mapped;
	if (bound <= least)
		return least;
	return bound > most && (!s->hidden || bound == INT64_MAX) ? most : bound;
}
