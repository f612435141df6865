/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A project, the layer of a run in it, and trees to compare with.
 *
 *   static const struct node before[] = {{'f', "a", "old"}, {0}}, after[] = {{'f', "a", "new"}, {0}};
 *   world_make(&w, dir, before, after)       project, layer (as the overlay would leave it) and the scanned set
 *   world_apply(&w, false)                   then w.project looks like w.expected
 *   world_differs(w.project, w.expected)     NULL, or the first difference
 */
#pragma once

#include "identities.h"

#include "base/buf.h"
#include "base/hash.h"
#include "base/path.h"
#include "change/apply/apply.h"
#include "fs/fs.h"
#include "fs/walk.h"

#include <dirent.h>
#include <sys/xattr.h>
#include <time.h>

#define WORLD_RUN "20261115-193012.482731-7f3a"
#define LIVE_TIME 1000000000 /* mtimes of what is in the project */
#define RUN_TIME 1100000000  /* of what the run has made */

struct node {
	char type; /* f, d, l, p (FIFO), h (hard link to the path in text) */
	const char *path, *text;
	mode_t mode;	   /* 0: 0644 or 0755 */
	const char *xattr; /* value of user.test */
};

struct world {
	const char *dir, *project, *expected, *original, *state, *uppers, *upper, *runs, *run, *journal, *locks,
		*record;
	struct strs paths; /* holds those */
	struct change_set *set;
	struct notes notes;
	struct airlock_error err;
};

static inline const struct node *world_find(const struct node *nodes, const char *path)
{
	for (; nodes->type; nodes++)
		if (strcmp(nodes->path, path) == 0)
			return nodes;
	return NULL;
}

static inline mode_t world_mode(const struct node *n)
{
	return n->mode ? n->mode : n->type == 'd' ? 0755 : 0644;
}

static inline bool world_same(const struct node *a, const struct node *b)
{
	return a && b && a->type == b->type && strcmp(a->text ? a->text : "", b->text ? b->text : "") == 0 &&
	       world_mode(a) == world_mode(b) && strcmp(a->xattr ? a->xattr : "", b->xattr ? b->xattr : "") == 0;
}

static inline void world_set_mtime(const char *path, time_t t)
{
	struct timespec times[2] = {{.tv_sec = t, .tv_nsec = 5}, {.tv_sec = t, .tv_nsec = 7}};
	(void)utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW);
}

static inline int world_make_node(const char *base, const struct node *n)
{
	char path[4096], target[4096];
	(void)snprintf(path, sizeof path, "%s/%s", base, n->path);
	switch (n->type) {
	case 'f':
		if (put_file(path, n->text ? n->text : "", 0600) < 0)
			return -1;
		break;
	case 'd':
		if (mkdir(path, 0700) < 0)
			return -1;
		break;
	case 'l':
		return symlink(n->text, path);
	case 'p':
		return mkfifo(path, 0644);
	case 'h':
		(void)snprintf(target, sizeof target, "%s/%s", base, n->text);
		return link(target, path);
	default:
		return -1;
	}
	return n->xattr && setxattr(path, "user.test", n->xattr, strlen(n->xattr), 0) < 0 && errno != EOPNOTSUPP ? -1
														 : 0;
}

/* Modes and times come last: a directory may not be writable. */
static inline void world_finish_node(const char *base, const struct node *n, time_t t)
{
	char path[4096];
	(void)snprintf(path, sizeof path, "%s/%s", base, n->path);
	if (n->type == 'f' || n->type == 'd')
		(void)chmod(path, world_mode(n));
	if (n->type != 'h')
		world_set_mtime(path, t);
}

static inline size_t world_count(const struct node *nodes)
{
	size_t n = 0;
	while (nodes[n].type)
		n++;
	return n;
}

/* Nodes are listed parents first. */
static inline int world_make_tree(const char *base, const struct node *nodes)
{
	for (const struct node *n = nodes; n->type; n++)
		if (world_make_node(base, n) < 0)
			return -1;
	for (size_t i = world_count(nodes); i-- > 0;)
		world_finish_node(base, &nodes[i], LIVE_TIME + (time_t)i);
	world_set_mtime(base, LIVE_TIME - 1);
	return 0;
}

static inline bool world_is_child(const char *path, const char *dir)
{
	size_t n = strlen(dir);
	if (n == 0)
		return !strchr(path, '/');
	return strncmp(path, dir, n) == 0 && path[n] == '/' && !strchr(path + n + 1, '/');
}

