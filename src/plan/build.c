/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/plan.h"

#include "base/array.h"
#include "base/path.h"
#include "plan/environment.h"
#include "plan/nodes.h"
#include "plan/screens.h"
#include "plan/plan_workspace.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int plan_add_mount(struct plan *p, enum plan_mount_kind kind, const struct node *n, struct airlock_error *err)
{
	if (!ARRAY_ROOM(p->mounts, p->n_mounts, p->cap_mounts, 64))
		return base_oom(err);
	bool with_source = n->source && kind != PLAN_SEAL;
	struct plan_mount m = {.kind = kind,
			       .source = with_source ? strdup(n->source) : NULL,
			       .target = strdup(n->path),
			       .because = rule_origin_keep(n->because, &p->origin_names),
			       .cache = n->cache ? strdup(n->cache) : NULL,
			       .size = n->size,
			       .derived = n->derived};
	p->mounts[p->n_mounts++] = m;
	return m.target && !p->origin_names.failed && (!with_source || m.source) && (!n->cache || m.cache)
		       ? 0
		       : base_oom(err);
}

static bool is_root(const struct node *n)
{
	return strcmp(n->path, "/") == 0;
}

/* Hides an entry behind an empty one of the same type. */
static enum plan_mount_kind settled_kind(struct nodes *t, struct node *n, const struct plan_world *w)
{
	if (n->kind != PLAN_EMPTY_DIR)
		return n->kind;
	enum plan_type type = nodes_type(t, n, w);
	return type == PLAN_DIRECTORY || type == PLAN_MISSING ? PLAN_EMPTY_DIR : PLAN_EMPTY_FILE;
}

/* Only root can replace what the built-in rules hide outside the home, and does so with each new user. */
static bool is_of_root(const struct node *n, const struct plan_inputs *in)
{
	return !path_is_beneath(n->path, in->home) && n->because.kind == AIRLOCK_ORIGIN_BUILTIN;
}

static bool is_uncoverable(const struct nodes *t, size_t i, const struct plan_inputs *in)
{
	const struct node *n = &t->v[i], *cover = n->kind == PLAN_EMPTY_DIR ? nodes_cover(t, i) : NULL;
	bool shows_host =
		cover && (cover->kind == PLAN_READ || (cover->kind == PLAN_WRITE && !in->capture && !cover->cache));
	if (!shows_host || nodes_is_own(t, n))
		return false;
	return in->is_root || !is_of_root(n, in);
}

static bool is_layered_cache(const struct node *n)
{
	return n->cache && strcmp(n->path, n->source) == 0;
}

/* Directories of ours or of an agent that commands write to: what is in them is no change of the project. */
static bool is_scratch(const struct airlock_origin *because)
{
	return because->kind == AIRLOCK_ORIGIN_PLAYGROUND || because->kind == AIRLOCK_ORIGIN_SESSION_TMP ||
	       because->kind == AIRLOCK_ORIGIN_AGENT_STATE;
}

/* A root of the project: writes there are changes. */
static bool is_written_root(const struct plan_mount *m)
{
	return !m->cache && (m->kind == PLAN_LAYER || (m->kind == PLAN_WRITE && !is_scratch(&m->because)));
}

/* The modes of entries in /proc belong to the machine, through whichever /proc they are changed, and root owns them
 * inside too. */
static bool needs_seal(enum plan_mount_kind kind, const struct plan_inputs *in)
{
	return kind == PLAN_REBUILD || kind == PLAN_EMPTY_DIR || kind == PLAN_DEV || (kind == PLAN_PROC && in->is_root);
}

static int emit_mounts(struct plan *p, struct nodes *t, const struct plan_inputs *in, struct airlock_error *err)
{
	const struct plan_world *w = in->world;
	bool host_root = t->n > 0 && is_root(&t->v[0]) && t->v[0].kind != PLAN_REBUILD;
	for (size_t i = 0; i < t->n; i++) {
		if (is_root(&t->v[i]) && !host_root)
			continue; /* the sandbox's root starts out empty */
		enum plan_mount_kind kind = settled_kind(t, &t->v[i], w);
		if (t->v[i].cache ? is_layered_cache(&t->v[i])
				  : kind == PLAN_WRITE && in->capture && !is_scratch(&t->v[i].because))
			kind = PLAN_LAYER;
		/* I2: while changes are captured, a root is never mounted for direct writing. */
		assert(kind != PLAN_WRITE || !in->capture || t->v[i].cache || is_scratch(&t->v[i].because));
		if (plan_add_mount(p, kind, &t->v[i], err) < 0)
			return err ? err->code : AIRLOCK_ERR_INTERNAL;
		p->mounts[p->n_mounts - 1].uncoverable = is_uncoverable(t, i, in);
		p->mounts[p->n_mounts - 1].replaced_by_root = is_of_root(&t->v[i], in);
		if (!screens_settle(t, &t->v[i], in, p))
			return base_oom(err);
	}
	/* Only after every mount point has been made. */
	for (size_t i = 0; i < t->n; i++)
		if (!is_root(&t->v[i]) && needs_seal(settled_kind(t, &t->v[i], w), in) &&
		    plan_add_mount(p, PLAN_SEAL, &t->v[i], err) < 0)
			return AIRLOCK_ERR_INTERNAL;
	struct node root = {.path = (char *)"/", .because = RULE_ORIGIN(ALWAYS)};
	return host_root ? 0 : plan_add_mount(p, PLAN_SEAL, &root, err);
}

