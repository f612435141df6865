/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* policy + project + what this machine looks like → exactly what will be done: a flat list of operations. Pure.
 *
 *   struct plan *plan = NULL;
 *   if (plan_build(&inputs, &plan, err) < 0) return ...;
 *   plan_print_json(plan, &json) …; backend: carry plan->mounts out in order
 *   plan_free(plan);
 *
 * The plan asks the machine only through struct plan_world, so the same policy over the same world gives the same plan
 * everywhere: golden tests build it over a made-up file system.
 *
 * Mount points that do not exist are never created on the host. Where one is missing in a read-only region, the
 * directory above it is rebuilt: an empty file system with every entry of the original bound into it (PLAN_REBUILD),
 * in which mount points can be made. Secrets in a rebuilt directory are left out altogether, also those that come
 * into being while the command runs.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "base/notes.h"
#include "policy/policy.h"

enum plan_type {
	PLAN_MISSING,
	PLAN_FILE,
	PLAN_DIRECTORY,
	PLAN_LINK,
	PLAN_SOCKET,
	PLAN_OTHER,
	PLAN_UNKNOWN, /* it could not be examined; errno says why */
};

/* The file system as the plan may ask about it. Paths are absolute and normal. */
struct plan_world {
	enum plan_type (*type)(const char *path, void *data); /* of the entry itself, links not followed */
	char *(*real)(const char *path, void *data);	      /* canonical path, owned by the caller; NULL: see errno */
	char *(*link)(const char *path, void *data);	      /* what a symlink says, owned by the caller */
	int (*list)(const char *path, struct strs *ret, void *data); /* names in a directory, any order; -errno */
	void *data;
};

enum plan_mount_kind {
	PLAN_READ,	 /* source, read-only */
	PLAN_WRITE,	 /* source, writable */
	PLAN_LAYER,	 /* source, writable; what is written stays in a layer above it */
	PLAN_TMPFS,	 /* empty and writable, `size` bytes at most */
	PLAN_REBUILD,	 /* empty; its entries follow; sealed at the end */
	PLAN_EMPTY_DIR,	 /* hides a directory; sealed at the end */
	PLAN_EMPTY_FILE, /* hides a file */
	PLAN_DEV,	 /* minimal /dev */
	PLAN_PROC,	 /* /proc of the sandbox's own pid namespace */
	PLAN_SYMLINK,	 /* source is the text of the link */
	PLAN_DIR,	 /* a directory where nothing is mounted */
	PLAN_SEAL,	 /* read-only from here on */
};

struct plan_mount {
	enum plan_mount_kind kind;
	char *source;		       /* host path, link text, or NULL */
	char *target;		       /* path inside */
	struct airlock_origin because; /* its name is the plan's */
	int64_t size;		       /* PLAN_TMPFS */
	char *cache;  /* the directory of a cache's own layer, or NULL: writes are not changes of the project */
	bool derived; /* exists only for another mount: it has no rule of its own, the one above applies */
	/* Hides a host file that someone may replace so that the command could read the new one: the mount goes with
	 * the old file. */
	bool uncoverable;
	/* PLAN_READ of a directory: it is shown through an overlay of this directory, at or above source, so that its
	 * sockets and FIFOs lead nowhere (screens.c). NULL: shown as it is. */
	char *screen;
	bool special;	       /* PLAN_READ of a socket or FIFO that someone named: it leads to the host's */
	bool replaced_by_root; /* only root replaces it, with each new user: no reason to end a run */
};

struct plan_root {
	const char *path;
	struct airlock_origin because;
};

/* A cache in the home that the command may write to; its writes stay in the cache's own directory. A rule of the
 * policy for exactly that path, or one that shows something below it, comes first; so does every region that is not
 * the host's, read-only. If one cache is inside another, the outer one counts. */
struct plan_cache {
	const char *path;
	const char *whole; /* replaces it if it does not exist */
	const char *layer; /* where its layer is kept; `whole` if no overlay works there */
	/* NULL: a cache. Else the agent that it is private to: it is there whatever else the policy shows above or below it. */
	const char *agent;
	bool is_file; /* `whole` is a file that replaces it, whether it exists or not */
};