/* Whether an entry of the directory differs: what is about a directory in it changes that one only. */
static inline bool world_touched(const struct node *before, const struct node *after, const char *dir)
{
	for (const struct node *n = after; n->type; n++) {
		const struct node *old = world_find(before, n->path);
		bool directories = old && old->type == 'd' && n->type == 'd';
		if (world_is_child(n->path, dir) && !directories && !world_same(n, old))
			return true;
	}
	for (const struct node *n = before; n->type; n++)
		if (world_is_child(n->path, dir) && !world_find(after, n->path))
			return true;
	return false;
}

static inline bool world_changed_below(const struct node *before, const struct node *after, const char *dir)
{
	size_t len = strlen(dir);
	for (const struct node *n = after; n->type; n++)
		if (strncmp(n->path, dir, len) == 0 && n->path[len] == '/' &&
		    !world_same(n, world_find(before, n->path)))
			return true;
	for (const struct node *n = before; n->type; n++)
		if (strncmp(n->path, dir, len) == 0 && n->path[len] == '/' && !world_find(after, n->path))
			return true;
	return false;
}

static inline int world_make_whiteout(const char *base, const char *path)
{
	char full[4096];
	(void)snprintf(full, sizeof full, "%s/%s", base, path);
	return mknod(full, S_IFCHR | 0600, 0);
}

static inline time_t world_time(const struct node *before, const struct node *after, const struct node *n)
{
	const struct node *old = world_find(before, n->path);
	bool changed = !world_same(n, old) || (n->type == 'd' && world_touched(before, after, n->path));
	return changed ? RUN_TIME + (time_t)(n - after) : LIVE_TIME + (time_t)(old - before);
}

/* A file that a new name was given to is copied into the layer, as it is. */
static inline bool world_gets_name(const struct node *before, const struct node *after, const struct node *n)
{
	for (const struct node *h = after; h->type; h++)
		if (h->type == 'h' && !world_find(before, h->path) && strcmp(h->text, n->path) == 0)
			return true;
	return false;
}

/* What the overlay leaves: whatever differs, the directories on the way, whiteouts. */
static inline int world_make_layer(const char *upper, const struct node *before, const struct node *after)
{
	for (const struct node *n = after; n->type; n++) {
		bool needed = !world_same(n, world_find(before, n->path)) ||
			      (n->type == 'd' && world_changed_below(before, after, n->path)) ||
			      world_gets_name(before, after, n);
		if (needed && world_make_node(upper, n) < 0)
			return -1;
	}
	for (const struct node *n = before; n->type; n++) {
		_cleanup_free_ char *parent = path_dirname(n->path);
		bool top = !strchr(n->path, '/');
		const struct node *above = top ? NULL : world_find(after, parent);
		if (!world_find(after, n->path) && (top || (above && above->type == 'd')) &&
		    world_make_whiteout(upper, n->path) < 0)
			return -1;
	}
	for (size_t i = world_count(after); i-- > 0;)
		world_finish_node(upper, &after[i], world_time(before, after, &after[i]));
	world_set_mtime(upper, world_touched(before, after, "") ? RUN_TIME - 1 : LIVE_TIME - 1);
	return 0;
}

static inline int world_make_expected(const char *base, const struct node *before, const struct node *after)
{
	if (world_make_tree(base, after) < 0)
		return -1;
	for (size_t i = world_count(after); i-- > 0;)
		world_finish_node(base, &after[i], world_time(before, after, &after[i]));
	world_set_mtime(base, world_touched(before, after, "") ? RUN_TIME - 1 : LIVE_TIME - 1);
	return 0;
}

static inline int64_t world_now(const char *dir)
{
	struct stat st;
	const char *marker = in_dir(dir, "marker");
	(void)put_file(marker, "", 0600);
	(void)stat(marker, &st);
	(void)unlink(marker);
	return st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec;
}

static inline const char *world_path(struct world *w, const char *dir, const char *name)
{
	strs_take(&w->paths, path_join(dir, name));
	return w->paths.v[w->paths.n - 1];
}

static inline void world_paths(struct world *w, const char *dir, const char *state_base)
{
	*w = (struct world){0};
	w->dir = world_path(w, dir, "");
	w->project = world_path(w, dir, "project");
	w->expected = world_path(w, dir, "expected");
	w->original = world_path(w, dir, "original");
	w->state = world_path(w, state_base, "state");
	w->runs = world_path(w, w->state, "runs");
	w->run = world_path(w, w->runs, WORLD_RUN);
	w->uppers = world_path(w, w->run, "upper");
	w->upper = world_path(w, w->uppers, "overlay0");
	w->record = world_path(w, w->run, "changes");
	w->journal = world_path(w, w->state, "journal");
	w->locks = world_path(w, w->state, "locks");
}

