/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Folding files, environment and options into one struct config, lowest precedence first, while remembering who set
 * what. Only for the files of this folder.
 *
 *   struct merge m = {…};
 *   merge_sandbox(&m, err);      [sandbox] of every file, then the options about it: now the profile is known
 *   merge_gate(&m, err);         [gate] of every file
 *   merge_retention(&m, err);    [retention] of every file
 *   merge_capture(&m, err);      [capture] of every file
 *   merge_cache(&m, err);        [cache] of every file
 *   merge_permission(&m, err);   [permission] of every file
 *   merge_session(&m, err);      [session] of every file
 *   merge_network(&m, err);      [network] of every file
 *   merge_profile(&m, err);      the built-in profile, then every [profiles.NAME] down to the active one
 *   merge_commands(&m, err);     rules that match
 *   …options about the policy…   config_settings.h
 *   values_finish(&m, err);
 */
#pragma once

#include "config/config_file.h"

enum { MERGE_SYSTEM, MERGE_USER, MERGE_ABOVE }; /* then the files above, outermost first; the project's is the last */
#define MERGE_MAX_FILES (MERGE_ABOVE + CONFIG_MAX_ABOVE + 1)

enum merge_mode {
	MERGE_ALL,
	MERGE_TIGHTEN,	      /* I10: ignore and report what would loosen */
	MERGE_TIGHTEN_QUIETLY /* … and do not report it */
};

/* A profile that is not active, but whose tightening still applies: one that a stricter choice replaced, or the choice
 * of a trusted file above. */
struct merge_kept {
	char *profile;
	const struct config_file *above; /* the trusted file above whose own profiles count here; NULL: none */
	size_t n_files;			 /* how many of the files apply to it */
	bool is_first; /* merged before the active profile, which no trusted file adjusts; otherwise after it */
};

struct merge {
	const struct config_inputs *in;
	struct config *c;
	struct config_file files[MERGE_MAX_FILES]; /* in ascending precedence */
	size_t n_files;				   /* at least MERGE_ABOVE + 1 */
	const struct config_file *untrusted_above; /* why trust in the project does not count; NULL: it counts */
	const struct config_file *asking; /* a trusted file above, whose profiles are being looked up; else NULL */
	struct airlock_origin origins[SCHEMA_MAX_KEYS]; /* who set a single value, by schema_index */
	struct merge_kept kept[2 * MERGE_MAX_FILES];
	size_t n_kept;
	size_t cap_values;
	bool without_row[SCHEMA_MAX_KEYS]; /* a list too long to show, by schema_index */
	const struct config_file
		*only; /* check only the profiles of this file; the others provide names; NULL: check all */
};

int merge_sandbox(struct merge *m, struct airlock_error *err);
int merge_gate(struct merge *m, struct airlock_error *err);
int merge_retention(struct merge *m, struct airlock_error *err);
int merge_capture(struct merge *m, struct airlock_error *err);
int merge_cache(struct merge *m, struct airlock_error *err);
int merge_session(struct merge *m, struct airlock_error *err);
int merge_permission(struct merge *m, struct airlock_error *err);
/* merge_network.c: [network] of every file. */
int merge_network(struct merge *m, struct airlock_error *err);
/* Adds the rule, or those of the set that "@NAME" stands for. AIRLOCK_ERR_INVALID with the fault as message. */
int merge_add_host(struct merge *m, enum host_rule_verdict verdict, const char *text, struct airlock_origin origin,
		   struct airlock_error *err);
int merge_profile(struct merge *m, struct airlock_error *err);
int merge_commands(struct merge *m, struct airlock_error *err);

/* Merges one value from any source. */
int merge_set(struct merge *m, const struct schema_key *key, const struct schema_value *v, struct airlock_origin origin,
	      struct airlock_error *err);
/* Merges one item of a list: into the policy, and in its final form (paths expanded against base) onto `shown`. */
int merge_add_item(struct merge *m, const struct schema_key *key, const char *text, const char *base,
		   struct airlock_origin origin, struct buf *shown, struct airlock_error *err);
/* Merges a table of file f; prefix starts the keys of ignored values ("profiles.moderate"). */
int merge_table(struct merge *m, const struct config_file *f, const struct toml_value *table, unsigned scope,
		enum merge_mode mode, const char *prefix, struct airlock_error *err);
enum merge_mode merge_mode_of(const struct config_file *f);
int merge_leave_out(struct merge *m, const struct config_file *f, const struct toml_entry *e, const char *prefix,
		    struct airlock_error *err);

/* above.c: the files above the project, which may only tighten. */
int merge_open_above(struct merge *m, struct airlock_error *err);
/* Turns a pattern of f into a pattern of the project: 1 and *ret, 0 if it matches nothing there, or an error. */
int merge_rebase_glob(const struct merge *m, const struct config_file *f, const char *pattern, char **ret,
		      struct airlock_error *err);

struct config_file *merge_project_file(struct merge *m);
/* Drops the kept profiles: someone with the right to do so has chosen one. */
void merge_drop_kept(struct merge *m);

/* True if such a profile exists, built in or in a file that counts. */
bool merge_has_profile(const struct merge *m, const char *name);
/* The hint after an unknown profile name: the name it is a slip of, or all names. */
void merge_add_known_profiles(const struct merge *m, const char *name, struct buf *out);

/* Checks, before anything is merged, that every profile leads to a built-in one and every default profile exists. */
int merge_check_profiles(const struct merge *m, struct airlock_error *err);

/* config_values.c: rows for people. */
int values_add(struct merge *m, const char *key, const char *value, struct airlock_origin origin, bool ignored,
	       struct airlock_error *err);
/* items: `"a", "b"`. A second list of the same origin joins the first. */
int values_add_list(struct merge *m, const struct schema_key *key, const char *items, struct airlock_origin origin,
		    struct airlock_error *err);
void values_drop(struct merge *m, const struct schema_key *key); /* drops a list */
int values_finish(struct merge *m, struct airlock_error *err);
/* Adds the sentence about ignored settings, if there are any. */
int values_warn(struct merge *m, struct airlock_error *err);