/* A directory that becomes the root inside. */
struct plan_bind {
	const char *source, *target;
};
struct plan_workspace {
	const char *dir;
	const struct plan_bind *binds; /* read-only; parents before their children */
	size_t n_binds;
	const char *passwd, *group; /* host paths of files to be /etc/passwd and /etc/group */
};

struct plan_inputs {
	const struct plan_workspace *workspace; /* or NULL: then home, roots, playground and hidden are ignored */
	const struct policy *policy;
	const struct plan_world *world;
	const char *home;
	const struct plan_root *roots; /* real paths; the first is the project */
	size_t n_roots;
	const char *playground_source; /* host path, or NULL for none */
	const char *tmp_source;	       /* host path that is shown as /tmp, or NULL: an empty one in memory */
	const struct plan_cache *caches;
	size_t n_caches;
	const struct plan_root *hidden; /* our own state and configuration: always hidden, whatever the policy says */
	size_t n_hidden;
	const struct strs *mount_points; /* every mount of the host; NULL: none */
	const char *cwd;
	const char *const *argv;
	const char *const *environ;
	int64_t memory;		      /* the machine's memory in bytes, for sizes given as a percentage */
	bool network;		      /* granted: the machine's own */
	bool gate;		      /* granted: through the network gate */
	const char *resolver, *hosts; /* with gate: host paths of files to be /etc/resolv.conf and /etc/hosts */
	bool is_root;  /* the caller: its uid alone, without capabilities, opens the settings in /proc/sys */
	bool capture;  /* roots are layers: PLAN_LAYER instead of PLAN_WRITE */
	bool in_place; /* the backend makes no namespaces: mounts describe what is granted in place */
};

enum {
	PLAN_NS_USER = 1 << 0,
	PLAN_NS_MOUNT = 1 << 1,
	PLAN_NS_PID = 1 << 2,
	PLAN_NS_NET = 1 << 3,
	PLAN_NS_IPC = 1 << 4,
	PLAN_NS_UTS = 1 << 5,
	PLAN_NS_CGROUP = 1 << 6,
};

#define PLAN_GROUPS_MAX 4

/* The sandbox's ids besides the caller's own. */
struct plan_ids {
	bool others;			  /* root: all ids of base/other_ids.h */
	uint32_t groups[PLAN_GROUPS_MAX]; /* an ordinary user: groups of roots, by newgidmap(1) */
	size_t n_groups;
};

struct plan_left_out {
	char *path;
	struct airlock_origin because;
};

struct plan {
	char *profile;
	struct plan_mount *mounts; /* in the order in which they are made */
	size_t n_mounts, cap_mounts;
	struct strs roots;
	struct strs argv, envp, env_kept, env_removed;	    /* env_*: names, sorted */
	struct strs env_removed_for[POLICY_ENV_N_VERDICTS]; /* the same as env_removed, by reason */
	char *cwd;
	struct policy_limit timeout_ms, memory, pids, file_size;
	unsigned namespaces;
	bool new_session, nested;
	bool network;	    /* the machine's own */
	bool gate;	    /* a network of its own that leads to the supervisor (net/net_gate.h) */
	bool unix_sockets;  /* AF_UNIX beyond socketpair(2) */
	struct notes notes; /* what was left out */
	/* Hidden by not being among the entries of a rebuilt directory, so that no mount tells of them. */
	struct plan_left_out *left_out;
	size_t n_left_out, cap_left_out;
	struct strs origin_names; /* of mounts and of what is left out */
	struct strs exposed;	  /* directories that should have a screen but cannot: their sockets lead to the host */
	struct plan_ids ids;	  /* plan_build leaves it empty: whoever runs the plan fills it in */
};

/* In a workspace, every mount point that has only the workspace below it must exist: the caller makes them. */
int plan_build(const struct plan_inputs *in, struct plan **ret, struct airlock_error *err);
void plan_free(struct plan *p);

enum plan_location {
	PLAN_AT_NOTHING,
	PLAN_AT_SANDBOX, /* a directory made for the sandbox */
	PLAN_AT_HOST,	 /* *ret_host, owned by the caller, who checks whether it exists */
	PLAN_NO_MEMORY,
};
/* Where a path inside leads. */
enum plan_location plan_locate(const struct plan *p, const char *path, char **ret_host);

/* The members of explain's JSON object that a plan knows (into an open object). */
struct json;
void plan_print_json(const struct plan *p, struct json *j);
