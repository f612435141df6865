/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/nodes.h"

#include "base/path.h"

#include <stdlib.h>
#include <string.h>

#define SHM_BYTES (INT64_C(256) << 20)
#define TMP_BYTES (INT64_C(2) << 30)
/* A directory this full is not rebuilt only to guard the place of a secret that does not exist. */
#define GUARD_MAX_ENTRIES 256
#define GATHER_MIN 4

static void free_node(struct node *n)
{
	free(n->path);
	free(n->source);
	free(n->because);
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
	*t = (struct nodes){0};
}

/* Later nodes for the same path replace earlier ones, when the table is sorted next. */
static struct node *put(struct nodes *t, const char *path, enum plan_mount_kind kind, const char *source,
			const char *because, int64_t size)
{
	struct node n = {.path = strdup(path),
			 .kind = kind,
			 .source = source ? strdup(source) : NULL,
			 .because = strdup(because),
			 .size = size,
			 .order = t->next_order++,
			 .cover = NODES_NONE};
	if (!n.path || !n.because || (source && !n.source))
		t->failed = true;
	if (!t->failed && t->n == t->cap) {
		size_t cap = t->cap ? t->cap * 2 : 512;
		struct node *v = realloc(t->v, cap * sizeof *v);
		t->failed = !v;
		t->v = v ? v : t->v;
		t->cap = v ? cap : t->cap;
	}
	if (t->failed) {
		free_node(&n);
		return NULL;
	}
	t->v[t->n] = n;
	return &t->v[t->n++];
}

enum plan_type nodes_type(struct node *n, const struct plan_world *world)
{
	if (!n->looked)
		n->type = world->type(n->path, world->data);
	n->looked = true;
	return n->type;
}

static int by_path(const void *a, const void *b)
{
	const struct node *x = a, *y = b;
	int c = path_compare(x->path, y->path);
	return c ? c : (x->order > y->order) - (x->order < y->order);
}

/* Parents stand before their children and right before them their siblings' trees, so the node above is found by climbing
 * from the one before. */
static void link_covers(struct nodes *t)
{
	for (size_t i = 0; i < t->n; i++) {
		size_t above = i > 0 ? i - 1 : NODES_NONE;
		while (above != NODES_NONE && !path_is_beneath(t->v[i].path, t->v[above].path))
			above = t->v[above].cover;
		t->v[i].cover = above;
	}
}

static void compact(struct nodes *t)
{
	size_t n = 0;
	for (size_t i = 0; i < t->n; i++) {
		if (t->v[i].gone)
			free_node(&t->v[i]);
		else
			t->v[n++] = t->v[i];
	}
	t->n = n;
	link_covers(t);
}

static void sort(struct nodes *t)
{
	if (t->n > 1)
		qsort(t->v, t->n, sizeof *t->v, by_path);
	for (size_t i = 1; i < t->n; i++)
		if (strcmp(t->v[i - 1].path, t->v[i].path) == 0)
			t->v[i - 1].gone = true;
	compact(t);
}

/* Whether one of the first n nodes, which are sorted, has this path. */
static bool is_known(const struct nodes *t, size_t n, const char *path)
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
static const struct node *cover_of(const struct nodes *t, size_t i)
{
	size_t above = t->v[i].cover;
	while (above != NODES_NONE && t->v[above].gone)
		above = t->v[above].cover;
	return above == NODES_NONE ? NULL : &t->v[above];
}

/* ── Canonical paths ── */

/* What a path is, its symlinks resolved. */
struct place {
	char *real; /* of a path that does not exist: its deepest existing ancestor resolved, the rest as it is */
	enum plan_type type; /* of what is at real */
	bool is_link;	     /* the path itself is a symlink */
};

static struct place resolve(struct nodes *t, const struct plan_world *w, const char *path);

