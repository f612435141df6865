/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "change/apply/apply.h"

#include "base/path.h"
#include "change/apply/apply_tx.h"
#include "layer/upper.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static bool is_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);
	return n == 0 || (strncmp(path, dir, n) == 0 && (path[n] == '\0' || path[n] == '/'));
}

/* Selects what is at or below rel. How many that were. */
static size_t mark_below(const struct change_set *set, size_t root, const char *rel, bool *selected)
{
	size_t n = 0;
	for (size_t i = 0; i < set->n; i++) {
		const struct change *c = &set->v[i];
		if (c->root != root || !(is_below(c->path, rel) || (c->from && is_below(c->from, rel))))
			continue;
		selected[i] = true;
		n++;
	}
	return n;
}

static int mark_path(const struct change_set *set, const char *path, bool *selected, struct airlock_error *err)
{
	_cleanup_free_ char *full = path_normalize(set->n_roots ? set->roots[0].path : "/", path);
	size_t n = 0;
	if (!full)
		return base_oom(err);
	for (size_t i = 0; i < set->n_roots; i++) {
		const char *rel = path_rest(full, set->roots[i].path);
		n += rel ? mark_below(set, i, rel, selected) : 0;
	}
	if (n > 0)
		return 0;
	base_error(err, AIRLOCK_ERR_NOT_FOUND, "select", path, "run %s changed nothing at %s", set->run, path);
	return base_hint(err, "airlock changes %s lists what it changed", set->run);
}

/* A directory that is there only with the change (without it, for undo). */
static bool is_needed(const struct change *c, bool undo)
{
	const struct change_stat *want = undo ? &c->before : &c->after, *other = undo ? &c->after : &c->before;
	bool waits = undo ? c->state == CHANGE_APPLIED : c->state != CHANGE_APPLIED;
	return waits && want->type == CHANGE_DIRECTORY && other->type != CHANGE_DIRECTORY;
}

static int mark_parents(struct change_set *set, size_t root, const char *path, bool undo, bool *selected)
{
	_cleanup_free_ char *part = strdup(path);
	if (!part)
		return -ENOMEM;
	for (char *slash; (slash = strrchr(part, '/'));) {
		*slash = '\0';
		const struct change *c = change_set_find(set, root, part);
		if (!c || !is_needed(c, undo))
			continue;
		if (selected[c - set->v])
			break; /* its own parents are those */
		selected[c - set->v] = true;
	}
	return 0;
}

/* What is put somewhere: by apply at its path, by undo where it was. */
static int mark_needed(struct change_set *set, bool undo, bool *selected)
{
	int rc = 0;
	for (size_t i = set->n; rc == 0 && i-- > 0;) {
		const struct change *c = &set->v[i];
		const struct change_stat *want = undo ? &c->before : &c->after;
		if (selected[i] && want->type != CHANGE_NOTHING)
			rc = mark_parents(set, c->root, undo && c->from ? c->from : c->path, undo, selected);
	}
	return rc;
}

int apply_select(struct change_set *set, const char *const *paths, bool undo, bool **ret_selected,
		 struct airlock_error *err)
{
	_cleanup_free_ bool *selected = calloc(set->n + 1, sizeof *selected);
	if (!selected)
		return base_oom(err);
	int rc = 0;
	for (size_t i = 0; !paths && i < set->n; i++)
		selected[i] = true;
	for (size_t i = 0; rc == 0 && paths && paths[i]; i++)
		rc = mark_path(set, paths[i], selected, err);
	if (rc < 0)
		return rc;
	if (mark_needed(set, undo, selected) < 0)
		return base_oom(err);
	*ret_selected = TAKE_PTR(selected);
	return 0;
}
