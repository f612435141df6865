/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/workspace.h"

#include "base/error.h"
#include "base/path.h"
#include "fs/fs.h"

#include <string.h>

void workspace_done(struct workspace *w)
{
	for (size_t i = 0; i < w->n_binds; i++) {
		free(w->binds[i].source);
		free(w->binds[i].target);
	}
	free(w->binds);
	free(w->dir);
	*w = (struct workspace){0};
}

static int open_dir(struct workspace *w, const char *value, const char *cwd, struct airlock_error *err)
{
	struct stat st;
	_cleanup_free_ char *path = *value ? path_normalize(cwd, value) : NULL;
	if (!*value)
		return base_error(err, AIRLOCK_ERR_USAGE, "workspace", "", "--workspace needs a directory");
	if (!path)
		return base_oom(err);
	int rc = fs_real_path(path, &w->dir, err);
	if (rc < 0)
		return rc;
	if (stat(w->dir, &st) < 0)
		return base_errno(err, AIRLOCK_ERR_IO, errno, "stat", w->dir);
	if (!S_ISDIR(st.st_mode))
		return base_error(err, AIRLOCK_ERR_INVALID, "workspace", w->dir, "the workspace %s is not a directory",
				  w->dir);
	if (strcmp(w->dir, "/") == 0)
		return base_error(err, AIRLOCK_ERR_INVALID, "workspace", "/",
				  "the whole file system cannot be a workspace");
	return 0;
}

/* SRC:DST where what is before the last colon exists, else SRC alone: a path may have colons. */
static int split(const char *value, const char *cwd, char **ret_source, char **ret_target)
{
	const char *colon = strrchr(value, ':');
	struct stat st;
	_cleanup_free_ char *whole = path_normalize(cwd, value);
	if (!whole)
		return -ENOMEM;
	if (colon && colon[1] == '/' && lstat(whole, &st) < 0) {
		_cleanup_free_ char *before = strndup(value, (size_t)(colon - value));
		*ret_source = before ? path_normalize(cwd, before) : NULL;
		*ret_target = path_normalize("/", colon + 1);
	} else {
		*ret_source = strdup(whole);
		*ret_target = strdup(whole);
	}
	return *ret_source && *ret_target ? 0 : -ENOMEM;
}

static int add_bind(struct workspace *w, const char *value, const char *cwd, struct airlock_error *err)
{
	struct stat st;
	_cleanup_free_ char *source = NULL, *target = NULL, *real = NULL;
	if (split(value, cwd, &source, &target) < 0)
		return base_oom(err);
	int rc = fs_real_path(source, &real, err);
	if (rc < 0)
		return rc;
	if (strcmp(target, "/") == 0)
		return base_error(err, AIRLOCK_ERR_INVALID, "bind-ro", value,
				  "--bind-ro %s: / is the workspace; bind to a path below it", value);
	/* A command that runs in that directory could replace it before it is mounted, so refuse (I6). */
	if (path_is_beneath(real, w->dir))
		return base_error(err, AIRLOCK_ERR_INVALID, "bind-ro", value,
				  "--bind-ro %s: %s is in the workspace already", value, real);
	if (stat(real, &st) < 0)
		return base_errno(err, AIRLOCK_ERR_IO, errno, "stat", real);
	struct workspace_bind *v = reallocarray(w->binds, w->n_binds + 1, sizeof *v);
	if (!v)
		return base_oom(err);
	w->binds = v;
	w->binds[w->n_binds++] = (struct workspace_bind){TAKE_PTR(real), TAKE_PTR(target), S_ISDIR(st.st_mode)};
	return 0;
}

static int by_target(const void *a, const void *b)
{
	return path_compare(((const struct workspace_bind *)a)->target, ((const struct workspace_bind *)b)->target);
}

int workspace_open(struct workspace *w, const struct settings_view *v, const char *cwd, struct airlock_error *err)
{
	const char *dir = settings_get(v, "workspace");
	int rc = dir ? open_dir(w, dir, cwd, err) : 0;
	for (size_t i = 0; rc == 0 && i < v->n; i++) {
		if (strcmp(v->items[i].key, "bind-ro") != 0)
			continue;
		if (!dir) {
			base_error(err, AIRLOCK_ERR_USAGE, "bind-ro", v->items[i].value, "%s needs --workspace",
				   v->items[i].origin);
			rc = base_hint(err, "in a project, --ro makes a path visible");
		} else
			rc = add_bind(w, v->items[i].value, cwd, err);
	}
	if (rc == 0 && w->n_binds > 1)
		qsort(w->binds, w->n_binds, sizeof *w->binds, by_target);
	if (rc < 0)
		workspace_done(w);
	return rc;
}