/* Hundreds of rules share a few dozen directories: each is resolved once. Borrowed from the table. */
static struct known_dir *resolve_dir(struct nodes *t, const struct plan_world *w, const char *dir)
{
	for (size_t i = t->n_known; i-- > 0;) /* rules for one directory mostly follow each other */
		if (strcmp(t->known[i].path, dir) == 0)
			return &t->known[i];
	struct place p = resolve(t, w, dir);
	struct known_dir *v = realloc(t->known, (t->n_known + 1) * sizeof *v);
	char *copy = strdup(dir);
	if (v)
		t->known = v;
	if (!v || !copy || !p.real) {
		t->failed = true;
		free(copy);
		free(p.real);
		return NULL;
	}
	t->known[t->n_known++] = (struct known_dir){copy, p.real, p.type != PLAN_MISSING, NODES_NONE};
	return &t->known[t->n_known - 1];
}

static struct place resolve(struct nodes *t, const struct plan_world *w, const char *path)
{
	if (strcmp(path, "/") == 0)
		return (struct place){strdup("/"), PLAN_DIRECTORY, false};
	_cleanup_free_ char *dir = path_dirname(path);
	const struct known_dir *above = dir ? resolve_dir(t, w, dir) : NULL;
	struct place p = {above ? path_join(above->real, path_basename(path)) : NULL, PLAN_MISSING, false};
	if (!p.real || !above->exists)
		return p;
	p.type = w->type(p.real, w->data);
	p.is_link = p.type == PLAN_LINK;
	if (!p.is_link)
		return p;
	char *target = w->real(p.real, w->data);
	p.type = target ? w->type(target, w->data) : PLAN_MISSING;
	if (target) {
		free(p.real);
		p.real = target;
	}
	return p;
}

static char *canonical(struct nodes *t, const struct plan_world *w, const char *path)
{
	return resolve(t, w, path).real;
}

/* ── Collecting ── */

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

/* The deepest directory above path that exists. */
static struct known_dir *existing_dir(struct nodes *t, const struct plan_world *w, const char *path)
{
	_cleanup_free_ char *dir = path_dirname(path);
	struct known_dir *known = dir ? resolve_dir(t, w, dir) : NULL;
	while (known && !known->exists) {
		char *up = path_dirname(dir);
		free(dir);
		dir = up;
		known = dir ? resolve_dir(t, w, dir) : NULL;
	}
	t->failed |= !known;
	return known;
}

/* Hundreds of built-in secrets do not exist. What keeps them from coming to be is that the directory they would be made in
 * is rebuilt, so one of them speaks for all: the first, which is the one that a rebuilt directory is explained with. */
static bool is_guarded(struct nodes *t, const struct plan_world *w, const char *real, const char *because)
{
	if (strncmp(because, "built-in", strlen("built-in")) != 0)
		return false;
	struct known_dir *dir = existing_dir(t, w, real);
	if (!dir)
		return false;
	if (dir->guard == NODES_NONE) {
		dir->guard = t->n; /* the caller puts it there */
		return false;
	}
	struct node *first = &t->v[dir->guard];
	if (path_compare(real, first->path) < 0) {
		char *path = strdup(real), *why = strdup(because);
		if (!path || !why) {
			t->failed = true;
			free(path);
			free(why);
			return true;
		}
		free(first->path);
		free(first->because);
		first->path = path;
		first->because = why;
	}
	return true;
}

