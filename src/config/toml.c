/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads a document in two passes: the first checks that all of it is UTF-8, so that later code need not; the second
 * reads statement after statement into tables. The first error ends it: a document is accepted as a whole or not at
 * all. */
#include "config/toml_internal.h"

#include <limits.h>
#include <string.h>

#define DEFAULT_BYTES ((size_t)1 << 20)
#define DEFAULT_DEPTH 64
#define DEFAULT_VALUES 100000
#define HIGHEST_DEPTH 1024 /* the reader recurses once per level: about 300 bytes of stack each */
#define NAME_SHOWN 900	   /* an error's subject has 1024 bytes, its message 1536 */

static size_t limit_or(size_t given, size_t fallback, size_t highest)
{
	return AL_MIN(given ? given : fallback, highest);
}

/* Lines and columns are ints, hence the limit on the size. */
static struct toml_limits effective(const struct toml_limits *given)
{
	static const struct toml_limits none = {0};
	const struct toml_limits *l = given ? given : &none;
	return (struct toml_limits){
		.max_bytes = limit_or(l->max_bytes, DEFAULT_BYTES, INT_MAX - 1),
		.max_depth = limit_or(l->max_depth, DEFAULT_DEPTH, HIGHEST_DEPTH),
		.max_values = limit_or(l->max_values, DEFAULT_VALUES, SIZE_MAX),
	};
}

/* A name too long to quote keeps its end, which tells files apart, starting at a character boundary. */
static char *copy_name(struct toml_doc *doc, const char *name)
{
	size_t len = strlen(name);
	if (len <= NAME_SHOWN)
		return toml_copy(doc, name, len);
	const char *tail = name + len - NAME_SHOWN + 3;
	while ((*tail & 0xc0) == 0x80)
		tail++;
	char *s = toml_alloc(doc, 3 + strlen(tail) + 1);
	if (s)
		(void)stpcpy(stpcpy(s, "..."), tail);
	return s;
}

static int end_statement(struct toml_parser *ps, const char *after)
{
	toml_skip_blanks(ps);
	int rc = toml_skip_comment(ps);
	if (rc < 0 || toml_take_newline(ps) || ps->p == ps->end)
		return rc;
	return toml_expected(ps, "end of line after %s", after);
}

/* [key] or [[key]]: changes ps->current. Reads the key first and looks it up after the closing bracket, so that a
 * missing bracket is reported rather than the meaning of a broken key. */
static int read_header(struct toml_parser *ps)
{
	struct toml_place at = toml_here(ps);
	bool element = toml_take(ps, "[[");
	if (!element)
		ps->p++;
	toml_skip_blanks(ps);
	int rc = toml_read_key(ps, element ? "a key after '[['" : "a key after '['");
	if (rc < 0)
		return rc;
	if (!toml_take(ps, element ? "]]" : "]"))
		return toml_expected(ps, "%s after the key", element ? "']]'" : "']'");
	if ((rc = toml_open_header(ps, at, element, &ps->current)) < 0)
		return rc;
	return end_statement(ps, "the table header");
}

static int read_statement(struct toml_parser *ps)
{
	if (toml_peek(ps) == '[')
		return read_header(ps);
	int rc = toml_read_pair(ps, ps->current, "a key or a [table]");
	return rc < 0 ? rc : end_statement(ps, "the value");
}

static int read_document(struct toml_parser *ps)
{
	for (;;) {
		int rc = toml_skip_lines(ps);
		if (rc < 0 || ps->p == ps->end)
			return rc;
		if ((rc = read_statement(ps)) < 0)
			return rc;
	}
}

/* TOML 1.0 allows no byte order mark, but some editors write one. */
static int check_mark(struct toml_parser *ps)
{
	if (!toml_take(ps, "\xef\xbb\xbf"))
		return 0;
	int rc = toml_fail(ps, (struct toml_place){1, 1}, "expected a key or a [table], found a byte order mark");
	(void)base_hint(ps->err, "save the file as UTF-8 without a byte order mark");
	return rc;
}

static int start(struct toml_parser *ps, const char *name)
{
	const struct toml_place first = {1, 1};
	if (!(ps->name = copy_name(ps->doc, name)))
		return base_oom(ps->err);
	size_t len = (size_t)(ps->end - ps->text);
	if (len > ps->limits.max_bytes)
		return toml_limit(ps, first, "the file has %zu bytes, more than the limit of %zu", len,
				  ps->limits.max_bytes);
	int rc = toml_table_new(ps, TOML_BY_HEADER, first, 0, &ps->doc->root);
	if (rc < 0 || (rc = toml_check_utf8(ps)) < 0)
		return rc;
	ps->current = ps->doc->root;
	return check_mark(ps);
}

int toml_parse(const char *text, size_t len, const char *name, const struct toml_limits *limits, struct toml_doc **ret,
	       struct airlock_error *err)
{
	struct toml_doc *doc = calloc(1, sizeof *doc);
	if (!doc)
		return base_oom(err);
	if (len == 0)
		text = ""; /* NULL is fine for an empty file */
	struct toml_parser ps = {.text = text, .end = text + len, .p = text, .line_start = text, .line = 1};
	ps.limits = effective(limits);
	ps.doc = doc;
	ps.err = err;
	int rc = start(&ps, name);
	if (rc == 0)
		rc = read_document(&ps);
	buf_done(&ps.scratch);
	free(ps.key);
	if (rc < 0)
		toml_free(doc);
	else
		*ret = doc;
	return rc;
}

const struct toml_value *toml_root(const struct toml_doc *doc)
{
	return &doc->root->value;
}

const struct toml_value *toml_get(const struct toml_value *table, const char *key)
{
	if (!table || table->type != TOML_TABLE)
		return NULL;
	const struct toml_entry *e = toml_table_find((const struct toml_table *)table, key, strlen(key));
	return e ? e->value : NULL;
}

const char *toml_type_name(enum toml_type type)
{
	static const char *const names[] = {
		[TOML_STRING] = "string",   [TOML_INTEGER] = "integer",	  [TOML_FLOAT] = "float",
		[TOML_BOOLEAN] = "boolean", [TOML_DATETIME] = "datetime", [TOML_ARRAY] = "array",
		[TOML_TABLE] = "table",
	};
	return (size_t)type < AL_ARRAY_LEN(names) ? names[type] : "value";
}
