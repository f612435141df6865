/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Two directories, the live tree and a layer over it, and the change set between them, without any sandbox.
 *
 *   put("live", "a.c", "old"); put("layer", "a.c", "new");
 *   compare_layer();                       t->set: what is in the layer differs, the rest of the live tree stays
 *   compare_trees();                       or: the layer is the whole new tree, what it lacks is deleted
 *
 * The layer is made by hand: an entry in it means itself, there are no whiteouts. */
#pragma once

#include "tests.h"

#include "base/path.h"
#include "change/change.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define AL_TWINS AL_UNUSED static

struct twins {
	char dir[64];
	char live[96], layer[96];
	struct change_set *set;
	int64_t started_ns;
};

AL_TWINS struct twins *t;

/* dir/which/path, in one of a few static buffers. */
AL_TWINS const char *at(const char *which, const char *path)
{
	static char paths[8][8192];
	static int next;
	char *p = paths[next++ % 8];
	(void)snprintf(p, sizeof paths[0], "%s/%s%s%s", t->dir, which, *path ? "/" : "", path);
	return p;
}

AL_TWINS void make_parents(const char *full)
{
	char part[8192];
	for (const char *p = full + strlen(t->dir) + 1; (p = strchr(p, '/')); p++) {
		(void)snprintf(part, sizeof part, "%.*s", (int)(p - full), full);
		if (mkdir(part, 0755) < 0)
			assert_int_equal(errno, EEXIST);
	}
}