static void put_rule(struct nodes *t, const struct plan_world *w, enum policy_access access, const char *path,
		     const char *because, struct strs *notes)
{
	struct place place = resolve(t, w, path);
	_cleanup_free_ char *real = place.real;
	if (!real) {
		t->failed = true;
		return;
	}
	bool missing = place.type == PLAN_MISSING;
	if (missing && access == POLICY_WRITE)
		strs_addf(notes, "%s does not exist and is left out (%s)", path, because);
	if (missing && (access == POLICY_WRITE || access == POLICY_READ))
		return;
	if (missing && access == POLICY_HIDE && !place.is_link && is_guarded(t, w, real, because))
		return;
	enum plan_mount_kind kind = kind_of(access);
	bool bound = kind == PLAN_READ || kind == PLAN_WRITE;
	struct node *n = put(t, real, kind, bound ? real : NULL, because, kind == PLAN_TMPFS ? TMP_BYTES : 0);
	if (n && (!place.is_link || !missing)) { /* else it is the link itself that is there */
		n->type = place.type;
		n->looked = true;
	}
	/* The name the rule used may be a symlink: it must lead somewhere where its parent is not the host's. */
	_cleanup_free_ char *text = bound && place.is_link ? w->link(path, w->data) : NULL;
	if (text)
		put(t, path, PLAN_SYMLINK, text, because, 0);
}

static void put_playground(struct nodes *t, const struct plan_inputs *in)
{
	if (!in->playground_source)
		return;
	_cleanup_free_ char *wanted = path_join(in->home, "playground");
	_cleanup_free_ char *target = wanted ? canonical(t, in->world, wanted) : NULL;
	if (target)
		put(t, target, PLAN_WRITE, in->playground_source, "playground", 0);
	else
		t->failed = true;
}

#define RESOLVER "/etc/resolv.conf"
#define MAX_LINKS 40

/* The links on the way, where /run hides them: a file that is there and cannot be reached is no help. */
static void put_resolver_links(struct nodes *t, const struct plan_inputs *in)
{
	const struct plan_world *w = in->world;
	_cleanup_free_ char *at = strdup(RESOLVER);
	for (int i = 0; at && i < MAX_LINKS; i++) {
		_cleanup_free_ char *dir = path_dirname(at);
		const struct known_dir *above = dir ? resolve_dir(t, w, dir) : NULL;
		_cleanup_free_ char *place = above ? path_join(above->real, path_basename(at)) : NULL;
		if (!place || w->type(place, w->data) != PLAN_LINK)
			return;
		_cleanup_free_ char *text = w->link(place, w->data), *link_dir = path_dirname(place);
		if (!text || !link_dir)
			return;
		put(t, place, PLAN_SYMLINK, text, "network: names must resolve", 0);
		free(at);
		at = path_normalize(link_dir, text);
	}
}

/* Where names are looked up when the network is on: the file may be a link into /run, which is hidden. */
static void put_resolver(struct nodes *t, const struct plan_inputs *in)
{
	_cleanup_free_ char *real = in->network ? in->world->real(RESOLVER, in->world->data) : NULL;
	if (!real)
		return;
	if (strcmp(real, RESOLVER) != 0)
		put_resolver_links(t, in);
	put(t, real, PLAN_READ, real, "network: names must resolve", 0);
}

static bool same_region(const struct node *n, const struct node *cover)
{
	if (!cover)
		return n->kind == PLAN_EMPTY_DIR; /* nothing is visible there anyway */
	if (n->kind == PLAN_EMPTY_DIR)
		return cover->kind == PLAN_EMPTY_DIR || cover->kind == PLAN_TMPFS || cover->kind == PLAN_REBUILD ||
		       cover->kind == PLAN_PROC || cover->kind == PLAN_DEV;
	if (n->kind == PLAN_SYMLINK)
		return cover->kind == PLAN_READ || cover->kind == PLAN_WRITE;
	if ((n->kind != PLAN_READ && n->kind != PLAN_WRITE) || n->kind != cover->kind)
		return false;
	/* The same host path read the same way: already there through the cover, unless one of them is moved. */
	return strcmp(n->path, n->source) == 0 && strcmp(cover->path, cover->source) == 0;
}

/* A hidden directory of which something is shown keeps its place: the backend looks for that something there. */
static bool holds_place(const struct nodes *t, size_t i)
{
	return t->v[i].kind == PLAN_EMPTY_DIR && i + 1 < t->n && path_is_beneath(t->v[i + 1].path, t->v[i].path);
}

