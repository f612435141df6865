/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes a place for every mount point without touching the host.
 *
 * A mount point that does not exist cannot be made in a read-only directory of the host. So its directory is rebuilt:
 * an empty file system into which every entry of the original is bound. Rebuilding adds nodes, which may need places
 * themselves, so this repeats until nothing changes. */
#include "plan/nodes.h"

#include "base/array.h"
#include "base/path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A fuller directory is not rebuilt only to guard the place of a secret. */
#define GUARD_MAX_ENTRIES 256

static bool is_host_region(const struct node *cover)
{
	return cover && (cover->kind == PLAN_READ || cover->kind == PLAN_WRITE) &&
	       strcmp(cover->path, cover->source) == 0;
}

/* All entries of the original directory that have no node of their own. */
static void add_entries(struct nodes *t, const struct plan_world *w, const char *dir, const struct strs *names,
			struct notes *notes)
{
	size_t known = t->n;
	for (size_t i = 0; i < names->n; i++) {
		_cleanup_free_ char *path = path_join(dir, names->v[i]);
		if (!path) {
			t->failed = true;
			return;
		}
		if (nodes_have(t, known, path))
			continue;
		enum plan_type type = w->type(path, w->data);
		_cleanup_free_ char *text = type == PLAN_LINK ? w->link(path, w->data) : NULL;
		struct node *n = NULL;
		if (text)
			n = nodes_put(t, path, PLAN_SYMLINK, text, RULE_ORIGIN(ENTRY), 0);
		else if (type == PLAN_FILE || type == PLAN_DIRECTORY)
			n = nodes_put(t, path, PLAN_READ, path, RULE_ORIGIN(ENTRY), 0);
		else if (type == PLAN_UNKNOWN) /* for example, a network mount that has lost its server */
			NOTE(notes, NOT_SHOWN, .subject = path, .cause = strerrordesc_np(errno));
		if (n) {
			n->type = type;
			n->looked = true;
			n->derived = true;
		}
		/* Leaves out sockets and devices: the command must not talk to anybody behind them. */
	}
}

static void put_rebuilt(struct nodes *t, const struct plan_world *w, const char *dir, struct strs *names,
			struct airlock_origin because, struct notes *notes)
{
	strs_sort(names);
	nodes_compact(t);
	add_entries(t, w, dir, names, notes);
	nodes_put_derived(t, dir, because);
	nodes_sort(t);
}

static bool rebuild(struct nodes *t, const struct plan_world *w, const struct node *for_node, const char *dir,
		    struct notes *notes)
{
	_cleanup_strs_ struct strs names = STRS_INIT;
	int rc = w->list(dir, &names, w->data);
	if (rc == 0 && for_node->kind == PLAN_EMPTY_DIR && names.n > GUARD_MAX_ENTRIES)
		return false;
	if (rc < 0 && !base_is_absent(-rc))
		nodes_unseen(t, dir, -rc);
	if (rc < 0) {
		if (for_node->kind != PLAN_EMPTY_DIR)
			NOTE(notes, PARENT_UNREADABLE, .subject = for_node->path, .other = dir);
		return false;
	}
	bool exists = for_node->looked && for_node->type != PLAN_MISSING;
	struct airlock_origin because =
		exists ? RULE_ORIGIN(LEFT_OUT, for_node->path) : RULE_ORIGIN(PLACE, for_node->path);
	because = rule_origin_keep(because, &t->origin_names); /* nodes come and go */
	if (t->origin_names.failed || names.failed) {
		t->failed = true;
		return false;
	}
	put_rebuilt(t, w, dir, &names, because, notes);
	return true;
}

bool room_rebuild(struct nodes *t, const struct plan_world *w, const char *dir, struct airlock_origin because,
		  struct notes *notes)
{
	_cleanup_strs_ struct strs names = STRS_INIT;
	_cleanup_free_ char *path = strdup(dir); /* the node that it may belong to moves */
	if (!path || w->list(path, &names, w->data) < 0 || names.failed) {
		t->failed |= !path || names.failed;
		return false;
	}
	put_rebuilt(t, w, path, &names, because, notes);
	return true;
}

