/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "change/change.h"

#include "base/array.h"
#include "base/path.h"
#include "change/names.h"
#include "change/reason.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

struct change_set *change_set_new(const char *run)
{
	struct change_set *set = calloc(1, sizeof *set);
	if (!set)
		return NULL;
	set->run = strdup(run);
	if (!set->run) {
		free(set);
		return NULL;
	}
	return set;
}

void change_done(struct change *c)
{
	free(c->path);
	free(c->from);
	free(c->link);
	for (size_t i = 0; i < c->n_reasons; i++)
		change_reason_done(&c->reasons[i]);
	free(c->reasons);
	*c = (struct change){0};
}

void change_set_free(struct change_set *set)
{
	if (!set)
		return;
	for (size_t i = 0; i < set->n; i++)
		change_done(&set->v[i]);
	for (size_t i = 0; i < set->n_roots; i++) {
		free(set->roots[i].path);
		free(set->roots[i].upper);
		free(set->roots[i].copy);
		if (set->roots[i].below_fd > 0)
			base_closep(&set->roots[i].below_fd);
	}
	for (size_t i = 0; i < set->n_dirs; i++)
		free(set->dirs[i].path);
	free(set->v);
	free(set->dirs);
	for (size_t i = 0; i < set->n_idle; i++)
		free(set->idle[i].path);
	free(set->idle);
	free(set->roots);
	free(set->session);
	free(set->run);
	free(set);
}

void change_set_freep(struct change_set **set)
{
	int saved = errno;
	change_set_free(*set);
	*set = NULL;
	errno = saved;
}

const char *change_root_before(const struct change_root *root)
{
	return root->copy ? root->copy : root->path;
}

const char *change_root_after(const struct change_root *root)
{
	return root->copy ? root->path : root->upper;
}

/* Makes room for one more; the caller counts it once it is whole. */
static struct change_root *next_root(struct change_set *set)
{
	struct change_root *v = reallocarray(set->roots, set->n_roots + 1, sizeof *v);
	if (!v)
		return NULL;
	set->roots = v;
	v[set->n_roots] = (struct change_root){0};
	return &v[set->n_roots];
}

int change_set_take_root(struct change_set *set, char *path, char *upper, uint64_t device, uint64_t inode)
{
	struct change_root *root = path && upper ? next_root(set) : NULL;
	if (!root) {
		free(path);
		free(upper);
		return -ENOMEM;
	}
	*root = (struct change_root){.path = path, .upper = upper, .device = device, .inode = inode};
	set->n_roots++;
	return 0;
}

/* Takes the path of d, also on failure. */
static int take_dir(struct change_dir **list, size_t *n, struct change_dir d)
{
	struct change_dir *v = d.path ? reallocarray(*list, *n + 1, sizeof *v) : NULL;
	if (!v) {
		free(d.path);
		return -ENOMEM;
	}
	*list = v;
	v[(*n)++] = d;
	return 0;
}

int change_set_take_dir(struct change_set *set, size_t root, char *path, int64_t without_ns, int64_t with_ns)
{
	return take_dir(&set->dirs, &set->n_dirs, (struct change_dir){root, path, without_ns, with_ns});
}

int change_set_take_idle(struct change_set *set, size_t root, char *path, int64_t without_ns, int64_t with_ns)
{
	return take_dir(&set->idle, &set->n_idle, (struct change_dir){root, path, without_ns, with_ns});
}

int change_set_add_root(struct change_set *set, const char *path, const char *upper, struct airlock_error *err)
{
	struct stat st;
	if (lstat(path, &st) < 0)
		return base_errno(err, errno == ENOENT ? AIRLOCK_ERR_NOT_FOUND : AIRLOCK_ERR_IO, errno, "lstat", path);
	if (!S_ISDIR(st.st_mode))
		return base_error(err, AIRLOCK_ERR_INVALID, "lstat", path, "%s is not a directory", path);
	if (change_set_take_root(set, strdup(path), strdup(upper), st.st_dev, st.st_ino) < 0)
		return base_oom(err);
	return 0;
}

struct change *change_set_take(struct change_set *set, size_t root, char *path)
{
	if (!path || !ARRAY_ROOM(set->v, set->n, set->cap, 16)) {
		free(path);
		return NULL;
	}
	struct change *c = &set->v[set->n++];
	*c = (struct change){.root = root, .path = path};
	return c;
}

struct change *change_set_add(struct change_set *set, size_t root, const char *path)
{
	return change_set_take(set, root, strdup(path));
}

static int compare_place(size_t root, const char *path, const struct change *c)
{
	if (root != c->root)
		return root < c->root ? -1 : 1;
	return path_compare(path, c->path);
}

