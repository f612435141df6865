/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One configuration file: read with care, parsed, and checked against the schema before anything uses it. */
#pragma once

#include "config/schema.h"

#define CONFIG_FILE_MAX ((size_t)1 << 20)
#define CONFIG_PROJECT_FILE ".airlock.toml"

enum config_file_kind {
	CONFIG_FILE_OURS,    /* the system's or the user's: refused if others can write it */
	CONFIG_FILE_PROJECT, /* in the project or above it: never through a symlink, which could lead anywhere */
	CONFIG_FILE_ANY,     /* only checked */
};

struct config_file {
	char *path;	  /* name used in errors and sources */
	const char *home; /* borrowed */
	const char *base; /* borrowed; base of relative paths in it; NULL: relative paths are not allowed */
	bool untrusted;	  /* may only tighten (I10) */
	bool is_above;	  /* above the project: may only tighten, and ignored settings are not reported */
	bool accepted;	  /* for a file above: the user trusts it, so its own profiles count for tightening */
	char *dir;	  /* for a file above: its directory; base points here */
	struct buf text;
	struct toml_doc *doc; /* NULL: the file does not exist */
};
void config_file_done(struct config_file *f);

/* Reads a file. AIRLOCK_ERR_NOT_FOUND: missing; INVALID: not a regular file, or not trustworthy; LIMIT: too large; IO:
 * unreadable. Never blocks. */
int config_file_read(const char *path, enum config_file_kind kind, struct buf *ret, struct airlock_error *err);
/* The same for an open descriptor, or for the errno of a failed open. Does not take the descriptor. */
int config_file_read_fd(int fd_or_errno, const char *path, enum config_file_kind kind, struct buf *ret,
			struct airlock_error *err);

/* f->text → f->doc: syntax, keys, types and values. */
int config_file_parse(struct config_file *f, struct airlock_error *err);
int config_file_check(const struct config_file *f, struct airlock_error *err); /* the part after the syntax */

/* AIRLOCK_ERR_INVALID with subject "file:line:column" and that in front of the message. */
int config_file_fault(const struct config_file *f, int line, int column, struct airlock_error *err, const char *fmt,
		      ...) AL_PRINTF(5, 6);

/* The entry of a table, or NULL. */
const struct toml_entry *config_entry(const struct toml_value *table, const char *name);
/* The table of this name at the top of the file, or one of [profiles]; NULL if missing. */
const struct toml_value *config_file_table(const struct config_file *f, const char *name);
const struct toml_value *config_file_profile(const struct config_file *f, const char *name);

/* Resolves a path of a file or option: absolute, below ~, or relative to base if there is one. */
int config_expand_path(const char *text, const char *base, const char *home, char **ret, struct airlock_error *err);