static int build_mounts(struct plan *p, const struct plan_inputs *in, struct airlock_error *err)
{
	if (in->workspace)
		return workspace_mounts(p, in, err);
	struct nodes t = {0};
	nodes_collect(&t, in, &p->notes);
	nodes_make_room(&t, in->world, in->home, p);
	screens_add(&t, in, &p->notes);
	int rc = t.failed ? nodes_error(&t, err) : emit_mounts(p, &t, in, err);
	if (rc == 0 && t.failed)
		rc = nodes_error(&t, err);
	nodes_done(&t);
	return rc;
}

static void copy_scalars(struct plan *p, const struct plan_inputs *in)
{
	const struct policy *policy = in->policy;
	p->timeout_ms = policy->timeout_ms;
	p->memory = policy->memory;
	p->pids = policy->pids;
	p->file_size = policy->file_size;
	p->new_session = policy->new_session;
	p->nested = policy->nested;
	p->unix_sockets = policy->unix_sockets;
	p->network = in->network;
	p->gate = in->gate && !in->in_place;
	p->namespaces = PLAN_NS_USER | PLAN_NS_MOUNT | PLAN_NS_IPC | PLAN_NS_UTS | PLAN_NS_CGROUP;
	p->namespaces |= policy->share_pid ? 0 : PLAN_NS_PID;
	p->namespaces |= in->network ? 0 : PLAN_NS_NET;
	if (in->in_place)
		p->namespaces = 0;
}

int plan_build(const struct plan_inputs *in, struct plan **ret, struct airlock_error *err)
{
	struct plan *p = calloc(1, sizeof *p);
	if (!p)
		return base_oom(err);
	copy_scalars(p, in);
	p->profile = strdup(in->policy->profile);
	p->cwd = strdup(in->cwd);
	for (const char *const *a = in->argv; a && *a; a++)
		strs_add(&p->argv, *a);
	int rc = p->profile && p->cwd ? build_mounts(p, in, err) : base_oom(err);
	if (rc == 0) {
		if (in->workspace)
			strs_add(&p->roots, in->workspace->dir);
		for (size_t i = 0; !in->workspace && i < p->n_mounts; i++)
			if (is_written_root(&p->mounts[i]))
				strs_add(&p->roots, p->mounts[i].target);
		environment_build(p, in);
	}
	if (rc == 0 && (p->argv.failed || p->envp.failed || p->env_kept.failed || p->env_removed.failed ||
			p->roots.failed || p->notes.failed || p->origin_names.failed))
		rc = base_oom(err);
	if (rc < 0) {
		plan_free(p);
		return rc;
	}
	*ret = p;
	return 0;
}

void plan_free(struct plan *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n_mounts; i++) {
		free(p->mounts[i].source);
		free(p->mounts[i].target);
		free(p->mounts[i].screen);
		free(p->mounts[i].cache);
	}
	free(p->mounts);
	free(p->profile);
	free(p->cwd);
	strs_done(&p->roots);
	strs_done(&p->argv);
	strs_done(&p->envp);
	strs_done(&p->env_kept);
	strs_done(&p->env_removed);
	for (size_t i = 0; i < POLICY_ENV_N_VERDICTS; i++)
		strs_done(&p->env_removed_for[i]);
	notes_done(&p->notes);
	for (size_t i = 0; i < p->n_left_out; i++)
		free(p->left_out[i].path);
	free(p->left_out);
	strs_done(&p->origin_names);
	strs_done(&p->exposed);
	free(p);
}

static bool leads_to_mount(const struct plan *p, const char *path)
{
	for (size_t i = 0; i < p->n_mounts; i++)
		if (path_is_beneath(p->mounts[i].target, path))
			return true;
	return strcmp(path, "/") == 0;
}

enum plan_location plan_locate(const struct plan *p, const char *path, char **ret_host)
{
	const struct plan_mount *last = NULL;
	for (size_t i = 0; i < p->n_mounts; i++)
		if (p->mounts[i].kind != PLAN_SEAL && path_is_beneath(path, p->mounts[i].target))
			last = &p->mounts[i];
	if (last && last->kind == PLAN_SYMLINK) {
		_cleanup_free_ char *dir = path_dirname(last->target);
		_cleanup_free_ char *to = dir ? path_normalize(dir, last->source) : NULL;
		const char *rest = path_rest(path, last->target);
		_cleanup_free_ char *whole = to && *rest ? path_join(to, rest) : to ? strdup(to) : NULL;
		if (!whole)
			return PLAN_NO_MEMORY;
		*ret_host = TAKE_PTR(whole); /* approximately: the host resolves the rest */
		return PLAN_AT_HOST;
	}
	if (!last || (last->kind != PLAN_READ && last->kind != PLAN_WRITE && last->kind != PLAN_LAYER))
		return leads_to_mount(p, path) ? PLAN_AT_SANDBOX : PLAN_AT_NOTHING;
	const char *rest = path_rest(path, last->target);
	*ret_host = *rest ? path_join(last->source, rest) : strdup(last->source);
	return *ret_host ? PLAN_AT_HOST : PLAN_NO_MEMORY;
}
