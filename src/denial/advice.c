/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What would allow something that was refused: an option and, for paths, the directory to give it.
 *
 * A write is allowed by making a directory writable. The nearest existing directory is the first choice, but often not
 * the useful one: a program that fails at ~/.npm/_cacache/tmp/x writes elsewhere in ~/.npm next. So in the home we
 * offer the program's directory (~/.npm, ~/.cache/pip), and for several refusals in one tree their common directory.
 * We never offer the home itself, directories above it or the directories of all programs (~/.config): whoever
 * followed such a hint would have no sandbox left. */
#include "denial/advice.h"

#include "base/path.h"

#include <stdlib.h>
#include <string.h>

/* Directories in the home in which every program has its own directory. */
static const char *const shared_dirs[] = {".config", ".local", ".local/share", ".local/state", ".cache"};

static bool is_write(enum airlock_attempt a)
{
	return a != AIRLOCK_ATTEMPT_OPEN && a != AIRLOCK_ATTEMPT_CHDIR && a != AIRLOCK_ATTEMPT_CONNECT &&
	       a != AIRLOCK_ATTEMPT_SEND;
}

static bool is_directory(const struct denial_scene *scene, const char *path)
{
	return scene->world->type(path, scene->world->data) == PLAN_DIRECTORY;
}

/* ── Which directory ── */

/* The part of a path below the home, or NULL if it is not below it. */
static const char *below_home(const struct denial_scene *scene, const char *path)
{
	if (!scene->home || !path_is_beneath(path, scene->home) || strcmp(path, scene->home) == 0)
		return NULL;
	const char *rest = path + strlen(scene->home);
	return *rest == '/' ? rest + 1 : rest;
}

static bool is_shared_dir(const char *below, size_t len)
{
	for (size_t i = 0; i < AL_ARRAY_LEN(shared_dirs); i++)
		if (strlen(shared_dirs[i]) == len && memcmp(shared_dirs[i], below, len) == 0)
			return true;
	return false;
}

/* True for directories that are too large to offer. */
static bool is_too_wide(const struct denial_scene *scene, const char *dir)
{
	const char *below = below_home(scene, dir);
	if (below)
		return is_shared_dir(below, strlen(below));
	return !dir[1] || (scene->home && path_is_beneath(scene->home, dir));
}

/* For "/home/u/.cache/pip/http/x" the length of "/home/u/.cache/pip"; 0 for paths outside the home, and for files
 * directly in the home or a shared directory. */
static size_t length_of_anchor(const struct denial_scene *scene, const char *path)
{
	const char *below = below_home(scene, path);
	for (const char *end = below ? strchr(below, '/') : NULL; end; end = strchr(end + 1, '/'))
		if (!is_shared_dir(below, (size_t)(end - below)))
			return (size_t)(end - path);
	return 0;
}

static char *nearest_directory(const struct denial_scene *scene, const char *path)
{
	char *dir = is_directory(scene, path) ? strdup(path) : path_dirname(path);
	while (dir && dir[1] && !is_directory(scene, dir)) {
		char *up = path_dirname(dir);
		free(dir);
		dir = up;
	}
	return dir;
}

/* The directory to make writable; NULL if there is none to offer. Sets is_to_make if it does not exist. */
static char *writable_place(const struct denial_scene *scene, struct airlock_denial *d)
{
	char *near = nearest_directory(scene, d->path);
	size_t anchor = length_of_anchor(scene, d->path);
	const char *below = below_home(scene, d->path);
	bool is_program_dir = anchor && below[0] == '.' && d->rule == AIRLOCK_DENIAL_READ_ONLY;
	if (!near || (!is_too_wide(scene, near) && !is_program_dir))
		return near;
	char *place = NULL;
	if (anchor)
		place = strndup(d->path, anchor);
	else if (d->attempt == AIRLOCK_ATTEMPT_MKDIR && below) /* the directory that the command wanted to make */
		place = strdup(d->path);
	free(near);
	if (!place || is_too_wide(scene, place)) {
		free(place);
		return NULL;
	}
	d->is_to_make = !is_directory(scene, place);
	return place;
}

