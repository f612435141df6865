/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/nodes.h"

#include "base/array.h"
#include "base/path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void free_node(struct node *n)
{
	free(n->path);
	free(n->source);
	free(n->cache);
}

void nodes_done(struct nodes *t)
{
	for (size_t i = 0; i < t->n; i++)
		free_node(&t->v[i]);
	free(t->v);
	for (size_t i = 0; i < t->n_known; i++) {
		free(t->known[i].path);
		free(t->known[i].real);
	}
	free(t->known);
	strs_done(&t->origin_names);
	free(t->unseen);
	free(t->screen_above);
	free(t->screen);
	*t = (struct nodes){0};
}

/* Later nodes for the same path replace earlier ones when the table is next sorted. */
struct node *nodes_put(struct nodes *t, const char *path, enum plan_mount_kind kind, const char *source,
		       struct airlock_origin because, int64_t size)
{
	struct node n = {.path = strdup(path),
			 .kind = kind,
			 .source = source ? strdup(source) : NULL,
			 .because = because,
			 .size = size,
			 .order = t->next_order++,
			 .cover = NODES_NONE};
	if (!n.path || (source && !n.source) || !ARRAY_ROOM(t->v, t->n, t->cap, 512))
		t->failed = true;
	if (t->failed) {
		free_node(&n);
		return NULL;
	}
	t->v[t->n] = n;
	return &t->v[t->n++];
}

void nodes_put_derived(struct nodes *t, const char *dir, struct airlock_origin because)
{
	struct node *n = nodes_put(t, dir, PLAN_REBUILD, NULL, because, 0);
	if (n)
		n->derived = true;
}

void nodes_unseen(struct nodes *t, const char *path, int errnum)
{
	if (t->failed)
		return;
	t->failed = true;
	t->unseen = strdup(path);
	t->errnum = errnum;
}

int nodes_error(const struct nodes *t, struct airlock_error *err)
{
	if (!t->unseen)
		return base_oom(err);
	base_errno(err, AIRLOCK_ERR_IO, t->errnum, "look at", t->unseen);
	return base_hint(err, "what is there may have to be hidden, so nothing is run");
}

enum plan_type nodes_look(struct nodes *t, const struct plan_world *world, const char *path)
{
	enum plan_type type = world->type(path, world->data);
	if (type == PLAN_UNKNOWN)
		nodes_unseen(t, path, errno);
	return type;
}

enum plan_type nodes_type(struct nodes *t, struct node *n, const struct plan_world *world)
{
	if (!n->looked)
		n->type = nodes_look(t, world, n->path);
	n->looked = true;
	return n->type;
}

static int by_path(const void *a, const void *b)
{
	const struct node *x = a, *y = b;
	int c = path_compare(x->path, y->path);
	return c ? c : (x->order > y->order) - (x->order < y->order);
}

/* Parents come before their children, and siblings' trees right before a node, so climbing from the previous node
 * finds the node above. */
static void link_covers(struct nodes *t)
{
	for (size_t i = 0; i < t->n; i++) {
		size_t above = i > 0 ? i - 1 : NODES_NONE;
		while (above != NODES_NONE && !path_is_beneath(t->v[i].path, t->v[above].path))
			above = t->v[above].cover;
		t->v[i].cover = above;
	}
}

void nodes_compact(struct nodes *t)
{
	size_t n = 0, n_sorted = 0;
	for (size_t i = 0; i < t->n; i++) {
		if (t->v[i].gone) {
			free_node(&t->v[i]);
			continue;
		}
		t->v[n++] = t->v[i];
		n_sorted += i < t->n_sorted;
	}
	t->n = n;
	t->n_sorted = n_sorted;
	link_covers(t);
}