/* If someone on the host removes or replaces a file that is a mount point, as most programs do when they save, the
 * mount vanishes. An entry that a rebuilt directory never had cannot come back that way. Nobody replaces airlock's
 * own. */
static bool could_be_uncovered(const struct nodes *t, const struct node *n, const struct node *cover, const char *home)
{
	return n->kind == PLAN_EMPTY_DIR && cover->kind == PLAN_READ && !nodes_is_own(t, n) &&
	       strcmp(n->path, home) != 0 && path_is_beneath(n->path, home);
}

/* A file of an agent that another one stands for: in a rebuilt directory the host's own file is not there at all, and a program
 * that saves its file by renaming cannot uncover it. */
static bool is_replaced(const struct node *n, const struct node *cover)
{
	return n->cache && strcmp(n->path, n->source) != 0 && cover->kind == PLAN_READ;
}

/* The mount point of one node. Returns true if it can stay, false if it must go; sets *changed if the tree was
 * rebuilt. */
static bool has_room(struct nodes *t, size_t i, const struct plan_world *w, const char *home, struct notes *notes,
		     bool *changed)
{
	struct node *n = &t->v[i];
	const struct node *cover = nodes_cover(t, i);
	if (!is_host_region(cover))
		return true;
	if (nodes_type(t, n, w) != PLAN_MISSING) {
		bool needs_own = could_be_uncovered(t, n, cover, home) || is_replaced(n, cover);
		_cleanup_free_ char *above = needs_own ? path_dirname(n->path) : NULL;
		*changed = above && rebuild(t, w, n, above, notes);
		return true;
	}
	/* A secret that does not exist may appear while the command runs, but only one of the user's own. */
	if (n->kind == PLAN_EMPTY_DIR && !path_is_beneath(n->path, home))
		return false;
	if (cover->kind == PLAN_WRITE) {
		if (n->kind != PLAN_EMPTY_DIR)
			NOTE(notes, NO_MOUNT_POINT, .subject = n->path, .other = cover->path);
		return false;
	}
	_cleanup_free_ char *dir = path_dirname(n->path);
	while (dir && dir[1] && w->type(dir, w->data) == PLAN_MISSING) {
		char *up = path_dirname(dir);
		free(dir);
		dir = up;
	}
	if (!dir) {
		t->failed = true;
		return true;
	}
	*changed = rebuild(t, w, n, dir, notes);
	return *changed;
}

static void tell_left_out(struct nodes *t, const struct plan_world *w, struct plan *plan)
{
	for (size_t i = 0; i < t->n; i++) {
		struct node *n = &t->v[i];
		const struct node *cover = n->kind == PLAN_EMPTY_DIR ? nodes_cover(t, i) : NULL;
		if (!cover || cover->kind != PLAN_REBUILD || !nodes_is_redundant(t, i) ||
		    nodes_type(t, n, w) == PLAN_MISSING)
			continue;
		struct plan_left_out l = {strdup(n->path), rule_origin_keep(n->because, &plan->origin_names)};
		if (!l.path || !ARRAY_ROOM(plan->left_out, plan->n_left_out, plan->cap_left_out, 16)) {
			free(l.path);
			t->failed = true;
			return;
		}
		plan->left_out[plan->n_left_out++] = l;
	}
}

void nodes_make_room(struct nodes *t, const struct plan_world *world, const char *home, struct plan *plan)
{
	struct notes *notes = &plan->notes;
	_cleanup_(resolved_path_done) struct resolved_path real_home = {0};
	if (!resolved_path_find(t, world, home, &real_home))
		return;
	for (size_t i = 0; i < t->n && !t->failed;) {
		bool changed = false;
		bool stays = t->v[i].gone || strcmp(t->v[i].path, "/") == 0 ||
			     has_room(t, i, world, real_home.real, notes, &changed);
		if (!stays)
			t->v[i].gone = true;
		i = changed ? 0 : i + 1; /* new nodes were inserted before and after this one */
	}
	if (t->failed)
		return;
	nodes_compact(t);
	tell_left_out(t, world, plan);
	nodes_drop_redundant(t); /* what a rebuilt directory leaves out needs no hiding */
}