static int compare_changes(const void *a, const void *b)
{
	const struct change *x = a;
	return compare_place(x->root, x->path, b);
}

void change_set_sort(struct change_set *set)
{
	if (set->n > 1)
		qsort(set->v, set->n, sizeof *set->v, compare_changes);
}

struct change *change_set_find(struct change_set *set, size_t root, const char *path)
{
	size_t low = 0, high = set->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = compare_place(root, path, &set->v[middle]);
		if (order == 0)
			return &set->v[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

enum airlock_changes_state change_set_state(const struct change_set *set)
{
	size_t count[CHANGE_DISCARDED + 1] = {0};
	if (set->direct)
		return AIRLOCK_CHANGES_DIRECT;
	for (size_t i = 0; i < set->n; i++)
		count[set->v[i].state]++;
	size_t waiting = count[CHANGE_HELD] + count[CHANGE_CONFLICT];
	if (count[CHANGE_APPLIED])
		return waiting ? AIRLOCK_CHANGES_PARTIAL : AIRLOCK_CHANGES_APPLIED;
	if (waiting)
		return AIRLOCK_CHANGES_HELD;
	return count[CHANGE_DISCARDED] ? AIRLOCK_CHANGES_DISCARDED : AIRLOCK_CHANGES_NONE;
}

const char *airlock_changes_state_name(enum airlock_changes_state state)
{
	static const char *const names[] = {
		[AIRLOCK_CHANGES_NONE] = "none",	   [AIRLOCK_CHANGES_APPLIED] = "applied",
		[AIRLOCK_CHANGES_PARTIAL] = "partial",	   [AIRLOCK_CHANGES_HELD] = "held",
		[AIRLOCK_CHANGES_DISCARDED] = "discarded", [AIRLOCK_CHANGES_DIRECT] = "direct"};
	return names[state];
}

const char *change_set_state_name(const struct change_set *set)
{
	return airlock_changes_state_name(change_set_state(set));
}

const char *const change_kind_names[] = {"added", "modified", "deleted", "renamed", "metadata", "type", NULL};
const char *const change_type_names[] = {"nothing", "file", "directory", "symlink", "other", NULL};
const char *const change_state_names[] = {"held", "applied", "conflict", "skipped", "discarded", NULL};
const char *const change_verdict_names[] = {"apply", "hold", "skip", NULL};

const char *change_kind_name(enum change_kind kind)
{
	return change_kind_names[kind];
}

const char *change_type_name(enum change_type type)
{
	return change_type_names[type];
}

const char *change_state_name(enum change_state state)
{
	return change_state_names[state];
}

enum change_type change_type_of(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return CHANGE_FILE;
	case S_IFDIR:
		return CHANGE_DIRECTORY;
	case S_IFLNK:
		return CHANGE_SYMLINK;
	default:
		return CHANGE_OTHER;
	}
}

static int64_t nanoseconds(struct timespec t)
{
	int64_t ns;
	/* A clock can be set beyond what 64 bits of nanoseconds hold: clamp. */
	if (__builtin_mul_overflow((int64_t)t.tv_sec, INT64_C(1000000000), &ns) ||
	    __builtin_add_overflow(ns, (int64_t)t.tv_nsec, &ns))
		return t.tv_sec < 0 ? INT64_MIN : INT64_MAX;
	return ns;
}

struct change_stat change_stat_of(const struct stat *st)
{
	return (struct change_stat){
		.type = change_type_of(st->st_mode),
		.mode = st->st_mode & 07777,
		.size = (uint64_t)st->st_size,
		.inode = st->st_ino,
		.links = st->st_nlink,
		.mtime_ns = nanoseconds(st->st_mtim),
		.ctime_ns = nanoseconds(st->st_ctim),
	};
}

static int64_t statx_ns(struct statx_timestamp t)
{
	return nanoseconds((struct timespec){.tv_sec = t.tv_sec, .tv_nsec = t.tv_nsec});
}

int change_stat_fresh(int dirfd, const char *name, struct change_stat *ret)
{
	struct statx st;
	*ret = (struct change_stat){0};
	if (statx(dirfd, name, AT_SYMLINK_NOFOLLOW | AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	*ret = (struct change_stat){
		.type = change_type_of(st.stx_mode),
		.mode = st.stx_mode & 07777u,
		.size = st.stx_size,
		.inode = st.stx_ino,
		.links = st.stx_nlink,
		.mtime_ns = statx_ns(st.stx_mtime),
		.ctime_ns = statx_ns(st.stx_ctime),
	};
	return 0;
}