/* Sorts only the new ones, and merges them into the others from behind: a rebuilt directory adds a few to hundreds. */
static void sort_new(struct nodes *t)
{
	size_t old = t->n_sorted, new = t->n - old, at = t->n;
	struct node *tail = old ? calloc(new + 1, sizeof *tail) : NULL;
	qsort(t->v + (tail ? old : 0), tail ? new : t->n, sizeof *t->v, by_path);
	for (size_t i = 0; tail && i < new; i++)
		tail[i] = t->v[old + i];
	while (tail && new > 0) {
		bool is_new = old == 0 || by_path(&t->v[old - 1], &tail[new - 1]) < 0;
		t->v[--at] = is_new ? tail[--new] : t->v[--old];
	}
	free(tail); /* NULL if there was no memory: then all were sorted */
}

void nodes_sort(struct nodes *t)
{
	if (t->n > t->n_sorted)
		sort_new(t);
	t->n_sorted = t->n;
	for (size_t i = 1; i < t->n; i++)
		if (strcmp(t->v[i - 1].path, t->v[i].path) == 0)
			t->v[i - 1].gone = true;
	nodes_compact(t);
}

/* True if one of the first n nodes, which are sorted, has this path. */
bool nodes_have(const struct nodes *t, size_t n, const char *path)
{
	size_t low = 0;
	while (low < n) {
		size_t middle = low + (n - low) / 2;
		int c = path_compare(path, t->v[middle].path);
		if (c == 0)
			return true;
		if (c > 0)
			low = middle + 1;
		else
			n = middle;
	}
	return false;
}

/* The nearest node strictly above node i, or NULL. */
const struct node *nodes_cover(const struct nodes *t, size_t i)
{
	size_t above = t->v[i].cover;
	while (above != NODES_NONE && t->v[above].gone)
		above = t->v[above].cover;
	return above == NODES_NONE ? NULL : &t->v[above];
}

/* Besides those of processes, /proc directly contains the kernel's own entries, which a new /proc has as well. */
static bool is_kernel_file(const struct node *n)
{
	static const char proc[] = "/proc/";
	return n->looked && n->type == PLAN_FILE && strncmp(n->path, proc, sizeof proc - 1) == 0 &&
	       !strchr(n->path + sizeof proc - 1, '/');
}

static bool same_region(const struct node *n, const struct node *cover)
{
	if (!cover)
		return n->kind == PLAN_EMPTY_DIR; /* nothing is visible there anyway */
	if (n->kind == PLAN_EMPTY_DIR)
		return cover->kind == PLAN_EMPTY_DIR || cover->kind == PLAN_TMPFS || cover->kind == PLAN_REBUILD ||
		       (cover->kind == PLAN_PROC && !is_kernel_file(n)) || cover->kind == PLAN_DEV;
	if (n->kind == PLAN_SYMLINK)
		return cover->kind == PLAN_READ || cover->kind == PLAN_WRITE;
	if ((n->kind != PLAN_READ && n->kind != PLAN_WRITE) || n->kind != cover->kind || n->cache || cover->cache)
		return false;
	/* The same host path with the same access is already visible through the parent, unless one of them is moved.
	 */
	return strcmp(n->path, n->source) == 0 && strcmp(cover->path, cover->source) == 0;
}

/* A hidden directory of which something is shown keeps its node: the backend looks for that something there. */
static bool holds_place(const struct nodes *t, size_t i)
{
	return t->v[i].kind == PLAN_EMPTY_DIR && i + 1 < t->n && path_is_beneath(t->v[i + 1].path, t->v[i].path);
}

bool nodes_is_redundant(const struct nodes *t, size_t i)
{
	const struct node *n = &t->v[i], *cover = nodes_cover(t, i);
	if (strcmp(n->path, "/") == 0 || !same_region(n, cover))
		return false;
	/* Through the screen of its directory it would lead nowhere. */
	if (n->kind == PLAN_READ && n->looked && (n->type == PLAN_SOCKET || n->type == PLAN_OTHER))
		return false;
	return !cover || cover->kind != PLAN_REBUILD || !holds_place(t, i);
}

bool nodes_is_own(const struct nodes *t, const struct node *n)
{
	return n->order >= t->first_own && n->order < t->end_own;
}

void nodes_drop_redundant(struct nodes *t)
{
	for (size_t i = 0; i < t->n; i++)
		t->v[i].gone = nodes_is_redundant(t, i);
	nodes_compact(t);
}
