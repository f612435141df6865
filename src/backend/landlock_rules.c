/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "backend/landlock_rules.h"

#include "base/array.h"
#include "base/path.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

/* The entries of a minimal /dev; each is granted if it exists. */
static const char *const devices[] = {"null", "zero", "full", "random", "urandom", "tty"};

void landlock_rules_done(struct landlock_rules *r)
{
	for (size_t i = 0; i < r->n; i++)
		free(r->v[i].path);
	free(r->v);
}

static void add(struct landlock_rules *r, const char *path, bool write, bool device)
{
	char *copy = ARRAY_ROOM(r->v, r->n, r->cap, 64) ? strdup(path) : NULL;
	r->failed |= !copy;
	if (copy)
		r->v[r->n++] = (struct landlock_rule){copy, write, device};
}

static bool grants(const struct plan_mount *m)
{
	return m->kind == PLAN_READ || m->kind == PLAN_WRITE || m->kind == PLAN_LAYER;
}

static bool is_write(const struct plan_mount *m)
{
	return m->kind == PLAN_WRITE || m->kind == PLAN_LAYER;
}

/* True if it has its own rule. Links are followed to what has rules itself. */
static bool decides(const struct plan_mount *m)
{
	return m->kind != PLAN_SEAL && m->kind != PLAN_SYMLINK && m->kind != PLAN_DIR;
}

static bool is_decided(const struct plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->n_mounts; i++)
		if (decides(&plan->mounts[i]) && strcmp(plan->mounts[i].target, path) == 0)
			return true;
	return false;
}

/* True if somewhere below path less is granted than m grants. */
static bool has_hole(const struct plan *plan, const struct plan_mount *m, const char *path)
{
	for (size_t i = 0; i < plan->n_mounts; i++) {
		const struct plan_mount *o = &plan->mounts[i];
		const char *rest = path_rest(o->target, path);
		if (o != m && rest && *rest && decides(o) && (!grants(o) || (is_write(m) && !is_write(o))))
			return true;
	}
	return false;
}

static void add_tree(struct landlock_rules *r, const struct plan *plan, const struct plan_mount *m, const char *path)
{
	if (!has_hole(plan, m, path)) {
		add(r, path, is_write(m), false);
		return;
	}
	DIR *dir = opendir(path);
	if (!dir) /* nobody can look into it, so nothing in it is needed */
		return;
	for (struct dirent *e; (e = readdir(dir));) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 || e->d_type == DT_LNK)
			continue;
		_cleanup_free_ char *entry = path_join(path, e->d_name);
		r->failed |= !entry;
		if (entry && !is_decided(plan, entry))
			add_tree(r, plan, m, entry);
	}
	(void)closedir(dir);
}

static void add_devices(struct landlock_rules *r, const char *dev)
{
	for (size_t i = 0; i < AL_ARRAY_LEN(devices); i++) {
		_cleanup_free_ char *path = path_join(dev, devices[i]);
		r->failed |= !path;
		if (path)
			add(r, path, true, true);
	}
}

int landlock_rules_make(const struct plan *plan, struct landlock_rules *ret, struct airlock_error *err)
{
	for (size_t i = 0; i < plan->n_mounts; i++) {
		const struct plan_mount *m = &plan->mounts[i];
		if (m->kind == PLAN_DEV)
			add_devices(ret, m->target);
		else if (m->kind == PLAN_PROC)
			add(ret, m->target, false, false);
		else if (grants(m) && strcmp(m->source, m->target) == 0)
			add_tree(ret, plan, m, m->source);
		else if (grants(m)) /* without mounts it is where it is */
			add(ret, m->source, is_write(m), false);
	}
	return ret->failed ? base_oom(err) : 0;
}
