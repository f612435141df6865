/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files, environment and options → one policy, every value remembering who set it.
 *
 *   struct config *c = NULL;
 *   if (config_load(&inputs, &c, err) < 0) return ...;
 *   use c->policy, c->backend …; config_free(c);
 *
 * Precedence, lowest first: built-in profile, system file, user file, files above the project, project file,
 * environment, options. Matching
 * [[commands]] of all files come between the files' profiles and the environment.
 * A file above the project may only tighten. An untrusted project file, too (I10): what would loosen is left out, noted in `values` with
 * ignored = true and in `warnings`.
 */
#pragma once

#include "base/notes.h"
#include "net/net_decide.h"
#include "policy/policy.h"

#include <sys/stat.h>

/* One setting from outside the files: an option or its environment variable. key is the option's long name without
 * dashes. */
struct config_setting {
	const char *key;    /* "timeout" */
	const char *value;  /* "90s"; "true" for flags */
	const char *origin; /* "--timeout" or "AIRLOCK_TIMEOUT" */
};

struct config_inputs {
	const char *home;	 /* absolute, normal */
	const char *cwd;	 /* base of relative paths in options; absolute, normal */
	const char *system_file; /* NULL: none. A missing file is no error */
	const char *user_file;
	bool user_file_required;	       /* --config FILE: then a missing one is AIRLOCK_ERR_NOT_FOUND */
	const char *project_dir;	       /* its .airlock.toml is read; NULL: none */
	const char *trust_dir;		       /* where trust is stored */
	const struct config_setting *settings; /* in ascending precedence: environment first, then options */
	size_t n_settings;
	const char *const *argv;   /* the command, for [[commands]]; NULL: none */
	const char *shell_command; /* or the -c string */
	bool long_lists;	   /* also write out built-in lists longer than CONFIG_SHORT_LIST */
};

/* Bytes. The built-in lists of secrets are the same for every run of this version and larger than everything else
 * together, so they are written out only on request. */
#define CONFIG_SHORT_LIST 256

struct config_value {
	char *key;		      /* "sandbox.backend", "profiles.moderate.timeout" */
	char *value;		      /* as TOML text */
	struct airlock_origin origin; /* a file, the caller or built-in; its name is the config's */
	bool ignored;		      /* from an untrusted project; would have loosened */
};

enum config_remember { CONFIG_REMEMBER_RUN, CONFIG_REMEMBER_SESSION };

/* Published ports of --publish. */
#define CONFIG_MAX_PUBLISH 16
struct config_publish {
	unsigned host_port, port;
};

/* Hosts that have a name together. */
struct config_host_set {
	char *name;
	struct strs hosts;
};

enum config_fallback { CONFIG_FALLBACK_REFUSE, CONFIG_FALLBACK_ASK, CONFIG_FALLBACK_WARN };

struct config {
	bool enabled; /* sandbox.enabled, or --no-sandbox */
	struct airlock_origin enabled_origin;
	char *backend; /* "auto", "native", "bubblewrap", "landlock", "seatbelt", "passthrough" */
	struct airlock_origin backend_origin;
	enum config_fallback fallback;
	char *shell;		 /* sandbox.shell or --shell: "sh", "bash", "zsh" or an absolute path */
	bool warm_start;	 /* servers start the next run's sandbox before its command comes */
	int64_t max_output;	 /* bytes per stream in the result */
	bool max_output_asked;	 /* someone set it */
	bool explain_denials;	 /* report what was refused, and by which rule */
	bool explain_asked;	 /* someone set it */
	int64_t keep_backups_ms; /* how long gc keeps daily backups, and runs; TEXT_NONE: forever */
	int64_t keep_runs_ms;
	int64_t permission_wait_ms; /* how long a question of an agent's run waits for a person; TEXT_NONE: until one answers */
	int64_t session_disk, session_tmp_size; /* shares of the disk (policy_share_bytes); TEXT_NONE: no limit */
	int64_t session_idle_ms; /* processes of a session end so long after its last command; TEXT_NONE: never */
	int64_t copy_size;	 /* limits of roots that are captured by copy: bytes and entries; TEXT_NONE: none */
	int64_t copy_files;
	struct strs gate_hold;			/* patterns of paths whose changes are held for a person */
	struct strs gate_allow;			/* patterns of paths whose changes are never held */
	bool cache_enabled;			/* caches in the home are writable, in separate layers */
	bool cache_shared;			/* all projects share these layers */
	struct strs cache_paths, cache_exclude; /* absolute: caches added to the built-in ones, and caches removed */
	enum net_mode network_mode;		/* [network] mode: what a run has without options */
	struct airlock_origin network_mode_origin;
	bool network_ask;		       /* what no rule decides is asked while the connection waits */
	enum config_remember network_remember; /* how long an answer about a host counts */
	struct net_rules network_rules;	       /* of files and options; its mode is not set */
	struct config_host_set *host_sets;     /* [network.sets]; of two with one name the later one counts */
	size_t n_host_sets;
	bool network_mode_asked;		    /* --network-mode */
	enum net_mode network_asked;		    /* what it said */
	struct airlock_origin network_asked_origin; /* of --network-mode or --network */
	struct config_publish publish[CONFIG_MAX_PUBLISH];
	size_t n_publish;
	struct policy policy; /* the active profile, with command rules and options merged in */
	struct config_value *
		values; /* every value, sorted by key; ignored ones after those that apply; for long built-in lists see config_inputs */
	size_t n_values;
	struct strs origin_names;
	struct notes warnings; /* sentences for a person */
};

int config_load(const struct config_inputs *in, struct config **ret, struct airlock_error *err);
void config_free(struct config *c);

/* True if a person set this key ("profiles.moderate.timeout"); false if it has its built-in value. */
bool config_is_set(const struct config *c, const char *key);
/* The hosts of @name; NULL: there is no such set. */
const struct strs *config_host_set(const struct config *c, const char *name);

/* Checks one file: syntax, keys, types, values; the error says where. Of the other inputs only home, system_file and
 * user_file are used: this file may name their profiles. */
int config_check_file(const char *path, const struct config_inputs *others, struct airlock_error *err);

/* The directories above the project whose .airlock.toml tightens, outermost first: up to the home, or to / if the
 * project is not in it. ret->failed: out of memory. */
void config_list_above(const char *project_dir, const char *home, struct strs *ret);
/* True if such a file, as lstat sees it in dir, counts: it belongs to the user, to root or, unless everybody may write
 * to dir, to the owner of the project. */
bool config_counts_above(const char *project_dir, const char *dir, const struct stat *file);
#define CONFIG_MAX_ABOVE 64 /* limit of files that count; more is an error, so that depth cannot shed rules */

/* Trust by content: stores the hash of DIR/.airlock.toml; after an edit it must be trusted again. */
int config_trust(const char *trust_dir, const char *project_dir, struct airlock_error *err);
int config_is_trusted(const char *trust_dir, const char *project_dir, const char *content, size_t len, bool *ret,
		      struct airlock_error *err);
