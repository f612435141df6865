/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Turns the rules, which come in any order and through symlinks, into one node per path. */
#include "plan/nodes.h"

#include "base/path.h"

#include <stdlib.h>
#include <string.h>

#define GATHER_MIN 4

static enum plan_mount_kind kind_of(enum policy_access access)
{
	switch (access) {
	case POLICY_HIDE:
		return PLAN_EMPTY_DIR;
	case POLICY_TMPFS:
		return PLAN_TMPFS;
	case POLICY_READ:
		return PLAN_READ;
	case POLICY_WRITE:
		return PLAN_WRITE;
	}
	return PLAN_EMPTY_DIR;
}

/* Hundreds of built-in secrets do not exist. They cannot appear later because their directory is rebuilt, so one of
 * them stands for all: the first, which also explains the rebuilt directory. */
static bool is_guarded(struct nodes *t, const struct resolved_path *place, struct airlock_origin because)
{
	if (because.kind != AIRLOCK_ORIGIN_BUILTIN)
		return false;
	struct known_dir *dir = &t->known[t->known[place->dir].existing];
	if (dir->guard == NODES_NONE) {
		dir->guard = t->n; /* the caller puts it there */
		return false;
	}
	struct node *first = &t->v[dir->guard];
	if (path_compare(place->real, first->path) < 0) {
		char *path = strdup(place->real);
		if (!path) {
			t->failed = true;
			return true;
		}
		free(first->path);
		first->path = path;
		first->because = because;
	}
	return true;
}

static void put_rule(struct nodes *t, const struct plan_inputs *in, enum policy_access access, const char *path,
		     struct airlock_origin because, struct notes *notes)
{
	const struct plan_world *w = in->world;
	_cleanup_(resolved_path_done) struct resolved_path place = {0};
	/* A failed table stores nothing; whoever relied on an index would read beyond the end. */
	if (!resolved_path_find(t, w, path, &place) || t->failed)
		return;
	bool missing = place.type == PLAN_MISSING;
	if (missing && access == POLICY_WRITE) {
		_cleanup_buf_ struct buf who = BUF_INIT;
		rule_origin_add(&who, &because);
		NOTE(notes, MISSING, .subject = path, .other = buf_str(&who));
	}
	if (missing && (access == POLICY_WRITE || access == POLICY_READ))
		return;
	if (missing && access == POLICY_HIDE && !place.is_link && is_guarded(t, &place, because))
		return;
	enum plan_mount_kind kind = kind_of(access);
	if (kind == PLAN_TMPFS && in->tmp_source && strcmp(place.real, "/tmp") == 0) {
		nodes_put(t, place.real, PLAN_WRITE, in->tmp_source, RULE_ORIGIN(SESSION_TMP), 0);
		return;
	}
	bool bound = kind == PLAN_READ || kind == PLAN_WRITE;
	int64_t size = kind == PLAN_TMPFS ? policy_share_bytes(in->policy->tmp_size, in->memory) : 0;
	struct node *n = nodes_put(t, place.real, kind, bound ? place.real : NULL, because, size);
	if (n && (!place.is_link || !missing)) { /* otherwise the link itself is there */
		n->type = place.type;
		n->looked = true;
	}
	/* The name in the rule may be a symlink: it must work where its parent is not the host's. */
	_cleanup_free_ char *text = bound && place.is_link ? w->link(path, w->data) : NULL;
	if (text)
		nodes_put(t, path, PLAN_SYMLINK, text, because, 0);
}

static void put_playground(struct nodes *t, const struct plan_inputs *in)
{
	if (!in->playground_source)
		return;
	_cleanup_free_ char *wanted = path_join(in->home, "playground");
	_cleanup_(resolved_path_done) struct resolved_path place = {0};
	if (wanted && resolved_path_find(t, in->world, wanted, &place))
		nodes_put(t, place.real, PLAN_WRITE, in->playground_source, RULE_ORIGIN(PLAYGROUND), 0);
	else
		t->failed = true;
}

