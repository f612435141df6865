/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What must be at which path: the tree of decisions between the policy's rules and the list of mounts. */
#pragma once

#include "plan/plan.h"

struct node {
	char *path;		       /* inside; canonical on the host where it exists there */
	enum plan_mount_kind kind;     /* READ WRITE TMPFS REBUILD EMPTY_DIR (= hide) DEV PROC SYMLINK */
	char *source;		       /* READ, WRITE: host path; SYMLINK: text */
	struct airlock_origin because; /* its name is borrowed, or in the table's origin_names */
	char *cache;		       /* see struct plan_mount */
	int64_t size;
	size_t order; /* of two nodes for one path the later one counts */
	/* What is there on the host, once it was looked up: hundreds of rules are about paths that do not exist. */
	enum plan_type type;
	bool looked;
	size_t cover; /* index of the nearest node strictly above, or NODES_NONE */
	bool gone;    /* removed when the table is next compacted */
	bool derived; /* see struct plan_mount */
};

#define NODES_NONE SIZE_MAX

/* A directory whose real path is known. */
struct known_dir {
	char *path;
	size_t len;
	char *real; /* NULL: the path itself */
	bool exists;
	size_t existing; /* index of the deepest existing directory on the way: usually this one */
	size_t next;	 /* another one in the same bucket: index + 1; 0: none */
	size_t guard;	 /* the node of the first built-in secret that does not exist in it; NODES_NONE: none */
};

struct nodes {
	struct node *v;
	size_t n, cap, n_sorted; /* the first n_sorted are in order */
	size_t next_order;
	size_t first_own, end_own; /* orders of the nodes that hide airlock's own files */
	bool failed;
	char *unseen; /* a path that could not be examined, so we cannot know whether it must be hidden */
	int errnum;   /* why */
	struct known_dir *known;
	size_t n_known, cap_known, known_buckets[64]; /* index + 1 of the last one in each */
	struct strs origin_names;
	char *screen_above, *screen; /* screens.c: a directory, with the slash, and the one whose screen shows it */
};

/* nodes.c: the table. Later nodes for the same path replace earlier ones when it is next sorted. */
struct node *nodes_put(struct nodes *t, const char *path, enum plan_mount_kind kind, const char *source,
		       struct airlock_origin because, int64_t size);
/* A directory that is rebuilt for the entries that must be in it. */
void nodes_put_derived(struct nodes *t, const char *dir, struct airlock_origin because);
void nodes_sort(struct nodes *t);
void nodes_compact(struct nodes *t);
/* True if one of the first n nodes, which are sorted, has this path. */
bool nodes_have(const struct nodes *t, size_t n, const char *path);
/* The nearest node strictly above node i, or NULL. */
const struct node *nodes_cover(const struct nodes *t, size_t i);
/* True if the node above already says the same. */
bool nodes_is_redundant(const struct nodes *t, size_t i);
void nodes_drop_redundant(struct nodes *t);

/* True if it hides airlock's own files, which nobody replaces. */
bool nodes_is_own(const struct nodes *t, const struct node *n);

/* A path with its symlinks resolved. */
struct resolved_path {
	const char
		*real; /* for a path that does not exist: its deepest existing ancestor resolved, the rest unchanged */
	char *owned;   /* real, if it differs from the path that was asked about */
	enum plan_type type; /* of what is at real */
	bool is_link;	     /* the path itself is a symlink */
	size_t dir;	     /* index of the known directory it lies in; of "/" none */
};

/* resolved_path.c. False if out of memory, which the table then knows too. The result borrows path. */
bool resolved_path_find(struct nodes *t, const struct plan_world *w, const char *path, struct resolved_path *ret);
void resolved_path_done(struct resolved_path *p);
/* The path with the symlinks on the way resolved, except the last component; owned by the caller. */
char *resolved_path_name(struct nodes *t, const struct plan_world *w, const char *path);

/* Rules, roots, playground and fixed mounts: one node a path, parents first, redundant ones removed. */
void nodes_collect(struct nodes *t, const struct plan_inputs *in, struct notes *notes);

/* Adds PLAN_REBUILD nodes and their entries until every mount point exists or can be made without touching the host.
 * Secrets below home that do not exist yet get a place too, so that they stay hidden if they appear. Existing paths
 * that are not among the entries go to left_out of the plan. */
void nodes_make_room(struct nodes *t, const struct plan_world *world, const char *home, struct plan *plan);

/* Rebuilds the directory with all its entries. False if it cannot be listed. */
bool room_rebuild(struct nodes *t, const struct plan_world *world, const char *dir, struct airlock_origin because,
		  struct notes *notes);

/* What is at the path of a rule; if it cannot be examined, the table fails. */
enum plan_type nodes_look(struct nodes *t, const struct plan_world *world, const char *path);
void nodes_unseen(struct nodes *t, const char *path, int errnum);

/* What is at the node's path on the host. */
enum plan_type nodes_type(struct nodes *t, struct node *n, const struct plan_world *world);

/* The error of a table that has failed. */
int nodes_error(const struct nodes *t, struct airlock_error *err);
void nodes_done(struct nodes *t);

/* build.c: one operation for a node. */
int plan_add_mount(struct plan *p, enum plan_mount_kind kind, const struct node *n, struct airlock_error *err);
