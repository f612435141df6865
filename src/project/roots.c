/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "project/roots.h"

#include "base/array.h"
#include "base/path.h"

#include <string.h>

/* /home is hidden because of other people's homes; the user's own home in it is not. */
static bool means_other_homes(const struct roots_rules *r, const char *secret, const char *target)
{
	return r->home && strcmp(r->home, secret) != 0 && path_is_beneath(r->home, secret) &&
	       path_is_beneath(target, r->home);
}

static const char *secret_around(const struct roots_rules *r, const char *target)
{
	for (size_t i = 0; i < r->secrets.n; i++)
		if (path_is_beneath(target, r->secrets.v[i]) && !means_other_homes(r, r->secrets.v[i], target))
			return r->secrets.v[i];
	return NULL;
}

static const char *secret_below(const struct roots_rules *r, const char *target)
{
	for (size_t i = 0; i < r->secrets.n; i++)
		if (path_is_beneath(r->secrets.v[i], target))
			return r->secrets.v[i];
	return NULL;
}

static enum roots_verdict judge_by_home(const struct roots_rules *r, const char *target)
{
	if (!r->home)
		return ROOTS_NO_HOME;
	return path_is_beneath(target, r->home) ? ROOTS_OK : ROOTS_OUTSIDE_HOME;
}

enum roots_verdict roots_judge(const struct roots_rules *r, const char *target, const char **ret_secret)
{
	const char *secret = NULL;
	enum roots_verdict verdict;
	if (path_is_beneath(target, r->project))
		verdict = ROOTS_INSIDE;
	else if (r->home && path_is_beneath(r->home, target))
		verdict = ROOTS_HOME;
	else if (path_is_beneath(r->project, target))
		verdict = ROOTS_ABOVE_PROJECT;
	else if ((secret = secret_around(r, target)))
		verdict = ROOTS_SECRET;
	else if ((secret = secret_below(r, target)))
		verdict = ROOTS_ABOVE_SECRET;
	else
		verdict = judge_by_home(r, target);
	if (ret_secret)
		*ret_secret = secret;
	return verdict;
}

enum airlock_link_reason roots_reason(enum roots_verdict verdict)
{
	static const enum airlock_link_reason reasons[] = {
		[ROOTS_OK] = AIRLOCK_LINK_NO_REASON,
		[ROOTS_INSIDE] = AIRLOCK_LINK_NO_REASON,
		[ROOTS_HOME] = AIRLOCK_LINK_HOME,
		[ROOTS_ABOVE_PROJECT] = AIRLOCK_LINK_ABOVE_PROJECT,
		[ROOTS_SECRET] = AIRLOCK_LINK_SECRET,
		[ROOTS_ABOVE_SECRET] = AIRLOCK_LINK_ABOVE_SECRET,
		[ROOTS_OUTSIDE_HOME] = AIRLOCK_LINK_OUTSIDE_HOME,
		[ROOTS_NO_HOME] = AIRLOCK_LINK_WITHOUT_HOME,
	};
	return reasons[verdict];
}

void roots_add_reason(struct buf *out, enum roots_verdict verdict, const char *secret)
{
	static const char *const words[] = {
		[ROOTS_OK] = "",
		[ROOTS_INSIDE] = "because it is inside the project",
		[ROOTS_HOME] = "because it is the home directory or contains it",
		[ROOTS_ABOVE_PROJECT] = "because the project lies inside it",
		[ROOTS_SECRET] = "because its content is hidden: ",
		[ROOTS_ABOVE_SECRET] = "because it contains a hidden path: ",
		[ROOTS_OUTSIDE_HOME] = "because it is outside the home directory",
		[ROOTS_NO_HOME] = "because it is outside the project and there is no home directory",
	};
	buf_adds(out, words[verdict]);
	if (secret)
		buf_adds(out, secret);
}

void roots_rules_done(struct roots_rules *r)
{
	strs_done(&r->secrets);
}

static bool has(const struct roots *l, const char *path)
{
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->v[i].path, path) == 0)
			return true;
	return false;
}

void roots_add(struct roots *l, const char *path, struct airlock_origin because)
{
	char *copy = strdup(path);
	if (!copy || !ARRAY_ROOM(l->v, l->n, l->cap, 4))
		l->failed = true;
	if (l->failed || has(l, path)) {
		free(copy);
		return;
	}
	l->v[l->n++] = (struct project_root){.path = copy, .because = because};
}

bool roots_cover(const struct roots *l, const char *path)
{
	for (size_t i = 0; i < l->n; i++)
		if (path_is_beneath(path, l->v[i].path))
			return true;
	return false;
}

static int compare(const void *a, const void *b)
{
	return path_compare(((const struct project_root *)a)->path, ((const struct project_root *)b)->path);
}

/* Sorted, a parent comes before its children: comparing with those already kept is enough. */
void roots_prune(struct roots *l)
{
	if (l->n < 2)
		return;
	qsort(l->v + 1, l->n - 1, sizeof *l->v, compare);
	struct roots kept = {.v = l->v, .n = 1};
	for (size_t i = 1; i < l->n; i++) {
		if (roots_cover(&kept, l->v[i].path))
			free(l->v[i].path);
		else
			kept.v[kept.n++] = l->v[i];
	}
	l->n = kept.n;
}

void roots_done(struct roots *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i].path);
	base_freep(&l->v);
	*l = (struct roots)ROOTS_INIT;
}