AL_TWINS void put_bytes(const char *which, const char *path, const void *data, size_t n, mode_t mode)
{
	const char *full = at(which, path);
	make_parents(full);
	int fd = open(full, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		fail_msg("%s: %s", full, strerror(errno));
	assert_int_equal(write(fd, data, n), n);
	assert_int_equal(fchmod(fd, mode), 0);
	assert_int_equal(close(fd), 0);
}

AL_TWINS void put(const char *which, const char *path, const char *text)
{
	put_bytes(which, path, text, strlen(text), 0644);
}

AL_TWINS void put_dir(const char *which, const char *path)
{
	const char *full = at(which, path);
	make_parents(full);
	if (mkdir(full, 0755) < 0)
		assert_int_equal(errno, EEXIST);
}

AL_TWINS void put_link(const char *which, const char *path, const char *target)
{
	const char *full = at(which, path);
	make_parents(full);
	assert_int_equal(symlink(target, full), 0);
}

AL_TWINS int remove_one(const char *path, const struct stat *st, int flag, struct FTW *where)
{
	return remove(path);
}

AL_TWINS void forget(const char *which)
{
	if (access(at(which, ""), F_OK) == 0)
		assert_int_equal(nftw(at(which, ""), remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

/* A new, empty pair; the old change set is gone. */
AL_TWINS void start_over(void)
{
	change_set_free(t->set);
	t->set = NULL;
	forget("live");
	forget("layer");
	put_dir("live", "");
	put_dir("layer", "");
}

AL_TWINS int open_twins(void **state)
{
	t = calloc(1, sizeof *t);
	strcpy(t->dir, "/tmp/airlock-twins-XXXXXX");
	assert_non_null(mkdtemp(t->dir));
	(void)snprintf(t->live, sizeof t->live, "%s/live", t->dir);
	(void)snprintf(t->layer, sizeof t->layer, "%s/layer", t->dir);
	start_over();
	return 0;
}

AL_TWINS int close_twins(void **state)
{
	change_set_free(t->set);
	assert_int_equal(nftw(t->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
	free(t);
	t = NULL;
	return 0;
}

/* The command must succeed; it runs in the directory of both trees, and git in it finds no settings of ours. */
AL_TWINS void shell(const char *fmt, ...) AL_PRINTF(1, 2);
AL_TWINS void shell(const char *fmt, ...)
{
	char command[4096], whole[8192];
	va_list ap;
	va_start(ap, fmt);
	(void)vsnprintf(command, sizeof command, fmt, ap);
	va_end(ap);
	(void)snprintf(whole, sizeof whole,
		       "cd '%s' && export HOME=/nonexistent GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a "
		       "GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org && "
		       "unset GIT_DIR GIT_WORK_TREE && { %s\n} >log 2>&1 || { cat log; false; }",
		       t->dir, command);
	if (system(whole) != 0)
		fail_msg("failed: %s", command);
}

/* ── The change set ── */

AL_TWINS bool same_file(const char *a, const char *b)
{
	char x[4096], y[4096];
	FILE *f = fopen(a, "r"), *g = fopen(b, "r");
	size_t n = 0, m = 0;
	bool same = f && g;
	do {
		n = same ? fread(x, 1, sizeof x, f) : 0;
		m = same ? fread(y, 1, sizeof y, g) : 0;
		same = same && n == m && memcmp(x, y, n) == 0;
	} while (same && n > 0);
	if (f)
		(void)fclose(f);
	if (g)
		(void)fclose(g);
	return same;
}

AL_TWINS bool same_content(const char *a, const char *b, const struct stat *st)
{
	char x[4096], y[4096];
	if (S_ISREG(st->st_mode))
		return same_file(a, b);
	if (!S_ISLNK(st->st_mode))
		return true;
	ssize_t n = readlink(a, x, sizeof x), m = readlink(b, y, sizeof y);
	return n == m && n >= 0 && memcmp(x, y, (size_t)n) == 0;
}

AL_TWINS struct change *add_change(const char *path, enum change_kind kind, const struct stat *before,
				   const struct stat *after)
{
	struct change *c = change_set_add(t->set, 0, path);
	assert_non_null(c);
	c->kind = kind;
	if (before)
		c->before = change_stat_of(before);
	if (after)
		c->after = change_stat_of(after);
	c->type = after ? c->after.type : c->before.type;
	return c;
}

AL_TWINS int visit_layer(const char *full, const struct stat *after, int flag, struct FTW *where)
{
	const char *path = path_rest(full, t->layer), *live = at("live", path);
	struct stat before;
	if (*path == '\0')
		return 0;
	if (lstat(live, &before) < 0)
		add_change(path, CHANGE_ADDED, NULL, after);
	else if ((before.st_mode ^ after->st_mode) & S_IFMT)
		add_change(path, CHANGE_TYPE, &before, after);
	else if (!same_content(full, live, after))
		add_change(path, CHANGE_MODIFIED, &before, after);
	else if (before.st_mode != after->st_mode)
		add_change(path, CHANGE_METADATA, &before, after);
	return 0;
}

AL_TWINS int visit_live(const char *full, const struct stat *before, int flag, struct FTW *where)
{
	const char *path = path_rest(full, t->live);
	struct stat after;
	if (*path && lstat(at("layer", path), &after) < 0)
		add_change(path, CHANGE_DELETED, before, NULL);
	return 0;
}

AL_TWINS int64_t now_ns(void)
{
	/* The clock of ctime, which a file tells: the system's may be a tick ahead of it. */
	struct stat st;
	put("marker", "", "");
	assert_int_equal(lstat(at("marker", ""), &st), 0);
	return change_stat_of(&st).ctime_ns;
}

AL_TWINS void new_set(void)
{
	struct airlock_error err = {0};
	change_set_free(t->set);
	t->set = change_set_new("run");
	assert_non_null(t->set);
	assert_int_equal(change_set_add_root(t->set, t->live, t->layer, &err), 0);
	t->set->started_ns = now_ns();
}

AL_TWINS void compare_layer(void)
{
	new_set();
	assert_int_equal(nftw(t->layer, visit_layer, 16, FTW_PHYS), 0);
	change_set_sort(t->set);
}

AL_TWINS void compare_trees(void)
{
	new_set();
	assert_int_equal(nftw(t->layer, visit_layer, 16, FTW_PHYS), 0);
	assert_int_equal(nftw(t->live, visit_live, 16, FTW_PHYS), 0);
	change_set_sort(t->set);
}

AL_TWINS struct change *found(const char *path)
{
	struct change *c = change_set_find(t->set, 0, path);
	if (!c)
		fail_msg("%s is not in the set", path);
	return c;
}

/* As renames.c would: the deletion of from and the addition of path become one. */
AL_TWINS void make_rename(const char *from, const char *path)
{
	struct change *gone = found(from), *c = found(path);
	c->kind = CHANGE_RENAMED;
	c->before = gone->before;
	c->from = TAKE_PTR(gone->path);
	change_done(gone);
	memmove(gone, gone + 1, (size_t)(t->set->v + t->set->n - gone - 1) * sizeof *gone);
	t->set->n--;
}
