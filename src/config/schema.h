/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The keys of the configuration as data: one row says what a key is called, what it takes, where its value goes and
 * which values are tighter. Reading, checking, merging, showing and comparing all go by this table.
 *
 *   const struct schema_key *key = schema_find(SCHEMA_PROFILE, "timeout", 7);
 *   struct schema_value v;
 *   if (schema_read(key, toml_value, &v) < 0) …say "must be " schema_add_form…
 *   if (schema_loosens(key, config, &v)) …leave it out…
 *   schema_store(key, config, &v);
 */
#pragma once

#include "config/config.h"
#include "config/toml.h"

enum {				   /* the tables a key may stand in */
       SCHEMA_SANDBOX = 1 << 0,	   /* [sandbox] */
       SCHEMA_PROFILE = 1 << 1,	   /* [profiles.NAME] */
       SCHEMA_COMMAND = 1 << 2,	   /* [[commands]] */
       SCHEMA_ENV = 1 << 3,	   /* env of the two above */
       SCHEMA_GATE = 1 << 4,	   /* [gate] */
       SCHEMA_RETENTION = 1 << 5,  /* [retention] */
       SCHEMA_CAPTURE = 1 << 6,	   /* [capture] */
       SCHEMA_CACHE = 1 << 7,	   /* [cache] */
       SCHEMA_PERMISSION = 1 << 8, /* [permission] */
       SCHEMA_NETWORK = 1 << 9,	   /* [network] */
       SCHEMA_SESSION = 1 << 10,   /* [session] */
};

enum schema_type {
	SCHEMA_BOOL,
	SCHEMA_WORD,	     /* one of words, stored as its index: an enum */
	SCHEMA_CHOICE,	     /* one of words, stored as text */
	SCHEMA_SHELL,	     /* one of words or an absolute path, stored as text */
	SCHEMA_PROFILE_NAME, /* stored as text */
	SCHEMA_DURATION,     /* milliseconds */
	SCHEMA_MEGABYTES,    /* written in MiB, stored in bytes */
	SCHEMA_COUNT,
	SCHEMA_SIZE,  /* bytes */
	SCHEMA_SHARE, /* bytes, or a part of the memory or of free disk space (policy_share_bytes) */
	SCHEMA_PATHS,
	SCHEMA_PATTERNS,
	SCHEMA_GLOBS, /* of paths in a project */
	SCHEMA_HOSTS, /* rules about hosts, or @SET */
	SCHEMA_ARGV,  /* what a command starts with */
	SCHEMA_TABLE, /* env */
	SCHEMA_WAIT,  /* milliseconds like a duration, and 0: do not wait */
};

/* When a value of an untrusted project may replace the current one; an equal one always may (I10). */
enum schema_tight {
	SCHEMA_NEVER,
	SCHEMA_LOWER,
	SCHEMA_TO_TRUE,
	SCHEMA_TO_FALSE,
	SCHEMA_BY_RANK, /* towards the word of higher rank */
	SCHEMA_ADDS,	/* a list that can only remove */
};

struct schema_word {
	const char *word; /* NULL ends the list */
	int rank;	  /* higher is tighter; negative: cannot be compared */
};

struct schema_key {
	const char *name;
	unsigned scopes;
	enum schema_type type;
	enum schema_tight tight;
	size_t offset;			 /* in struct config; SCHEMA_NOWHERE: not stored there */
	const struct schema_word *words; /* WORD, CHOICE, SHELL */
	const char *form;		 /* what it accepts, if words do not say it */
	int64_t min, max;		 /* for numbers; "none" is beyond every max except TEXT_NONE */
	enum policy_access access;	 /* PATHS */
	enum host_rule_verdict verdict;	 /* HOSTS */
};
#define SCHEMA_NOWHERE ((size_t)-1)

/* A value that was read; texts are borrowed from the document or the setting. */
struct schema_value {
	int64_t number;	  /* bool, index of a word, limit */
	const char *text; /* CHOICE, SHELL, PROFILE_NAME */
};

#define SCHEMA_MAX_KEYS 80

/* Every key. An env table's deny comes before its allow, so that exceptions have the last word. */
const struct schema_key *schema_keys(size_t *ret_n);
size_t schema_index(const struct schema_key *key);
const struct schema_key *schema_find(unsigned scope, const char *name, size_t len); /* NULL: no such key */
/* The valid key that name is probably meant to be, or NULL. */
const char *schema_nearest(unsigned scope, const char *name);

bool schema_is_list(const struct schema_key *key);
bool schema_is_limit(const struct schema_key *key); /* kept in a struct policy_limit */
bool schema_is_profile_name(const char *name);

/* 0, -EINVAL or -ERANGE. Not for lists and tables. */
int schema_read(const struct schema_key *key, const struct toml_value *v, struct schema_value *ret);
/* The same from an option's text; type says how to read it (--memory takes a size, memory_limit_mb a number). */
int schema_parse(const struct schema_key *key, enum schema_type type, const char *text, struct schema_value *ret);
/* "a number, at least 1, or \"none\"". */
void schema_add_form(const struct schema_key *key, struct buf *out);

bool schema_loosens(const struct schema_key *key, const struct config *in_force, const struct schema_value *v);
int schema_store(const struct schema_key *key, struct config *c, const struct schema_value *v);
/* The current value as TOML. Not for lists. */
void schema_add_value(const struct schema_key *key, const struct config *c, struct buf *out);
void schema_add_string(struct buf *out, const char *s); /* as a TOML string */
/* Any TOML value as it could have been written, on one line. */
void schema_add_toml(struct buf *out, const struct toml_value *v);
