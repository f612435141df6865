/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Overlay writes into the upper directory through ordinary calls, so inotify sees what it creates, moves and removes
 * there. It does not see writes, but a file is copied up before its first write.
 *
 * A watch covers one directory, so each new directory gets its own watch before it is listed: an entry made in between
 * is seen twice rather than not at all. Watches are sorted by their numbers, which only grow. */
#include "layer/monitor.h"

#include "base/array.h"
#include "base/buf.h"
#include "fs/beneath.h"
#include "fs/walk.h"
#include "layer/monitor_seen.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <time.h>

#define EVENTS                                                                                                         \
	(IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ATTRIB | IN_CLOSE_WRITE | IN_ONLYDIR |               \
	 IN_DONT_FOLLOW | IN_EXCL_UNLINK)

#define WATCHES_MAX 8192		  /* an eighth of the smallest common quota */
#define WATCH_BYTES_MAX ((size_t)4 << 20) /* of their paths: a very deep tree */
#define BATCHES_MAX 16			  /* reads of one monitor_read */
#define WALK_MAX 100000			  /* entries of one counting */
#define WALK_PAUSE 20			  /* a count is repeated after this many times its own duration */

struct watch {
	int wd;
	size_t root;
	char *path; /* of the directory, relative to its root, "" or with a slash at the end; NULL: gone */
};

struct monitor {
	int fd;
	int *roots; /* upper directories, O_PATH */
	size_t n_roots;
	struct watch *watches;
	size_t n_watches, cap_watches, live_watches, watch_bytes;
	struct monitor_seen seen;
	bool walking; /* events no longer tell everything */
	bool stale;   /* something happened since the last count */
	uint64_t counted;
	int64_t next_count_us;
	struct latest {
		size_t root;
		char *path;
	} latest[MONITOR_LATEST]; /* newest first */
};

/* ── What has changed ── */

static void give_up_events(struct monitor *m)
{
	m->walking = m->stale = true;
}

static void remember(struct monitor *m, size_t root, const char *path)
{
	char *copy = strdup(path);
	if (!copy)
		return;
	free(m->latest[MONITOR_LATEST - 1].path);
	memmove(m->latest + 1, m->latest, (MONITOR_LATEST - 1) * sizeof *m->latest);
	m->latest[0] = (struct latest){root, copy};
}

static bool is_latest(const struct monitor *m, size_t root, const char *path)
{
	return m->latest[0].path && m->latest[0].root == root && strcmp(m->latest[0].path, path) == 0;
}

static void path_changed(struct monitor *m, size_t root, const char *path)
{
	m->stale = true;
	if (!is_latest(m, root, path))
		remember(m, root, path);
	if (!m->walking && monitor_seen_add(&m->seen, monitor_seen_key(root, path)) < 0)
		give_up_events(m);
}

/* Exchanging a file with its whiteout moves both; only a path that is really gone no longer counts. */
static void path_left(struct monitor *m, size_t root, const char *path)
{
	struct stat st;
	m->stale = true;
	if (fs_stat_beneath(m->roots[root], path, &st) == -ENOENT)
		monitor_seen_remove(&m->seen, monitor_seen_key(root, path));
	else
		path_changed(m, root, path);
}

/* ── Watches ── */

