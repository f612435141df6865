/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Resolves the paths of rules. Hundreds of rules share a few dozen directories: each is resolved once, and nothing is
 * copied if no symlink is on the way. */
#include "plan/nodes.h"

#include "base/array.h"
#include "base/path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void resolved_path_done(struct resolved_path *p)
{
	free(p->owned);
	*p = (struct resolved_path){0};
}

static size_t dir_length(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash == path ? 1 : (size_t)(slash - path);
}

/* Where the index of a directory begins. */
static size_t *bucket_of(struct nodes *t, const char *path, size_t len)
{
	size_t h = len;
	for (size_t i = len > 8 ? len - 8 : 0; i < len; i++) /* paths differ at their ends */
		h = h * 31 + (unsigned char)path[i];
	return &t->known_buckets[h % AL_ARRAY_LEN(t->known_buckets)];
}

/* Index of the directory, or NODES_NONE when memory is short. */
static size_t add_known(struct nodes *t, const char *dir, size_t len, const struct resolved_path *at)
{
	if (!ARRAY_ROOM(t->known, t->n_known, t->cap_known, 64))
		return NODES_NONE;
	bool moved = strlen(at->real) != len || memcmp(at->real, dir, len) != 0;
	struct known_dir d = {.path = strndup(dir, len),
			      .len = len,
			      .real = moved ? strdup(at->real) : NULL,
			      .exists = at->type != PLAN_MISSING,
			      .guard = NODES_NONE};
	if (!d.path || (moved && !d.real)) {
		free(d.path);
		free(d.real);
		return NODES_NONE;
	}
	size_t *bucket = bucket_of(t, dir, len);
	d.existing = d.exists ? t->n_known : t->known[at->dir].existing;
	d.next = *bucket;
	t->known[t->n_known] = d;
	*bucket = t->n_known + 1;
	return t->n_known++;
}

/* The first len bytes of path as a directory. */
static size_t known_dir(struct nodes *t, const struct plan_world *w, const char *path, size_t len)
{
	for (size_t i = *bucket_of(t, path, len); i; i = t->known[i - 1].next)
		if (t->known[i - 1].len == len && memcmp(t->known[i - 1].path, path, len) == 0)
			return i - 1;
	_cleanup_(resolved_path_done) struct resolved_path at = {0};
	_cleanup_free_ char *dir = strndup(path, len);
	size_t found = dir && resolved_path_find(t, w, dir, &at) ? add_known(t, path, len, &at) : NODES_NONE;
	t->failed |= found == NODES_NONE;
	return found;
}

char *resolved_path_name(struct nodes *t, const struct plan_world *w, const char *path)
{
	size_t dir = known_dir(t, w, path, dir_length(path));
	if (dir == NODES_NONE)
		return NULL;
	const char *real = t->known[dir].real;
	return real ? path_join(real, path_basename(path)) : strdup(path);
}

bool resolved_path_find(struct nodes *t, const struct plan_world *w, const char *path, struct resolved_path *ret)
{
	*ret = (struct resolved_path){.real = path, .type = PLAN_DIRECTORY};
	if (strcmp(path, "/") == 0)
		return true;
	ret->dir = known_dir(t, w, path, dir_length(path));
	if (ret->dir == NODES_NONE)
		return false;
	const struct known_dir *above = &t->known[ret->dir];
	if (above->real)
		ret->real = ret->owned = path_join(above->real, path_basename(path));
	ret->type = ret->real && above->exists ? nodes_look(t, w, ret->real) : PLAN_MISSING;
	ret->is_link = ret->type == PLAN_LINK;
	errno = 0; /* a host that gives no errno with NULL means "nothing" */
	char *target = ret->is_link ? w->real(ret->real, w->data) : NULL;
	if (ret->is_link && !target && errno && !base_is_absent(errno))
		nodes_unseen(t, ret->real, errno);
	if (ret->is_link)
		ret->type = target ? nodes_look(t, w, target) : PLAN_MISSING;
	if (target) {
		free(ret->owned);
		ret->real = ret->owned = target;
	}
	t->failed |= !ret->real;
	return ret->real != NULL;
}
