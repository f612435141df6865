/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a sandbox may see and do: plain data.
 *
 *   struct policy p = POLICY_INIT;
 *   policy_apply_builtin(&p, "moderate", "/home/u", err);     start from a built-in profile
 *   policy_add_path(&p, POLICY_READ, "/opt/sdk", RULE_ORIGIN(CALLER, "--ro"), err);
 *   policy_done(&p);
 *
 * Paths: the most specific rule decides about a path; of two rules for the same path the later one does.
 * A path no rule covers is not visible.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "base/rule_origin.h"
#include "base/text.h"

#include <stdint.h>

enum policy_access {
	POLICY_HIDE,  /* does not exist, or exists and is empty */
	POLICY_TMPFS, /* a private, empty, writable directory */
	POLICY_READ,  /* the host's, read-only */
	POLICY_WRITE, /* the host's, writable: a root */
};

struct policy_path {
	char *path; /* absolute and normal; may not exist */
	enum policy_access access;
	struct airlock_origin origin; /* who asked; its name is the policy's */
};

enum policy_network {
	POLICY_NETWORK_OFF,    /* off; a run may ask for it */
	POLICY_NETWORK_ASK,    /* every run asks for it */
	POLICY_NETWORK_REFUSE, /* off, and asking is refused */
};

enum policy_changes { /* from loosest to tightest, except DISCARD, which is neither */
		      POLICY_CHANGES_DIRECT,
		      POLICY_CHANGES_APPLY,
		      POLICY_CHANGES_ASK,
		      POLICY_CHANGES_HOLD,
		      POLICY_CHANGES_DISCARD,
};

/* One limit; TEXT_NONE means no limit. `asked`: a person set it for this run, so it must be enforceable. */
struct policy_limit {
	int64_t value;
	bool asked;
};

struct policy {
	char *profile;
	struct policy_path *paths;
	size_t n_paths, cap_paths;
	struct strs origin_names; /* of the paths */
	enum policy_network network;
	bool network_wanted; /* --network */
	enum policy_changes changes;
	bool changes_asked; /* someone chose the mode; it is not the profile's default */
	bool nested, share_pid, new_session;
	bool unix_sockets; /* AF_UNIX beyond socketpair(2) */
	struct policy_limit timeout_ms, memory, pids, file_size;
	int64_t tmp_size,
		shm_size; /* sizes of the sandbox's own /tmp and the like, and of /dev/shm: see policy_share_bytes */
	bool env_inherit;
	/* Patterns as of base/glob.h, on names; a name that is allowed is never removed by deny of an earlier source. Added
	 * with policy_allow_env and policy_deny_env, which remember the order. */
	struct strs env_allow, env_deny;
	size_t *env_deny_after; /* for each entry of env_deny: how many entries of env_allow came before it and cannot override it */
	size_t n_env_deny_after;
	struct strs env_set; /* NAME=VALUE, or NAME to pass on the caller's */
	/* Remove variables whose value is a secret (policy_env_value_is_secret), unless an allow pattern after the
	 * first env_values_after names them. */
	bool env_hide_values;
	size_t env_values_after;
};
#define POLICY_INIT                                                                                                    \
	{                                                                                                              \
		0                                                                                                      \
	}

void policy_done(struct policy *p);

/* True for "strict", "moderate", "permissive". */
bool policy_is_builtin(const char *name);
/* NULL-terminated. */
const char *const *policy_builtin_names(void);

/* Fills an empty policy with a built-in profile as docs/design describes. home is absolute and normal. */
int policy_apply_builtin(struct policy *p, const char *name, const char *home, struct airlock_error *err);

/* The names below the home directory that moderate hides, relative to it; NULL-terminated, static. */
const char *const *policy_secret_names(void);

/* The caches in the home (known_caches.c), outer directories before inner ones; the last one has no name. Static. */
struct policy_cache {
	const char *name; /* relative to the home */
	const char
		*program; /* one that is not in the home is made only where this program is installed; NULL: always */
};
const struct policy_cache *policy_caches(void);

/* Whether this path may be a cache. Both absolute and normal. */
enum policy_cache_fault {
	POLICY_CACHE_FINE,
	POLICY_CACHE_OUTSIDE,  /* not below the home */
	POLICY_CACHE_PROGRAMS, /* programs are started from there, from a directory above or below it */
};
enum policy_cache_fault policy_cache_check(const char *path, const char *home);

/* path must be absolute and normal already (AIRLOCK_ERR_INVALID otherwise). Copies both strings. */
int policy_add_path(struct policy *p, enum policy_access access, const char *path, struct airlock_origin origin,
		    struct airlock_error *err);
/* The same; takes ownership of path, which was allocated (NULL: out of memory). */
int policy_take_path(struct policy *p, enum policy_access access, char *path, struct airlock_origin origin,
		     struct airlock_error *err);

/* True if the profile hides what the table of secrets names below this home. */
bool policy_hides_secrets(const struct policy *p, const char *home);

/* The rule that decides about path (most specific, then latest), or NULL. */
const struct policy_path *policy_rule_for(const struct policy *p, const char *path);

/* Finds contradictions and impossible values: AIRLOCK_ERR_INVALID. */
int policy_validate(const struct policy *p, struct airlock_error *err);

/* Adds a pattern. For one source, add its denials first: its allow patterns are then exceptions. Deny ignores case,
 * allow does not. */
int policy_allow_env(struct policy *p, const char *pattern, struct airlock_error *err);
int policy_deny_env(struct policy *p, const char *pattern, struct airlock_error *err);

/* The verdict on one variable of the caller, and the reason. */
enum policy_env_verdict {
	POLICY_ENV_KEPT,
	POLICY_ENV_REPLACED,   /* env_set gives it another value */
	POLICY_ENV_INSIDE,     /* wrong inside: airlock's own settings, the temporary directory */
	POLICY_ENV_NAME,       /* its name is denied */
	POLICY_ENV_VALUE,      /* its value is a secret */
	POLICY_ENV_NOT_LISTED, /* the profile passes on a list of names, and this is not in it */
	POLICY_ENV_N_VERDICTS,
};

/* True if a value is a secret by itself: an address with a password, a private key. Pure. */
bool policy_env_value_is_secret(const char *value);

/* True if the command gets the caller's variable of this name, provided that its value is harmless. Pure. */
bool policy_keeps_env(const struct policy *p, const char *name);

/* The same for many variables: prepares the patterns once. Borrows the policy. */
struct policy_env {
	const struct policy *policy;
	uint32_t *letters; /* for each pattern of env_deny: letters without which a name cannot match */
};
bool policy_env_init(struct policy_env *ret, const struct policy *p);
enum policy_env_verdict policy_env_judge(const struct policy_env *e, const char *name, const char *value);
void policy_env_done(struct policy_env *e);

/* A size: bytes, or a negative percentage of the machine's memory or of free disk space (-50 is half of it), rounded down to
 * a MiB but at least one. Half of the memory is the kernel's own default for tmpfs, and that of the built-in profiles. */
#define POLICY_HALF_OF_MEMORY INT64_C(-50)
int64_t policy_share_bytes(int64_t share, int64_t memory);

/* "~" and "~/x" → home; other paths must be absolute. The result is normal. Fails with AIRLOCK_ERR_INVALID. */
int policy_expand_path(const char *text, const char *home, char **ret, struct airlock_error *err);

const char *policy_access_name(enum policy_access a);	/* "hide" "tmpfs" "read" "write" */
const char *policy_changes_name(enum policy_changes c); /* "apply" … */