static struct watch *find_watch(const struct monitor *m, int wd)
{
	size_t low = 0, high = m->n_watches;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (m->watches[middle].wd == wd)
			return m->watches[middle].path ? &m->watches[middle] : NULL;
		if (m->watches[middle].wd < wd)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static void drop_watch(struct monitor *m, struct watch *w)
{
	m->watch_bytes -= strlen(w->path);
	base_freep(&w->path);
	m->live_watches--;
}

/* Removed watches leave gaps; compacting when most are gaps keeps this cheap. */
static void close_gaps(struct monitor *m)
{
	size_t kept = 0;
	if (m->n_watches < 64 || m->live_watches * 2 > m->n_watches)
		return;
	for (size_t i = 0; i < m->n_watches; i++)
		if (m->watches[i].path)
			m->watches[kept++] = m->watches[i];
	m->n_watches = kept;
}

static int append_watch(struct monitor *m, int wd, size_t root, char *path)
{
	close_gaps(m);
	if (m->n_watches > 0 && m->watches[m->n_watches - 1].wd >= wd)
		return -ENOSPC; /* the numbers have wrapped around, after two billion directories */
	if (!ARRAY_ROOM(m->watches, m->n_watches, m->cap_watches, 16))
		return -ENOMEM;
	m->watches[m->n_watches++] = (struct watch){wd, root, path};
	m->watch_bytes += strlen(path);
	m->live_watches++;
	return 0;
}

/* A moved directory keeps its number and gets its new path. Takes path. */
static int keep_watch(struct monitor *m, int wd, size_t root, char *path)
{
	struct watch *w = find_watch(m, wd);
	if (!w) {
		int rc = append_watch(m, wd, root, path);
		if (rc < 0) {
			(void)inotify_rm_watch(m->fd, wd);
			free(path);
		}
		return rc;
	}
	m->watch_bytes += strlen(path) - strlen(w->path);
	free(w->path);
	w->path = path;
	w->root = root;
	return 0;
}

/* Watches the directory name in dirfd, or dirfd itself; path has a slash at the end, or is "". 0 or -errno. */
static int watch_dir(struct monitor *m, int dirfd, const char *name, size_t root, const char *path)
{
	char proc[sizeof "/proc/self/fd/-2147483648/" + NAME_MAX];
	if (m->live_watches >= WATCHES_MAX || m->watch_bytes + strlen(path) > WATCH_BYTES_MAX)
		return -ENOSPC;
	char *copy = strdup(path);
	if (!copy)
		return -ENOMEM;
	/* The descriptor pins the parent; "." follows its magic link, and the name itself is not followed. */
	(void)snprintf(proc, sizeof proc, "/proc/self/fd/%d/%s", dirfd, name ? name : ".");
	int wd = inotify_add_watch(m->fd, proc, EVENTS);
	if (wd < 0) {
		free(copy);
		return -errno;
	}
	return keep_watch(m, wd, root, copy);
}

/* ── Directories that appear ── */

/* The error is not about this directory, which may be gone or locked, but about our own limits. */
static bool is_shortage(int rc)
{
	return rc == -ENOSPC || rc == -ENOMEM || rc == -EMFILE || rc == -ENFILE;
}

static int on_walked_dir(struct monitor *m, struct fs_walk *w, size_t root, struct buf *path)
{
	buf_addc(path, '/');
	if (path->failed)
		return -ENOMEM;
	int rc = watch_dir(m, fs_walk_dirfd(w), w->name, root, path->data);
	rc = rc < 0 ? rc : fs_walk_enter(w);
	return is_shortage(rc) ? rc : 0;
}

/* Everything below a directory, whose path (with a slash, or "") is in path: it may have arrived with content. Takes
 * fd. */
static int watch_below(struct monitor *m, int fd, size_t root, struct buf *path)
{
	_cleanup_walk_ struct fs_walk w = FS_WALK_INIT;
	size_t prefix = path->len;
	int event = fs_walk_start(&w, fd);
	while (event >= 0 && (event = fs_walk_next(&w)) > 0) {
		const char *below = fs_walk_path(&w);
		path->len = prefix;
		buf_adds(path, below ? below : "");
		if (!below || path->failed)
			return -ENOMEM;
		if (event == FS_WALK_ENTRY)
			path_changed(m, root, path->data);
		int rc = event == FS_WALK_DIR ? on_walked_dir(m, &w, root, path) : 0;
		if (rc < 0 || m->walking)
			return rc;
	}
	return event;
}

/* path has no slash at the end. If something cannot be watched, we count by walking. */
static void dir_appeared(struct monitor *m, size_t root, const char *path)
{
	_cleanup_buf_ struct buf below = BUF_INIT;
	const char *name;
	if (m->walking)
		return;
	_cleanup_close_ int parent = fs_open_parent(m->roots[root], path, &name);
	if (parent < 0)
		return; /* gone again */
	buf_adds(&below, path);
	buf_addc(&below, '/');
	int rc = below.failed ? -ENOMEM : watch_dir(m, parent, name, root, below.data);
	int fd = rc < 0 ? rc : fs_open_dir_at(parent, name, O_RDONLY);
	if (fd >= 0)
		rc = watch_below(m, fd, root, &below);
	if (is_shortage(rc))
		give_up_events(m);
}

/* ── Events ── */

static void on_entry_event(struct monitor *m, const struct watch *w, const struct inotify_event *e)
{
	_cleanup_buf_ struct buf path = BUF_INIT;
	size_t root = w->root; /* w may move when a watch is added */
	buf_adds(&path, w->path);
	buf_adds(&path, e->name);
	if (path.failed) {
		give_up_events(m);
		return;
	}
	bool appeared = e->mask & (IN_CREATE | IN_MOVED_TO);
	if (e->mask & IN_ISDIR) {
		if (appeared)
			dir_appeared(m, root, path.data);
	} else if (e->mask & (IN_DELETE | IN_MOVED_FROM)) {
		path_left(m, root, path.data);
	} else {
		path_changed(m, root, path.data);
	}
}

static void on_event(struct monitor *m, const struct inotify_event *e)
{
	struct watch *w = find_watch(m, e->wd);
	m->stale = true;
	if (e->mask & IN_Q_OVERFLOW)
		give_up_events(m);
	else if (w && e->mask & IN_IGNORED)
		drop_watch(m, w);
	else if (w && e->len > 0)
		on_entry_event(m, w, e);
}

void monitor_read(struct monitor *m)
{
	_Alignas(struct inotify_event) char chunk[16384];
	for (int batch = 0; batch < BATCHES_MAX; batch++) {
		ssize_t n = read(m->fd, chunk, sizeof chunk);
		if (n <= 0)
			return;
		for (size_t at = 0; at < (size_t)n;) {
			const struct inotify_event *e = (const void *)(chunk + at);
			on_event(m, e);
			at += sizeof *e + e->len;
		}
	}
}

/* ── Counting by walking ── */

static int64_t now_us(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* Continues counting at n. */
static uint64_t count_in(int root_fd, uint64_t n)
{
	_cleanup_walk_ struct fs_walk w = FS_WALK_INIT;
	int fd = fs_open_dir_at(root_fd, ".", O_RDONLY);
	int event = fd < 0 ? fd : fs_walk_start(&w, fd);
	for (size_t steps = 0; event >= 0 && steps < WALK_MAX && (event = fs_walk_next(&w)) > 0; steps++) {
		n += event == FS_WALK_ENTRY;
		if (event == FS_WALK_DIR)
			(void)fs_walk_enter(&w);
	}
	return n;
}

static void count_by_walking(struct monitor *m)
{
	int64_t start = now_us();
	if (!m->stale || start < m->next_count_us)
		return;
	m->stale = false;
	m->counted = 0;
	for (size_t i = 0; i < m->n_roots; i++)
		m->counted = count_in(m->roots[i], m->counted);
	int64_t end = now_us();
	m->next_count_us = end + (end - start) * WALK_PAUSE;
}

uint64_t monitor_count(struct monitor *m)
{
	if (!m->walking)
		return m->seen.n;
	count_by_walking(m);
	return m->counted;
}

bool monitor_is_exact(const struct monitor *m)
{
	return !m->walking;
}

size_t monitor_latest(const struct monitor *m, struct monitor_path *ret, size_t max)
{
	size_t n = 0;
	for (; n < max && n < MONITOR_LATEST && m->latest[n].path; n++)
		ret[n] = (struct monitor_path){m->latest[n].root, m->latest[n].path};
	return n;
}

/* ── Opening ── */

static int watch_root(struct monitor *m, size_t root, const char *upper)
{
	_cleanup_buf_ struct buf path = BUF_INIT;
	m->roots[root] = open(upper, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (m->roots[root] < 0)
		return -errno;
	m->n_roots++;
	int rc = watch_dir(m, m->roots[root], NULL, root, "");
	if (rc < 0)
		return rc;
	int fd = fs_open_dir_at(m->roots[root], ".", O_RDONLY);
	rc = fd < 0 ? fd : watch_below(m, fd, root, &path);
	if (is_shortage(rc))
		give_up_events(m);
	return AL_MIN(fd, 0);
}

int monitor_open(const char *const *uppers, size_t n, struct monitor **ret)
{
	struct monitor *m = calloc(1, sizeof *m);
	if (!m)
		return -ENOMEM;
	m->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	int rc = m->fd < 0 ? -errno : 0;
	m->roots = rc == 0 ? calloc(n ? n : 1, sizeof *m->roots) : NULL;
	if (rc == 0 && !m->roots)
		rc = -ENOMEM;
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = watch_root(m, i, uppers[i]);
	if (rc < 0)
		monitor_close(m);
	else
		*ret = m;
	return rc;
}

void monitor_close(struct monitor *m)
{
	if (!m)
		return;
	base_closep(&m->fd);
	for (size_t i = 0; i < m->n_roots; i++)
		base_closep(&m->roots[i]);
	for (size_t i = 0; i < m->n_watches; i++)
		free(m->watches[i].path);
	for (size_t i = 0; i < MONITOR_LATEST; i++)
		free(m->latest[i].path);
	monitor_seen_done(&m->seen);
	free(m->watches);
	free(m->roots);
	free(m);
}

int monitor_fd(const struct monitor *m)
{
	return m->fd;
}
