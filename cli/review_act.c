/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "review_act.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decide.h"
#include "output.h"
#include "waiting.h"

bool review_waits(const struct airlock_change *c)
{
	return c->state == AIRLOCK_CHANGE_HELD || c->state == AIRLOCK_CHANGE_CONFLICT;
}

char *review_path(const struct airlock_change *c)
{
	char *path = NULL;
	return asprintf(&path, "%s/%s", c->root, c->path) < 0 ? NULL : path;
}

static bool is_beneath(const struct airlock_change *c, const struct airlock_change *dir)
{
	size_t len = strlen(dir->path);
	return strcmp(c->root, dir->root) == 0 && strncmp(c->path, dir->path, len) == 0 && c->path[len] == '/';
}

size_t review_beneath(const struct review *r, size_t at)
{
	size_t n = 0;
	while (r->waiting[at]->type == AIRLOCK_TYPE_DIRECTORY && at + 1 + n < r->n &&
	       is_beneath(r->waiting[at + 1 + n], r->waiting[at]))
		n++;
	return n;
}

static void apply(struct review *r, const char *const *paths, bool force)
{
	struct airlock_changes *changes = NULL;
	waiting_begin("applying");
	(void)airlock_changes_apply(r->settings, airlock_changes_run(r->changes), paths, force, &changes, &r->failure);
	waiting_end();
	airlock_changes_free(changes);
}

/* False: declined. If the question could not be asked, the failure says why and nothing is applied. */
static bool confirm(struct review *r, const char *const *paths)
{
	struct airlock_error err = {0};
	int rc = decide_confirm(r->settings, airlock_changes_run(r->changes), paths, false, &err);
	if (rc < 0 && rc != AIRLOCK_ERR_DENIED)
		r->failure = err;
	return rc != AIRLOCK_ERR_DENIED;
}

bool review_apply(struct review *r, const char *const *paths)
{
	if (!confirm(r, paths))
		return false;
	if (r->failure.code >= 0)
		apply(r, paths, false);
	return true;
}

bool review_apply_anyway(struct review *r, size_t at)
{
	char *path = review_path(r->waiting[at]);
	const char *paths[] = {path, NULL};
	bool settled = true;
	if (!path)
		(void)output_fail(&r->failure, AIRLOCK_ERR_INTERNAL, NULL, "out of memory");
	else if (review_beneath(r, at) > 0)
		settled = confirm(r, paths);
	if (settled && r->failure.code >= 0)
		apply(r, paths, true);
	r->goes_on = settled && r->failure.code >= 0;
	r->cursor = at;
	free(path);
	return settled;
}

void review_discard(struct review *r, const char *const *paths)
{
	struct airlock_changes *changes = NULL;
	waiting_begin("discarding");
	(void)airlock_changes_discard(r->settings, airlock_changes_run(r->changes), paths, &changes, &r->failure);
	waiting_end();
	airlock_changes_free(changes);
}

static void choose_directories(const struct review *r, bool *chosen)
{
	for (size_t i = r->n; i-- > 0;) {
		size_t n = review_beneath(r, i);
		bool all = n > 0;
		for (size_t k = 1; k <= n; k++)
			all = all && chosen[i + k];
		chosen[i] = n > 0 ? all : chosen[i];
	}
}

static void free_paths(const char **paths)
{
	for (size_t i = 0; paths && paths[i]; i++)
		free((char *)paths[i]);
	free(paths);
}

/* NULL: out of memory, and the failure says so. */
static const char **paths_of(struct review *r, bool *chosen)
{
	const char **paths = calloc(r->n + 1, sizeof *paths);
	size_t n = 0;
	choose_directories(r, chosen);
	for (size_t i = 0; paths && i < r->n; i++)
		if (chosen[i] && !(paths[n++] = review_path(r->waiting[i]))) {
			free_paths(paths);
			paths = NULL;
		}
	if (!paths)
		(void)output_fail(&r->failure, AIRLOCK_ERR_INTERNAL, NULL, "out of memory");
	return paths;
}

/* No path at all would mean all of them. */
bool review_apply_chosen(struct review *r, bool *chosen)
{
	const char **paths = paths_of(r, chosen);
	bool settled = !paths || !paths[0] || review_apply(r, paths);
	free_paths(paths);
	return settled;
}

void review_discard_chosen(struct review *r, bool *chosen)
{
	const char **paths = paths_of(r, chosen);
	if (paths && paths[0])
		review_discard(r, paths);
	free_paths(paths);
}
