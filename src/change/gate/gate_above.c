/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Repositories around and inside the roots: those whose .git lies above a root, because a project may be named below the top
 * of its repository, and those in directories of a root that the run changes something in.
 *
 * What is above a root is the person's own, so links there are followed like git follows them. */
#include "change/gate/gate.h"

#include "base/path.h"
#include "fs/io.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_POINTER 4096
#define MAX_HOOKS 256
#define MAX_BELOW 1024	   /* directories of the roots that are looked at for a .git */
#define MAX_BELOW_DEPTH 32 /* components */

static bool is_there(const char *dir, const char *name)
{
	_cleanup_free_ char *path = path_join(dir, name);
	return path && access(path, F_OK) == 0;
}

/* The place that a file of one line names, relative to dir. NULL: none. */
static char *read_pointer(const char *dir, const char *file, const char *prefix)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	struct stat st;
	size_t n = strlen(prefix);
	_cleanup_close_ int fd = open(file, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || fs_read_all(fd, MAX_POINTER, &text) < 0)
		return NULL;
	const char *at = buf_str(&text);
	if (strncmp(at, prefix, n) != 0)
		return NULL;
	at += n + strspn(at + n, " \t");
	_cleanup_free_ char *place = strndup(at, strcspn(at, "\r\n"));
	return place && *place ? path_normalize(dir, place) : NULL;
}

typedef void above_function(void *context, const struct gate_above_place *place);

/* The git directory and, of a worktree, the common one. */
static void tell_git_dir(const char *dir, const char *git_dir, above_function *tell, void *context)
{
	_cleanup_free_ char *pointer = path_join(git_dir, "commondir"),
			    *common = pointer ? read_pointer(git_dir, pointer, "") : NULL;
	tell(context, &(struct gate_above_place){.dir = dir, .git_dir = git_dir});
	if (common)
		tell(context, &(struct gate_above_place){.dir = dir, .git_dir = common});
}

static void tell_of(const char *dir, above_function *tell, void *context)
{
	_cleanup_free_ char *git = path_join(dir, ".git"), *envrc = path_join(dir, ".envrc"), *named = NULL;
	struct stat st;
	if (!git || !envrc)
		return;
	bool is_found = stat(git, &st) == 0;
	if (is_found && S_ISDIR(st.st_mode))
		tell_git_dir(dir, git, tell, context);
	else if (is_found && (named = read_pointer(dir, git, "gitdir:")))
		tell_git_dir(dir, named, tell, context);
	else if (is_there(dir, "HEAD") && is_there(dir, "objects"))
		tell_git_dir(dir, dir, tell, context);
	if (access(envrc, F_OK) == 0)
		tell(context, &(struct gate_above_place){.dir = dir, .envrc = envrc});
}

void gate_above_each(struct gate *g, above_function *tell, void *context)
{
	for (size_t i = 0; i < g->set->n_roots; i++) {
		_cleanup_free_ char *dir = path_dirname(g->set->roots[i].path);
		while (dir && strcmp(dir, "/") != 0) {
			tell_of(dir, tell, context);
			char *parent = path_dirname(dir);
			free(dir);
			dir = parent;
		}
	}
}

void gate_above_list_hooks(const char *hooks, void (*tell)(void *context, const char *path), void *context)
{
	DIR *d = opendir(hooks);
	int n = 0;
	for (const struct dirent *e; d && n < MAX_HOOKS && (e = readdir(d)); n++) {
		_cleanup_free_ char *path = e->d_name[0] == '.' ? NULL : path_join(hooks, e->d_name);
		if (path)
			tell(context, path);
	}
	if (d)
		(void)closedir(d);
}

/* ── Where a relative setting may be meant ── */

static void add_top(void *context, const struct gate_above_place *place)
{
	struct strs *tops = context;
	if (place->git_dir && !strs_has(tops, place->dir))
		strs_add(tops, place->dir);
}

/* ── Inside the roots ── */

/* dir: the first n bytes. */
static void look_below(struct gate *g, size_t root, const char *dir, size_t n)
{
	_cleanup_buf_ struct buf git = BUF_INIT;
	buf_add(&git, dir, n);
	buf_adds(&git, "/.git");
	if (git.failed || gate_type_before(g, root, git.data) != CHANGE_DIRECTORY)
		return;
	git.data[n] = '\0';
	_cleanup_free_ char *top = path_join(g->set->roots[root].path, git.data);
	if (top)
		strs_add(&g->tops, top);
}

/* Where a and b, paths of one root, begin to differ; at a slash of b or its start. */
static size_t common_directories(const char *a, const char *b)
{
	size_t same = 0;
	for (size_t i = 0; a[i] && a[i] == b[i]; i++)
		if (b[i] == '/')
			same = i + 1;
	return same;
}

/* Skips directories that the run made, with their content: no repository was there before. */
static bool is_in_new(const struct change *made, const struct change *c)
{
	return made && made->root == c->root && path_rest(c->path, made->path);
}

/* Looks at those directories above path, from the byte at on, that lead to no .git yet. Returns how many. */
static int look_along(struct gate *g, const struct change *c, size_t at)
{
	int depth = 0, looked_at = 0;
	for (const char *p = c->path; p < c->path + at; p++)
		depth += *p == '/';
	for (const char *slash; depth < MAX_BELOW_DEPTH && (slash = strchr(c->path + at, '/')); depth++) {
		size_t n = (size_t)(slash - c->path);
		if (n - at == 4 && memcmp(c->path + at, ".git", 4) == 0)
			break;
		look_below(g, c->root, c->path, n);
		looked_at++;
		at = n + 1;
	}
	return looked_at;
}

/* Changes are sorted, so each directory is visited once. */
static void find_below(struct gate *g)
{
	const struct change *before = NULL, *made = NULL;
	int looked_at = 0;
	for (size_t i = 0; i < g->set->n && looked_at < MAX_BELOW; i++) {
		const struct change *c = &g->set->v[i];
		if (is_in_new(made, c))
			continue;
		bool is_near = before && before->root == c->root;
		looked_at += look_along(g, c, is_near ? common_directories(before->path, c->path) : 0);
		before = c;
		if (c->after.type == CHANGE_DIRECTORY && c->before.type == CHANGE_NOTHING)
			made = c;
	}
}

int gate_find_tops(struct gate *g)
{
	for (size_t i = 0; i < g->set->n_roots; i++)
		strs_add(&g->tops, g->set->roots[i].path);
	gate_above_each(g, add_top, &g->tops);
	g->first_below = g->tops.n;
	find_below(g);
	return g->tops.failed ? -ENOMEM : 0;
}
