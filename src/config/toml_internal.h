/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the files of the TOML reader share; nothing outside toml*.c includes this.
 *
 *   toml.c           a document: statements, headers, key = value
 *   toml_lex.c       the cursor, white space, comments, and how errors are worded
 *   toml_string.c    the four kinds of string, and keys
 *   toml_value.c     values: words, arrays, inline tables
 *   toml_number.c    integers and floats
 *   toml_datetime.c  dates and times
 *   toml_table.c     memory, tables and arrays
 *   toml_define.c    who may add to which table
 *
 * Invariants, true whenever a function returns:
 *   1. text is valid UTF-8, so bytes >= 0x80 need no look outside error messages.
 *   2. p <= end, and line and line_start belong to p.
 *   3. No value lies deeper than limits.max_depth below the root; the recursion of the reader follows the values, so this
 *      bounds the stack too.
 *   4. Everything a value points to lives in the arena of the document.
 */
#pragma once

#include "base/buf.h"
#include "config/toml.h"

struct toml_chunk;

struct toml_doc {
	struct toml_chunk *chunks; /* the arena, newest first */
	struct toml_table *root;
};

struct toml_place {
	int line, column;
};

/* One part of a dotted key; the text is in the arena. */
struct toml_key {
	const char *s;
	size_t len;
	struct toml_place at;
};

/* The way a table came into being decides who may still add to it. */
enum toml_origin {
	TOML_BY_SUBTABLE, /* only named on the way to another: a in [a.b]; may be defined once, later */
	TOML_BY_HEADER,	  /* [a], each [[a]], and the root */
	TOML_BY_DOTTED,	  /* a in a.b = 1 */
	TOML_BY_BRACES,	  /* { }: complete as written */
};

struct toml_index;

struct toml_table {
	struct toml_value value; /* first: toml_get goes from a value to its table */
	enum toml_origin origin;
	size_t depth; /* 0 is the root */
	struct toml_entry *entries;
	size_t cap;
	struct toml_index *index; /* search tree over entries */
};

struct toml_array {
	struct toml_value value; /* first, as above */
	size_t depth;
	const struct toml_value **items;
	size_t cap;
	struct toml_table *last; /* newest element of an array of tables, NULL in an array value */
};

struct toml_parser {
	const char *text, *end, *p;
	const char *line_start;
	int line;
	const char *name; /* shortened, so that a message always has room for the rest */
	struct toml_limits limits;
	struct toml_doc *doc;
	struct toml_table *current; /* the table of the last header: key = value goes there */
	size_t values;		    /* made so far, without the root */
	struct buf scratch;	    /* the string or number being read */
	struct toml_key *key;	    /* the dotted key read last; heap, reused */
	size_t key_n, key_cap;
	struct airlock_error *err;
};

/* A run of characters read as a boolean, number, date or time; at is the current position. */
struct toml_word {
	const char *s;
	size_t len, at;
};

/* toml_lex.c. The three below return the code they report. */
int toml_fail(struct toml_parser *ps, struct toml_place at, const char *fmt, ...) AL_PRINTF(3, 4);
int toml_limit(struct toml_parser *ps, struct toml_place at, const char *fmt, ...) AL_PRINTF(3, 4);
int toml_expected(struct toml_parser *ps, const char *fmt, ...)
	AL_PRINTF(2, 3); /* "expected …, found <what is at p>" */
struct toml_place toml_here(const struct toml_parser *ps);
int toml_peek(const struct toml_parser *ps); /* the byte at p, or -1 at the end */
bool toml_at_newline(const struct toml_parser *ps);
bool toml_take_newline(struct toml_parser *ps);
bool toml_take(struct toml_parser *ps, const char *s); /* advances past s when it stands at p; s has no newline */
void toml_skip_blanks(struct toml_parser *ps);	       /* spaces and tabs */
int toml_skip_comment(struct toml_parser *ps);
int toml_skip_lines(struct toml_parser *ps); /* blanks, newlines and comments */
bool toml_is_control(int c);		     /* not allowed in strings or comments */
bool toml_is_word(int c);
struct toml_word toml_word_at(const struct toml_parser *ps);
int toml_check_utf8(struct toml_parser *ps);

/* toml_string.c */
int toml_read_key(struct toml_parser *ps, const char *what); /* fills ps->key */
int toml_read_string(struct toml_parser *ps);		     /* any of the four forms, into ps->scratch */

/* toml_value.c. `what` completes "expected …" if there is no value. */
int toml_read_value(struct toml_parser *ps, size_t depth, const char *what, const struct toml_value **ret);
int toml_read_pair(struct toml_parser *ps, struct toml_table *table, const char *what); /* key = value */

/* toml_number.c, toml_datetime.c. */
int toml_read_number(struct toml_parser *ps, struct toml_word *w, struct toml_value *v);
bool toml_is_datetime(const struct toml_word *w);
int toml_check_datetime(struct toml_parser *ps, struct toml_word *w);
int toml_peek_word(const struct toml_word *w); /* the byte at w->at, or -1 at the end */
struct toml_place toml_word_place(const struct toml_parser *ps, const struct toml_word *w);

/* toml_table.c */
void *toml_alloc(struct toml_doc *doc, size_t size); /* zeroed; NULL when out of memory */
char *toml_copy(struct toml_doc *doc, const char *s, size_t len);
int toml_value_new(struct toml_parser *ps, enum toml_type type, struct toml_place at, size_t depth,
		   struct toml_value **ret);
int toml_table_new(struct toml_parser *ps, enum toml_origin origin, struct toml_place at, size_t depth,
		   struct toml_table **ret);
int toml_array_new(struct toml_parser *ps, struct toml_place at, size_t depth, struct toml_array **ret);
int toml_array_push(struct toml_parser *ps, struct toml_array *a, const struct toml_value *v);
int toml_table_add(struct toml_parser *ps, struct toml_table *t, const struct toml_key *key,
		   const struct toml_value *v);
const struct toml_entry *toml_table_find(const struct toml_table *t, const char *key, size_t len);

/* toml_define.c. Both walk ps->key. The first creates the tables on the way to a dotted key and refuses a key that
 * exists; the second handles [key] or [[key]]; at is the position of the bracket. */
int toml_open_dotted(struct toml_parser *ps, struct toml_table *from, struct toml_table **ret);
int toml_open_header(struct toml_parser *ps, struct toml_place at, bool element, struct toml_table **ret);