static bool is_redundant(const struct nodes *t, size_t i)
{
	const struct node *n = &t->v[i], *cover = cover_of(t, i);
	if (strcmp(n->path, "/") == 0 || !same_region(n, cover))
		return false;
	return !cover || cover->kind != PLAN_REBUILD || !holds_place(t, i);
}

static void drop_redundant(struct nodes *t)
{
	for (size_t i = 0; i < t->n; i++)
		t->v[i].gone = is_redundant(t, i);
	compact(t);
}

/* How many nodes are entries of dir; 0 when one lies deeper without an entry of dir above it, which could not be found
 * any more from where the backend looks. */
static size_t count_entries(const struct nodes *t, const char *dir)
{
	size_t n = 0;
	for (size_t i = 0; i < t->n; i++) {
		const char *rest = path_rest(t->v[i].path, dir);
		if (!rest || !*rest)
			continue;
		const struct node *cover = strchr(rest, '/') ? cover_of(t, i) : NULL;
		if (strchr(rest, '/') &&
		    (!cover || !path_is_beneath(cover->path, dir) || strcmp(cover->path, dir) == 0))
			return 0;
		n += !strchr(rest, '/');
	}
	return n;
}

/* A directory of which many single entries are to be seen, and nothing else, is rebuilt with just those: one mount of a
 * directory is cheaper for the backend than dozens of files. */
static void gather(struct nodes *t)
{
	for (size_t i = 0; i < t->n && !t->failed; i++) {
		if (t->v[i].kind != PLAN_READ || cover_of(t, i))
			continue;
		_cleanup_free_ char *dir = path_dirname(t->v[i].path);
		if (!dir || !dir[1] || count_entries(t, dir) < GATHER_MIN)
			continue;
		put(t, dir, PLAN_REBUILD, NULL, "many of its entries are visible, the others are not", 0);
		sort(t);
		i = 0;
	}
}

void nodes_collect(struct nodes *t, const struct plan_inputs *in, struct strs *notes)
{
	for (size_t i = 0; i < in->policy->n_paths; i++) {
		const struct policy_path *p = &in->policy->paths[i];
		put_rule(t, in->world, p->access, p->path, p->origin, notes);
	}
	for (size_t i = 0; i < in->n_roots; i++)
		put_rule(t, in->world, POLICY_WRITE, in->roots[i].path, in->roots[i].because, notes);
	for (size_t i = 0; i < in->n_hidden; i++)
		put_rule(t, in->world, POLICY_HIDE, in->hidden[i].path, in->hidden[i].because, notes);
	put_playground(t, in);
	put_resolver(t, in);
	if (in->policy->share_pid) /* a new /proc needs a new pid namespace */
		put(t, "/proc", PLAN_READ, "/proc", "share_pid", 0);
	else
		put(t, "/proc", PLAN_PROC, NULL, "always", 0);
	/* Its files are guarded by the caller's uid, not by capabilities: for root they would be the machine's own. Left as it
	 * is where somebody else may nest sandboxes: a covered /proc cannot be mounted again in there. */
	if (!in->policy->share_pid && (in->is_root || !in->policy->nested))
		put(t, "/proc/sys", PLAN_READ, "/proc/sys", "always", 0);
	put(t, "/dev", PLAN_DEV, NULL, "always", 0);
	put(t, "/dev/shm", PLAN_TMPFS, NULL, "always", SHM_BYTES);
	sort(t);
	drop_redundant(t);
	gather(t);
}

/* ── Making room ── */

static bool is_host_region(const struct node *cover)
{
	return cover && (cover->kind == PLAN_READ || cover->kind == PLAN_WRITE) &&
	       strcmp(cover->path, cover->source) == 0;
}

