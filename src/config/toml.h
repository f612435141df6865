/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* TOML 1.0 reader.
 *
 *   struct toml_doc *doc = NULL;
 *   if (toml_parse(text, len, "/etc/airlock/config.toml", NULL, &doc, err) < 0) return ...;
 *   const struct toml_value *v = toml_get(toml_root(doc), "sandbox");
 *   toml_free(doc);                     every value and string goes with it
 *
 * An error's subject is "file:line:column"; its message says what was expected and what was found.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum toml_type {
	TOML_STRING,
	TOML_INTEGER,
	TOML_FLOAT,
	TOML_BOOLEAN,
	TOML_DATETIME, /* every date and time form; kept as its text */
	TOML_ARRAY,
	TOML_TABLE,
};

struct toml_value {
	enum toml_type type;
	/* 1-based position of the value (for tables: of the header or key); columns count bytes */
	int line, column;
	union {
		struct {
			const char *s; /* NUL-terminated; may contain NUL bytes (U+0000 can be written): use len */
			size_t len;
		} string; /* also TOML_DATETIME */
		int64_t integer;
		double real;
		bool boolean;
		struct {
			const struct toml_value *const *items;
			size_t n;
		} array;
		struct {
			const struct toml_entry *entries; /* in the order of the file */
			size_t n;
		} table;
	} u;
};

struct toml_entry {
	const char *key; /* NUL-terminated; key_len counts embedded NULs */
	size_t key_len;
	int line, column; /* where the key stands */
	const struct toml_value *value;
};

/* 0 means the default. */
struct toml_limits {
	size_t max_bytes;  /* whole document; default 1 MiB */
	size_t max_depth;  /* nesting of arrays, inline tables and dotted keys; default 64 */
	size_t max_values; /* default 100,000 */
};

struct toml_doc;

/* limits may be NULL. name is copied. Fails with AIRLOCK_ERR_INVALID (syntax, UTF-8, duplicate key) or AIRLOCK_ERR_LIMIT. */
int toml_parse(const char *text, size_t len, const char *name, const struct toml_limits *limits, struct toml_doc **ret,
	       struct airlock_error *err);
const struct toml_value *toml_root(const struct toml_doc *doc); /* a TOML_TABLE */
void toml_free(struct toml_doc *doc);				/* NULL is fine */

/* The value of a key in a table, or NULL. */
const struct toml_value *toml_get(const struct toml_value *table, const char *key);
const char *toml_type_name(enum toml_type type); /* "string", "integer", … with no article */