static inline int world_make_dirs(struct world *w)
{
	return mkdir(w->project, 0755) | mkdir(w->state, 0700) | mkdir(w->runs, 0700) | mkdir(w->run, 0700) |
	       mkdir(w->uppers, 0700) | mkdir(w->upper, 0755);
}

/* The clock of ctimes ticks every few milliseconds: what comes later must be later. */
static inline void world_tick(void)
{
	struct timespec t = {.tv_nsec = 5000000};
	(void)nanosleep(&t, NULL);
}

/* Project, layer and record. */
static inline int world_make_live(struct world *w, const struct node *before, const struct node *after)
{
	if (world_make_dirs(w) < 0 || world_make_tree(w->project, before) < 0)
		return -1;
	w->set = change_set_new(WORLD_RUN);
	if (!w->set || change_set_add_root(w->set, w->project, w->upper, &w->err) < 0)
		return -1;
	w->set->started_ns = world_now(w->dir);
	if (world_make_layer(w->upper, before, after) < 0 || change_scan(w->set, &w->notes, &w->err) < 0)
		return -1;
	return change_set_save(w->set, w->record, &w->err);
}

/* What the project was and will be. */
static inline int world_make_twins(struct world *w, const struct node *before, const struct node *after)
{
	if (mkdir(w->expected, 0755) < 0 || mkdir(w->original, 0755) < 0)
		return -1;
	return world_make_tree(w->original, before) | world_make_expected(w->expected, before, after);
}

static inline int world_make_at(struct world *w, const char *dir, const char *state_base, const struct node *before,
				const struct node *after)
{
	world_paths(w, dir, state_base);
	return world_make_twins(w, before, after) < 0 ? -1 : world_make_live(w, before, after);
}

static inline int world_make(struct world *w, const char *dir, const struct node *before, const struct node *after)
{
	return world_make_at(w, dir, dir, before, after);
}

static inline int world_execute(struct world *w, const bool *selected, bool undo, bool force)
{
	struct apply_request r = {
		.set = w->set,
		.selected = selected,
		.undo = undo,
		.force = force,
		.run_dir = w->run,
		.journal_dir = w->journal,
		.lock_dir = w->locks,
	};
	w->err = (struct airlock_error){0};
	return apply_execute(&r, &w->notes, &w->err);
}

static inline int world_apply(struct world *w, bool undo)
{
	return world_execute(w, NULL, undo, false);
}

static inline int world_recover(struct world *w, size_t *ret_n)
{
	w->err = (struct airlock_error){0};
	return apply_recover(w->journal, w->runs, ret_n, &w->notes, &w->err);
}

static inline int world_reload(struct world *w)
{
	change_set_free(w->set);
	w->set = NULL;
	return change_set_load(w->record, &w->set, &w->err);
}

static inline void world_done(struct world *w)
{
	change_set_free(w->set);
	notes_done(&w->notes);
	strs_done(&w->paths);
	w->set = NULL;
}

/* Durability is not what these tests are about, and costs most of their time. */
int __wrap_fsync(int fd);
int __wrap_syncfs(int fd);

/* ── Comparing ── */

static inline void world_add_xattrs(struct buf *b, const char *proc)
{
	char names[1024], value[256];
	ssize_t n = llistxattr(proc, names, sizeof names);
	for (char *name = names; n > 0 && name < names + n; name += strlen(name) + 1) {
		ssize_t len = strncmp(name, "user.", 5) == 0 ? lgetxattr(proc, name, value, sizeof value) : -1;
		if (len >= 0)
			buf_printf(b, " %s=%.*s", name, (int)len, value);
	}
}

static inline void world_add_content(struct buf *b, int dirfd, const char *name, const struct stat *st)
{
	char data[65536], sum[65];
	if (S_ISLNK(st->st_mode)) {
		ssize_t n = readlinkat(dirfd, name, data, sizeof data - 1);
		buf_printf(b, " -> %.*s", (int)n, data);
		return;
	}
	int fd = S_ISREG(st->st_mode) ? openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) : -1;
	ssize_t n = fd < 0 ? 0 : read(fd, data, sizeof data);
	hash_sha256_hex(data, n > 0 ? (size_t)n : 0, sum);
	if (S_ISREG(st->st_mode))
		buf_printf(b, " %lld %lu %.16s", (long long)st->st_size, (unsigned long)st->st_nlink, sum);
	if (fd >= 0)
		(void)close(fd);
}