/* ── Which option ── */

static enum airlock_remedy find_remedy(const struct denial_scene *scene, const struct denial_verdict *v,
				       const struct airlock_denial *d)
{
	bool is_own = rule_origin_is_own(&v->origin);
	switch (v->rule) {
	case AIRLOCK_DENIAL_NONE:
		return AIRLOCK_REMEDY_NONE;
	case AIRLOCK_DENIAL_CALL:
		return d->attempt == AIRLOCK_ATTEMPT_TRACE || d->attempt == AIRLOCK_ATTEMPT_NAMESPACE
			       ? AIRLOCK_REMEDY_NESTED
			       : AIRLOCK_REMEDY_NONE;
	case AIRLOCK_DENIAL_NETWORK_OFF:
		return scene->network_refused ? AIRLOCK_REMEDY_PROFILE : AIRLOCK_REMEDY_NETWORK;
	case AIRLOCK_DENIAL_READ_ONLY:
		return scene->workspace ? AIRLOCK_REMEDY_NONE : AIRLOCK_REMEDY_ALLOW_WRITE;
	case AIRLOCK_DENIAL_HIDDEN:
		if (v->origin.kind == AIRLOCK_ORIGIN_CALLER)
			return AIRLOCK_REMEDY_UNHIDE;
		break;
	case AIRLOCK_DENIAL_NOT_VISIBLE:
		break;
	}
	if (is_own || (is_write(d->attempt) && scene->workspace))
		return AIRLOCK_REMEDY_NONE;
	if (is_write(d->attempt))
		return AIRLOCK_REMEDY_ALLOW_WRITE;
	return scene->workspace ? AIRLOCK_REMEDY_BIND : AIRLOCK_REMEDY_READ;
}

bool advice_find(const struct denial_scene *scene, const struct denial_verdict *v, struct airlock_denial *d)
{
	d->remedy = find_remedy(scene, v, d);
	switch (d->remedy) {
	case AIRLOCK_REMEDY_NONE:
	case AIRLOCK_REMEDY_NETWORK:
	case AIRLOCK_REMEDY_NESTED:
		return true;
	case AIRLOCK_REMEDY_PROFILE:
		d->value = strdup("moderate");
		break;
	case AIRLOCK_REMEDY_UNHIDE:
		d->value = strdup(v->region);
		break;
	case AIRLOCK_REMEDY_READ:
	case AIRLOCK_REMEDY_BIND:
		d->value = strdup(d->path);
		break;
	case AIRLOCK_REMEDY_ALLOW_WRITE:
		d->value = writable_place(scene, d);
		if (!d->value) /* none is narrow enough */
			d->remedy = AIRLOCK_REMEDY_NONE;
		return true;
	}
	return d->value != NULL;
}

/* ── Several in one tree ── */

static bool is_about_directory(const struct airlock_denial *d)
{
	return d->remedy == AIRLOCK_REMEDY_ALLOW_WRITE && !d->is_to_make;
}

/* The length of the deepest directory that contains or is both. */
static size_t common_length(const char *a, const char *b)
{
	size_t i = 0, last = 0;
	for (; a[i] && a[i] == b[i]; i++)
		if (a[i] == '/')
			last = i;
	if ((!a[i] && (!b[i] || b[i] == '/')) || (!b[i] && a[i] == '/'))
		return i;
	return last;
}

/* Only below one directory in the home: the common directory of two refusals elsewhere may be half of the system. */
void advice_join(const struct denial_scene *scene, struct denials *list)
{
	for (size_t i = 0; i < list->n; i++)
		for (size_t k = 0; k < list->n; k++) {
			struct airlock_denial *a = &list->v[i], *b = &list->v[k];
			if (i == k || !is_about_directory(a) || !is_about_directory(b))
				continue;
			size_t anchor = length_of_anchor(scene, a->path), n = common_length(a->value, b->value);
			if (anchor && n >= anchor && n < strlen(a->value))
				((char *)a->value)[n] = '\0'; /* the list's own */
		}
}
