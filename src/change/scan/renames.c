/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Deleted here and added there with the same content is a rename. For a reader only: applying it is the same.
 *
 * A class of candidates of one size is divided by what costs least: the ends of the files, then all of their bytes. Each
 * file is read at most twice for that, and once more for the one partner it is given; so the cost is that of sorting and
 * of the bytes read, whatever a command does with a million files of one size.
 */
#include "change/scan/scan_parts.h"

#include "base/path.h"
#include "fs/beneath.h"
#include "layer/open.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>

struct candidate {
	struct change *change;
	const char *base; /* last component, in change->path */
	uint64_t print;
	bool taken; /* has a partner, or cannot be read */
};

struct candidates {
	struct candidate *v;
	size_t n;
};

static bool is_deleted(const struct candidate *a)
{
	return a->change->kind == CHANGE_DELETED;
}

static uint64_t size_of(const struct candidate *a)
{
	return is_deleted(a) ? a->change->before.size : a->change->after.size;
}

/* ── Order ── */

static int order(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int by_size(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	int type = order(x->change->type, y->change->type);
	return type ? type : order(size_of(x), size_of(y));
}

static int by_print(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	int taken = order(x->taken, y->taken);
	return taken ? taken : order(x->print, y->print);
}

static int by_path(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	if (x->taken || y->taken) /* to the end, in any order: one that was joined has no path any more */
		return order(x->taken, y->taken);
	return path_compare(x->change->path, y->change->path);
}

static int by_base(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	int base = strcmp(x->base, y->base);
	return base ? base : by_path(a, b);
}

static int same_base(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	return strcmp(x->base, y->base);
}

/* How many from i on are equal in this order. */
static size_t run_length(const struct candidates *all, size_t i, int (*compare)(const void *, const void *))
{
	size_t n = 1;
	while (i + n < all->n && compare(&all->v[i], &all->v[i + n]) == 0)
		n++;
	return n;
}

/* ── Content ── */

struct matcher {
	struct scan *scan;
	int upper_root;
	/* The last parent directories of live and upper: neighbours are mostly looked at one after the other. */
	struct parent {
		int fd;
		const char *path; /* borrowed from a change; only its first len bytes */
		size_t len;
	} parents[2];
};

/* The directory the candidate is in, borrowed until the next call, and its name there; or -errno. */
static int parent_of(struct matcher *m, const struct candidate *a, const char **ret_name)
{
	struct parent *last = &m->parents[is_deleted(a)];
	const char *path = a->change->path;
	size_t len = (size_t)(a->base - path);
	*ret_name = a->base;
	if (last->fd >= 0 && last->len == len && memcmp(last->path, path, len) == 0)
		return last->fd;
	base_closep(&last->fd);
	last->fd = fs_open_parent(is_deleted(a) ? m->scan->live_root : m->upper_root, path, ret_name);
	last->path = path;
	last->len = len;
	return last->fd;
}

static void matcher_done(struct matcher *m)
{
	base_closep(&m->parents[0].fd);
	base_closep(&m->parents[1].fd);
	base_closep(&m->upper_root);
}

static int open_file(struct matcher *m, const struct candidate *a)
{
	const char *name;
	int dir = parent_of(m, a, &name);
	if (dir < 0)
		return dir;
	return is_deleted(a) ? open_regular_at(dir, name) : upper_open_file(dir, name);
}

/* A symlink's target with a NUL; its length or -errno. */
static ssize_t read_target(struct matcher *m, const struct candidate *a, char target[PATH_MAX])
{
	const char *name;
	int dir = parent_of(m, a, &name);
	ssize_t n = dir < 0 ? dir : readlinkat(dir, name, target, PATH_MAX - 1);
	if (n >= 0)
		target[n] = '\0';
	return n < 0 && dir >= 0 ? -errno : n;
}

static int print_of_link(struct matcher *m, const struct candidate *a, uint64_t *ret)
{
	char target[PATH_MAX];
	ssize_t n = read_target(m, a, target);
	*ret = 0;
	for (ssize_t i = 0; i < n; i++)
		*ret = (*ret ^ (unsigned char)target[i]) * UINT64_C(0x100000001b3);
	return n < 0 ? (int)n : 0;
}

static int print_of_file(struct matcher *m, const struct candidate *a, bool whole, uint64_t *ret)
{
	_cleanup_close_ int fd = open_file(m, a);
	return fd < 0 ? fd : compare_fingerprint(&m->scan->compare, fd, size_of(a), whole, ret);
}

static int same_target(struct matcher *m, const struct candidate *a, const struct candidate *b)
{
	char x[PATH_MAX], y[PATH_MAX];
	ssize_t n = read_target(m, a, x), k = read_target(m, b, y);
	if (n < 0 || k < 0)
		return (int)AL_MIN(n, k);
	return n == k && memcmp(x, y, (size_t)n) == 0;
}

/* 1, 0, or -errno when one of them cannot be read. */
static int same_content(struct matcher *m, const struct candidate *a, const struct candidate *b)
{
	int ignored;
	if (size_of(a) == 0)
		return 1;
	if (a->change->type == CHANGE_SYMLINK)
		return same_target(m, a, b);
	_cleanup_close_ int x = open_file(m, a);
	_cleanup_close_ int y = x < 0 ? x : open_file(m, b);
	return y < 0 ? y : compare_files(&m->scan->compare, x, y, size_of(a), &ignored);
}

/* ── Pairs ── */

static int join(struct matcher *m, struct candidate *gone, struct candidate *added)
{
	int same = same_content(m, gone, added);
	if (same <= 0)
		return scan_is_shortage(same) ? scan_shortage(m->scan, same, added->change->path) : 0;
	struct change *c = added->change;
	c->kind = CHANGE_RENAMED;
	c->from = TAKE_PTR(gone->change->path);
	c->before = gone->change->before;
	c->owner_before = gone->change->owner_before;
	c->has_owner = scan_changes_owner(m->scan, c);
	gone->taken = added->taken = true;
	return scan_judge_setid(m->scan, c);
}

/* The first, second, … deleted one with the first, second, … added one. */
static int pair_in_order(struct matcher *m, const struct candidates *all)
{
	size_t gone = 0, added = 0;
	for (;; gone++, added++) {
		while (gone < all->n && (all->v[gone].taken || !is_deleted(&all->v[gone])))
			gone++;
		while (added < all->n && (all->v[added].taken || is_deleted(&all->v[added])))
			added++;
		if (gone >= all->n || added >= all->n)
			return 0;
		int rc = join(m, &all->v[gone], &all->v[added]);
		if (rc < 0)
			return rc;
	}
}

/* Candidates that seem to have the same content: first those that kept their name. */
static int pair_class(struct matcher *m, struct candidates *all)
{
	int rc = 0;
	qsort(all->v, all->n, sizeof *all->v, by_base);
	for (size_t i = 0, n; rc == 0 && i < all->n; i += n) {
		n = run_length(all, i, same_base);
		rc = pair_in_order(m, &(struct candidates){all->v + i, n});
	}
	if (rc < 0 || size_of(&all->v[0]) == 0) /* every empty file is like every other */
		return rc;
	qsort(all->v, all->n, sizeof *all->v, by_path);
	return pair_in_order(m, all);
}

/* ── Classes ── */

enum stage { BY_SIZE, BY_ENDS, BY_WHOLE };

static size_t count_deleted(const struct candidates *all)
{
	size_t n = 0;
	for (size_t i = 0; i < all->n; i++)
		n += is_deleted(&all->v[i]);
	return n;
}

/* What cannot be read has no partner. */
static int take_prints(struct matcher *m, struct candidates *all, enum stage stage)
{
	for (size_t i = 0; i < all->n; i++) {
		struct candidate *a = &all->v[i];
		int rc = a->change->type == CHANGE_SYMLINK ? print_of_link(m, a, &a->print)
							   : print_of_file(m, a, stage == BY_WHOLE, &a->print);
		if (scan_is_shortage(rc))
			return scan_shortage(m->scan, rc, a->change->path);
		a->taken = rc < 0;
	}
	qsort(all->v, all->n, sizeof *all->v, by_print);
	return 0;
}

/* Divided further only where it is not clear who could belong to whom. */
static int match_class(struct matcher *m, struct candidates *all, enum stage stage)
{
	size_t deleted = count_deleted(all);
	int rc = 0;
	/* The ends of a small file are all of it. */
	enum stage next = size_of(&all->v[0]) <= COMPARE_END_SIZE ? BY_WHOLE : stage + 1;
	if (deleted == 0 || deleted == all->n)
		return 0;
	if (stage == BY_WHOLE || all->n == 2 || size_of(&all->v[0]) == 0)
		return pair_class(m, all);
	rc = take_prints(m, all, next);
	for (size_t i = 0, n; rc == 0 && i < all->n && !all->v[i].taken; i += n) {
		n = run_length(all, i, by_print);
		rc = match_class(m, &(struct candidates){all->v + i, n}, next);
	}
	return rc;
}

static int match_all(struct matcher *m, struct candidates *all)
{
	int rc = 0;
	qsort(all->v, all->n, sizeof *all->v, by_size);
	for (size_t i = 0, n; rc == 0 && i < all->n; i += n) {
		n = run_length(all, i, by_size);
		rc = match_class(m, &(struct candidates){all->v + i, n}, BY_SIZE);
	}
	return rc;
}

static bool is_candidate(const struct change *c)
{
	return (c->kind == CHANGE_DELETED || c->kind == CHANGE_ADDED) &&
	       (c->type == CHANGE_FILE || c->type == CHANGE_SYMLINK);
}

static void collect(struct scan *s, struct candidates *all)
{
	for (size_t i = s->first; i < s->set->n; i++) {
		struct change *c = &s->set->v[i];
		if (is_candidate(c))
			all->v[all->n++] = (struct candidate){.change = c, .base = path_basename(c->path)};
	}
}

/* Deleted ones that became the old path of another have lost their own. */
static void drop_joined(struct scan *s)
{
	size_t kept = s->first;
	for (size_t i = s->first; i < s->set->n; i++) {
		if (s->set->v[i].path)
			s->set->v[kept++] = s->set->v[i];
		else
			change_done(&s->set->v[i]);
	}
	s->set->n = kept;
}

static int match_in(struct scan *s, struct candidates *all)
{
	_cleanup_(matcher_done) struct matcher m = {
		.scan = s,
		.upper_root =
			open(change_root_after(&s->set->roots[s->root]), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
		.parents = {{.fd = -EBADF}, {.fd = -EBADF}},
	};
	return m.upper_root < 0 ? scan_fail(s, -errno, "open", NULL) : match_all(&m, all);
}

static bool has_deleted(const struct scan *s)
{
	for (size_t i = s->first; i < s->set->n; i++)
		if (s->set->v[i].kind == CHANGE_DELETED)
			return true;
	return false;
}

int scan_find_renames(struct scan *s)
{
	size_t n = has_deleted(s) ? s->set->n - s->first : 0;
	_cleanup_free_ struct candidate *v = n ? calloc(n, sizeof *v) : NULL;
	struct candidates all = {.v = v};
	if (n == 0)
		return 0;
	if (!v)
		return base_oom(s->err);
	collect(s, &all);
	int rc = match_in(s, &all);
	drop_joined(s);
	return rc;
}