static inline void world_add_entry(struct buf *b, int dirfd, const char *name, const char *path)
{
	struct stat st;
	char proc[512];
	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	buf_printf(b, "%s %o %lld.%ld", path, st.st_mode, (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
	world_add_content(b, dirfd, name, &st);
	(void)snprintf(proc, sizeof proc, "/proc/self/fd/%d/%s", dirfd, name);
	world_add_xattrs(b, proc);
	buf_addc(b, '\n');
}

/* Everything about a tree that can be seen, as lines in no order of their own. */
static inline void world_print(const char *path, struct strs *lines)
{
	_cleanup_walk_ struct fs_walk w = FS_WALK_INIT;
	_cleanup_buf_ struct buf b = BUF_INIT;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	world_add_entry(&b, fd, ".", ".");
	strs_add(lines, buf_str(&b));
	int event = fs_walk_start(&w, fd);
	while (event >= 0 && (event = fs_walk_next(&w)) > 0) {
		if (event == FS_WALK_LEAVE)
			continue;
		buf_reset(&b);
		world_add_entry(&b, fs_walk_dirfd(&w), w.name, fs_walk_path(&w));
		strs_add(lines, buf_str(&b));
		if (event == FS_WALK_DIR)
			(void)fs_walk_enter(&w);
	}
	strs_sort(lines);
}

/* NULL: the same. Else the first line that differs, in static memory. */
static inline const char *world_differs(const char *a, const char *b)
{
	static char text[1024];
	_cleanup_strs_ struct strs x = STRS_INIT, y = STRS_INIT;
	world_print(a, &x);
	world_print(b, &y);
	for (size_t i = 0; i < x.n || i < y.n; i++) {
		const char *l = i < x.n ? x.v[i] : "nothing", *r = i < y.n ? y.v[i] : "nothing";
		if (strcmp(l, r) == 0)
			continue;
		(void)snprintf(text, sizeof text, "is: %.300s, should be: %.300s", l, r);
		return text;
	}
	return NULL;
}

static inline bool world_is_empty_dir(const char *path)
{
	size_t n = 0;
	DIR *d = opendir(path);
	while (d && readdir(d))
		n++;
	if (d)
		(void)closedir(d);
	return n <= 2;
}

/* ── Where ── */

#define WORLD_MEMORY "/dev/shm" /* a tmpfs: quick, and another file system than /tmp */

static inline bool world_has_memory(void)
{
	struct stat a, b;
	return access(WORLD_MEMORY, W_OK) == 0 && stat(WORLD_MEMORY, &a) == 0 && stat("/tmp", &b) == 0 &&
	       a.st_dev != b.st_dev;
}

static inline void world_in_new_dir(identity_check check, const char *base, uid_t id)
{
	char dir[64];
	(void)snprintf(dir, sizeof dir, "%s/airlock-test-XXXXXX", base);
	assert_non_null(mkdtemp(dir));
	if (id)
		assert_int_equal(chown(dir, id, id), 0);
	identities_run(check, dir, id);
	/* any depth, unlike nftw */
	_cleanup_close_ int fd = open(base, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(fs_remove_tree_at(fd, path_basename(dir), NULL, NULL), 0);
}

/* As as_everyone, in memory where there is some. */
static inline void world_as_everyone(identity_check check)
{
	const char *base = world_has_memory() ? WORLD_MEMORY : "/tmp";
	world_in_new_dir(check, base, 0);
	if (geteuid() == 0)
		world_in_new_dir(check, base, ORDINARY_ID);
}

/* A check can say what differs. */
#define EXPECT_SAME(a, b)                                                                                              \
	do {                                                                                                           \
		const char *differs_ = world_differs(a, b);                                                            \
		if (differs_) {                                                                                        \
			static char differs_text_[1400];                                                               \
			(void)snprintf(differs_text_, sizeof differs_text_, __FILE__ ":%d: %s", __LINE__, differs_);   \
			return differs_text_;                                                                          \
		}                                                                                                      \
	} while (0)
#define EXPECT_OK(w, call)                                                                                             \
	do {                                                                                                           \
		if ((call) < 0) {                                                                                      \
			static char failed_text_[2400];                                                                \
			(void)snprintf(failed_text_, sizeof failed_text_, __FILE__ ":%d: %s: %s", __LINE__, #call,     \
				       (w)->err.message);                                                              \
			return failed_text_;                                                                           \
		}                                                                                                      \
	} while (0)