static void put_cache(struct nodes *t, const struct plan_world *w, const struct plan_cache *c)
{
	_cleanup_(resolved_path_done) struct resolved_path place = {0};
	if (!resolved_path_find(t, w, c->path, &place) || t->failed)
		return;
	bool missing = place.type == PLAN_MISSING && !place.is_link;
	if (c->is_file ? !missing && place.type != PLAN_FILE : !missing && place.type != PLAN_DIRECTORY)
		return;
	bool replaced = missing || c->is_file;
	struct airlock_origin because = c->agent ? RULE_ORIGIN(AGENT_PRIVATE, c->agent) : RULE_ORIGIN(CACHE);
	struct node *n = nodes_put(t, place.real, PLAN_WRITE, replaced ? c->whole : place.real, because, 0);
	if (!n)
		return;
	n->type = place.type;
	n->looked = true;
	n->cache = strdup(replaced ? c->whole : c->layer);
	t->failed |= !n->cache;
}

/* Whether the cache at node i stays: a rule that shows something below it would need a mount point in what commands
 * have written. */
static bool cache_stays(const struct nodes *t, size_t i)
{
	const struct node *n = &t->v[i], *cover = nodes_cover(t, i);
	if (n->because.kind == AIRLOCK_ORIGIN_AGENT_PRIVATE)
		return true;
	if (!cover || cover->kind != PLAN_READ || strcmp(cover->path, cover->source) != 0)
		return false;
	for (size_t k = i + 1; k < t->n && path_is_beneath(t->v[k].path, n->path); k++)
		if (t->v[k].kind != PLAN_EMPTY_DIR && !t->v[k].cache)
			return false;
	return true;
}

/* For a sorted table. What the built-in rules hide is hidden in a layer too; in a cache's own directory there is
 * nothing of the host to hide. */
static void settle_caches(struct nodes *t)
{
	for (size_t i = 0; i < t->n; i++) {
		struct node *n = &t->v[i];
		if (!n->cache || n->gone)
			continue;
		n->gone = !cache_stays(t, i);
		bool whole = strcmp(n->path, n->source) != 0;
		for (size_t k = i + 1; !n->gone && k < t->n && path_is_beneath(t->v[k].path, n->path); k++)
			t->v[k].gone = t->v[k].cache || whole;
	}
	nodes_compact(t);
}

#define RESOLVER "/etc/resolv.conf"
#define HOSTS "/etc/hosts"
#define MAX_LINKS 40

/* The links on the way, if /run hides them: a file that exists but cannot be reached is no help. */
static void put_resolver_links(struct nodes *t, const struct plan_inputs *in)
{
	const struct plan_world *w = in->world;
	_cleanup_free_ char *at = strdup(RESOLVER);
	for (int i = 0; at && i < MAX_LINKS; i++) {
		_cleanup_free_ char *place = resolved_path_name(t, w, at);
		if (!place || w->type(place, w->data) != PLAN_LINK)
			return;
		_cleanup_free_ char *text = w->link(place, w->data), *link_dir = path_dirname(place);
		if (!text || !link_dir)
			return;
		nodes_put(t, place, PLAN_SYMLINK, text, RULE_ORIGIN(RESOLVER), 0);
		free(at);
		at = path_normalize(link_dir, text);
	}
}

/* The file that name resolution reads when the network is on may be a link into /run, which is hidden. */
static void put_resolver(struct nodes *t, const struct plan_inputs *in)
{
	bool wanted = in->network || in->gate;
	_cleanup_free_ char *real = wanted ? in->world->real(RESOLVER, in->world->data) : NULL;
	_cleanup_free_ char *hosts = in->gate ? in->world->real(HOSTS, in->world->data) : NULL;
	if (hosts)
		nodes_put(t, hosts, PLAN_READ, in->hosts, RULE_ORIGIN(RESOLVER), 0);
	if (!real)
		return;
	if (strcmp(real, RESOLVER) != 0)
		put_resolver_links(t, in);
	nodes_put(t, real, PLAN_READ, in->gate ? in->resolver : real, RULE_ORIGIN(RESOLVER), 0);
}