/* Everything of the original directory that no node of its own speaks about. */
static void add_entries(struct nodes *t, const struct plan_world *w, const char *dir, const struct strs *names)
{
	size_t known = t->n;
	for (size_t i = 0; i < names->n; i++) {
		_cleanup_free_ char *path = path_join(dir, names->v[i]);
		if (!path) {
			t->failed = true;
			return;
		}
		if (is_known(t, known, path))
			continue;
		enum plan_type type = w->type(path, w->data);
		_cleanup_free_ char *text = type == PLAN_LINK ? w->link(path, w->data) : NULL;
		struct node *n = NULL;
		if (text)
			n = put(t, path, PLAN_SYMLINK, text, "entry of a rebuilt directory", 0);
		else if (type == PLAN_FILE || type == PLAN_DIRECTORY)
			n = put(t, path, PLAN_READ, path, "entry of a rebuilt directory", 0);
		if (n) {
			n->type = type;
			n->looked = true;
		}
		/* Sockets and devices are left out: nobody behind them is for the command to talk to. */
	}
}

static bool rebuild(struct nodes *t, const struct plan_world *w, const struct node *for_node, const char *dir,
		    struct strs *notes)
{
	_cleanup_strs_ struct strs names = STRS_INIT;
	_cleanup_free_ char *because = NULL;
	struct buf text = BUF_INIT;
	int rc = w->list(dir, &names, w->data);
	if (rc == 0 && for_node->kind == PLAN_EMPTY_DIR && names.n > GUARD_MAX_ENTRIES)
		return false;
	if (rc < 0) {
		if (for_node->kind != PLAN_EMPTY_DIR)
			strs_addf(notes, "%s cannot be mounted: %s cannot be read", for_node->path, dir);
		return false;
	}
	buf_printf(&text, "%s needs a place there", for_node->path);
	because = buf_take(&text);
	if (!because || names.failed) {
		t->failed = true;
		return false;
	}
	strs_sort(&names);
	compact(t);
	add_entries(t, w, dir, &names);
	put(t, dir, PLAN_REBUILD, NULL, because, 0);
	sort(t);
	return true;
}

/* One node's mount point. Returns true when it can stay, false when it must go; *changed when the tree was rebuilt. */
static bool has_room(struct nodes *t, size_t i, const struct plan_world *w, const char *home, struct strs *notes,
		     bool *changed)
{
	struct node *n = &t->v[i];
	const struct node *cover = cover_of(t, i);
	if (!is_host_region(cover) || nodes_type(n, w) != PLAN_MISSING)
		return true;
	/* A secret that does not exist may come into being while the command runs, but only the user's own ones. */
	if (n->kind == PLAN_EMPTY_DIR && !path_is_beneath(n->path, home))
		return false;
	if (cover->kind == PLAN_WRITE) {
		if (n->kind != PLAN_EMPTY_DIR)
			strs_addf(notes, "%s is not mounted: it would have to be created in %s", n->path, cover->path);
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
		const struct node *cover = n->kind == PLAN_EMPTY_DIR ? cover_of(t, i) : NULL;
		if (!cover || cover->kind != PLAN_REBUILD || !is_redundant(t, i) || nodes_type(n, w) == PLAN_MISSING)
			continue;
		strs_add(&plan->left_out, n->path);
		strs_add(&plan->left_out_because, n->because);
	}
}

void nodes_make_room(struct nodes *t, const struct plan_world *world, const char *home, struct plan *plan)
{
	struct strs *notes = &plan->notes;
	_cleanup_free_ char *real_home = canonical(t, world, home);
	t->failed |= !real_home;
	for (size_t i = 0; i < t->n && !t->failed;) {
		bool changed = false;
		bool stays = t->v[i].gone || strcmp(t->v[i].path, "/") == 0 ||
			     has_room(t, i, world, real_home, notes, &changed);
		if (!stays)
			t->v[i].gone = true;
		i = changed ? 0 : i + 1; /* new nodes were sorted in before and behind this one */
	}
	compact(t);
	tell_left_out(t, world, plan);
	drop_redundant(t); /* what a rebuilt directory leaves out needs no hiding */
}
