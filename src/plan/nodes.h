/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is to be at which path: the tree of decisions between the policy's rules and the list of mounts. */
#pragma once

#include "plan/plan.h"

struct node {
	char *path;		       /* inside; canonical on the host where it exists there */
	enum plan_mount_kind kind;     /* READ WRITE TMPFS REBUILD EMPTY_DIR (= hide) DEV PROC SYMLINK */
	char *source;		       /* READ, WRITE: host path; SYMLINK: text */
	struct airlock_origin because; /* its name is borrowed, or in the table's origin_names */
	char *cache;		       /* as struct plan_mount says */
	int64_t size;
	size_t order; /* of two nodes for one path the later one counts */
	/* What is there on the host, once somebody has looked: hundreds of rules are about paths that do not exist. */
	enum plan_type type;
	bool looked;
	size_t cover; /* index of the nearest node strictly above, or NODES_NONE */
	bool gone;    /* leaves the table when it is compacted next */
	bool derived; /* as struct plan_mount says */
};

#define NODES_NONE SIZE_MAX

/* A directory whose real path is known. */
struct known_dir {
	char *path;
	size_t len;
	char *real; /* NULL: the path itself */
	bool exists;
	size_t existing; /* index of the deepest directory on the way that exists: mostly this one */
	size_t guard;	 /* of the built-in secrets that do not exist in it, the node of the first; NODES_NONE: none */
};

struct nodes {
	struct node *v;
	size_t n, cap;
	size_t next_order;
	size_t first_own, end_own; /* orders of the nodes that hide what is airlock's own */
	bool failed;
	char *unseen; /* a path that could not be looked at: whether it must be hidden cannot be known then */
	int errnum;   /* why */
	struct known_dir *known;
	size_t n_known, cap_known;
	struct strs origin_names;
};

/* nodes.c: the table. Later nodes for the same path replace earlier ones, when it is sorted next. */
struct node *nodes_put(struct nodes *t, const char *path, enum plan_mount_kind kind, const char *source,
		       struct airlock_origin because, int64_t size);
/* A directory that is rebuilt for what is to be in it. */
void nodes_put_derived(struct nodes *t, const char *dir, struct airlock_origin because);
void nodes_sort(struct nodes *t);
void nodes_compact(struct nodes *t);
/* Whether one of the first n nodes, which are sorted, has this path. */
bool nodes_have(const struct nodes *t, size_t n, const char *path);
/* The nearest node strictly above node i, or NULL. */
const struct node *nodes_cover(const struct nodes *t, size_t i);
/* Does the node above say the same already? */
bool nodes_is_redundant(const struct nodes *t, size_t i);
void nodes_drop_redundant(struct nodes *t);

/* Does it hide what is airlock's own? Nobody replaces that. */
bool nodes_is_own(const struct nodes *t, const struct node *n);

/* What a path is, its symlinks resolved. */
struct place {
	const char *real; /* of a path that does not exist: its deepest existing ancestor resolved, the rest as it is */
	char *owned;	  /* real, where it is not the path that was asked about */
	enum plan_type type; /* of what is at real */
	bool is_link;	     /* the path itself is a symlink */
	size_t dir;	     /* index of the known directory it lies in; of "/" none */
};

/* places.c. False when memory is short, which the table then knows too. The place borrows path. */
bool place_find(struct nodes *t, const struct plan_world *w, const char *path, struct place *ret);
void place_done(struct place *p);
/* The path with the symlinks on the way resolved, but not the last one; owned by the caller. */
char *place_name(struct nodes *t, const struct plan_world *w, const char *path);

/* Rules, roots, playground and fixed mounts, one node a path, parents first, redundant ones gone. */
void nodes_collect(struct nodes *t, const struct plan_inputs *in, struct strs *notes);

/* Adds PLAN_REBUILD nodes and their entries until every mount point exists or can be made without touching the host.
 * Secrets below home that do not exist yet are given a place too, so that they stay hidden when they come to be.
 * What exists and is not among the entries goes to left_out of the plan. */
void nodes_make_room(struct nodes *t, const struct plan_world *world, const char *home, struct plan *plan);

/* The directory becomes a rebuilt one with all its entries. False when it cannot be listed. */
bool room_rebuild(struct nodes *t, const struct plan_world *world, const char *dir, struct airlock_origin because,
		  struct strs *notes);

/* What is at a path that a rule is about; what cannot be looked at fails the table. */
enum plan_type nodes_look(struct nodes *t, const struct plan_world *world, const char *path);
void nodes_unseen(struct nodes *t, const char *path, int errnum);

/* What is at the node's path on the host. */
enum plan_type nodes_type(struct nodes *t, struct node *n, const struct plan_world *world);

/* The error of a table that has failed. */
int nodes_error(const struct nodes *t, struct airlock_error *err);
void nodes_done(struct nodes *t);

/* build.c: one operation, as the node says. */
int plan_add_mount(struct plan *p, enum plan_mount_kind kind, const struct node *n, struct airlock_error *err);