/* How many nodes are entries of dir; 0 if one is deeper without an entry of dir above it, because the backend could
 * not reach it. */
static size_t count_entries(const struct nodes *t, const char *dir)
{
	size_t n = 0;
	for (size_t i = 0; i < t->n; i++) {
		const char *rest = path_rest(t->v[i].path, dir);
		if (!rest || !*rest)
			continue;
		const struct node *cover = strchr(rest, '/') ? nodes_cover(t, i) : NULL;
		if (strchr(rest, '/') &&
		    (!cover || !path_is_beneath(cover->path, dir) || strcmp(cover->path, dir) == 0))
			return 0;
		n += !strchr(rest, '/');
	}
	return n;
}

/* A directory of which only many single entries are visible is rebuilt with exactly those: for the backend, one mount
 * of a directory is cheaper than dozens of files. */
static void gather(struct nodes *t)
{
	for (size_t i = 0; i < t->n && !t->failed; i++) {
		if (t->v[i].kind != PLAN_READ || nodes_cover(t, i))
			continue;
		_cleanup_free_ char *dir = path_dirname(t->v[i].path);
		if (!dir || !dir[1] || count_entries(t, dir) < GATHER_MIN)
			continue;
		nodes_put_derived(t, dir, RULE_ORIGIN(GATHERED));
		nodes_sort(t);
		i = 0;
	}
}

void nodes_collect(struct nodes *t, const struct plan_inputs *in, struct notes *notes)
{
	for (size_t i = 0; i < in->n_caches; i++) /* first: every rule about the same path replaces it */
		if (!in->caches[i].agent)
			put_cache(t, in->world, &in->caches[i]);
	for (size_t i = 0; i < in->policy->n_paths; i++) {
		const struct policy_path *p = &in->policy->paths[i];
		put_rule(t, in, p->access, p->path, p->origin, notes);
	}
	for (size_t i = 0; i < in->n_roots; i++)
		put_rule(t, in, POLICY_WRITE, in->roots[i].path, in->roots[i].because, notes);
	for (size_t i = 0; i < in->n_caches;
	     i++) /* a person who hides it has been asked before: it is not in the list */
		if (in->caches[i].agent)
			put_cache(t, in->world, &in->caches[i]);
	t->first_own = t->next_order;
	for (size_t i = 0; i < in->n_hidden; i++)
		put_rule(t, in, POLICY_HIDE, in->hidden[i].path, in->hidden[i].because, notes);
	t->end_own = t->next_order;
	put_playground(t, in);
	put_resolver(t, in);
	if (in->policy->share_pid) /* a new /proc needs a new pid namespace */
		nodes_put(t, "/proc", PLAN_READ, "/proc", RULE_ORIGIN(SHARE_PID), 0);
	else
		nodes_put(t, "/proc", PLAN_PROC, NULL, RULE_ORIGIN(ALWAYS), 0);
	/* The caller's uid guards its files, not capabilities: for root they would be the machine's own. Left as it is
	 * if someone may nest sandboxes: a covered /proc cannot be mounted again inside. */
	if (!in->policy->share_pid && (in->is_root || !in->policy->nested))
		nodes_put(t, "/proc/sys", PLAN_READ, "/proc/sys", RULE_ORIGIN(ALWAYS), 0);
	nodes_put(t, "/dev", PLAN_DEV, NULL, RULE_ORIGIN(ALWAYS), 0);
	nodes_put(t, "/dev/shm", PLAN_TMPFS, NULL, RULE_ORIGIN(ALWAYS),
		  policy_share_bytes(in->policy->shm_size, in->memory));
	nodes_sort(t);
	settle_caches(t);
	nodes_drop_redundant(t);
	gather(t);
}
