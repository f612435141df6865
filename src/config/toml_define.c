/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who may add to what exists already. TOML lets a table be defined once, but there are three ways to define one, and
 * tables that are only named on the way to another are not defined yet:
 *
 *                               a.x = 1            [a]                [a.x]            [[a]]
 *   named on the way ([a.b])    yes, defines it    yes, defines it    yes              no
 *   by a header ([a])           no                 no                 yes              no
 *   by dotted keys (a.b = 1)    yes                no                 yes              no
 *   array of tables ([[a]])     no                 no                 newest element   yes, appends
 *   inline table, array value   no                 no                 no               no
 *   any other value             no                 no                 no               no
 *
 * A table that dotted keys have defined can be met by dotted keys only under the header where that happened, because no
 * header is opened twice; so nothing needs to remember which header it was.
 */
#include "config/toml_internal.h"
#include "base/text.h"

/* Values are const for readers of a finished document; here they are still being built. */
static struct toml_table *as_table(const struct toml_value *v)
{
	return v->type == TOML_TABLE ? (struct toml_table *)v : NULL;
}

static struct toml_array *as_array_of_tables(const struct toml_value *v)
{
	struct toml_array *a = v->type == TOML_ARRAY ? (struct toml_array *)v : NULL;
	return a && a->last ? a : NULL;
}

static const char *kind(const struct toml_value *v)
{
	static const char *const tables[] = {[TOML_BY_SUBTABLE] = "a table",
					     [TOML_BY_HEADER] = "a table with a header",
					     [TOML_BY_DOTTED] = "a table made by dotted keys",
					     [TOML_BY_BRACES] = "an inline table"};
	static const char *const others[] = {
		[TOML_STRING] = "a string",   [TOML_INTEGER] = "an integer",  [TOML_FLOAT] = "a float",
		[TOML_BOOLEAN] = "a boolean", [TOML_DATETIME] = "a datetime", [TOML_ARRAY] = "an array value"};
	if (v->type == TOML_TABLE)
		return tables[as_table(v)->origin];
	return as_array_of_tables(v) ? "an array of tables" : others[v->type];
}

/* The position of a table is that of its header; of everything else, that of its key. */
static struct toml_place place_of(const struct toml_entry *e)
{
	bool header = as_array_of_tables(e->value) ||
		      (e->value->type == TOML_TABLE && as_table(e->value)->origin == TOML_BY_HEADER);
	if (header)
		return (struct toml_place){e->value->line, e->value->column};
	return (struct toml_place){e->line, e->column};
}

/* At most about 100 bytes of the first n parts, so that the message has room for the rest. */
static void add_path(struct buf *out, const struct toml_key *key, size_t n)
{
	for (size_t k = 0; k < n && out->len < 100; k++) {
		buf_adds(out, k > 0 ? "." : "");
		text_add_escaped(out, key[k].s, AL_MIN(key[k].len, (size_t)60));
	}
}

/* Part i of ps->key met an entry that does not allow this. */
static int conflict(struct toml_parser *ps, size_t i, const struct toml_entry *e, const char *why)
{
	_cleanup_buf_ struct buf path = BUF_INIT;
	add_path(&path, ps->key, i + 1);
	if (path.failed)
		return base_oom(ps->err);
	struct toml_place first = place_of(e);
	return toml_fail(ps, ps->key[i].at, "'%s' is already %s, first at %d:%d; %s", buf_str(&path), kind(e->value),
			 first.line, first.column, why);
}

/* A new table under part i of ps->key. */
static int add_table(struct toml_parser *ps, struct toml_table *t, size_t i, enum toml_origin origin,
		     struct toml_place at, struct toml_table **ret)
{
	int rc = toml_table_new(ps, origin, at, t->depth + 1, ret);
	return rc < 0 ? rc : toml_table_add(ps, t, &ps->key[i], &(*ret)->value);
}

/* Dotted keys define the tables they pass through: first column above. */
static int pass_dotted(struct toml_parser *ps, struct toml_table *t, size_t i, struct toml_table **ret)
{
	const struct toml_key *k = &ps->key[i];
	const struct toml_entry *e = toml_table_find(t, k->s, k->len);
	if (!e)
		return add_table(ps, t, i, TOML_BY_DOTTED, k->at, ret);
	struct toml_table *next = as_table(e->value);
	if (!next || next->origin == TOML_BY_HEADER || next->origin == TOML_BY_BRACES)
		return conflict(ps, i, e, "a dotted key cannot add to it");
	next->origin = TOML_BY_DOTTED;
	*ret = next;
	return 0;
}

int toml_open_dotted(struct toml_parser *ps, struct toml_table *from, struct toml_table **ret)
{
	for (size_t i = 0; i + 1 < ps->key_n; i++) {
		int rc = pass_dotted(ps, from, i, &from);
		if (rc < 0)
			return rc;
	}
	const struct toml_key *last = &ps->key[ps->key_n - 1];
	const struct toml_entry *e = toml_table_find(from, last->s, last->len);
	if (e)
		return conflict(ps, ps->key_n - 1, e, "a key can be defined only once");
	*ret = from;
	return 0;
}

/* The parts of a header before the last one: third column above. */
static int pass_header(struct toml_parser *ps, struct toml_table *t, size_t i, struct toml_table **ret)
{
	const struct toml_key *k = &ps->key[i];
	const struct toml_entry *e = toml_table_find(t, k->s, k->len);
	if (!e)
		return add_table(ps, t, i, TOML_BY_SUBTABLE, k->at, ret);
	struct toml_array *a = as_array_of_tables(e->value);
	struct toml_table *next = a ? a->last : as_table(e->value);
	if (!next || next->origin == TOML_BY_BRACES)
		return conflict(ps, i, e, "a header cannot add to it");
	*ret = next;
	return 0;
}

/* Second column. The position of a table is that of its header, even if it was named before. */
static int define_table(struct toml_parser *ps, struct toml_place at, struct toml_table *t, struct toml_table **ret)
{
	size_t i = ps->key_n - 1;
	const struct toml_entry *e = toml_table_find(t, ps->key[i].s, ps->key[i].len);
	if (!e)
		return add_table(ps, t, i, TOML_BY_HEADER, at, ret);
	struct toml_table *old = as_table(e->value);
	if (!old || old->origin != TOML_BY_SUBTABLE)
		return conflict(ps, i, e, "a header cannot define it again");
	old->origin = TOML_BY_HEADER;
	old->value.line = at.line;
	old->value.column = at.column;
	*ret = old;
	return 0;
}

/* Fourth column. */
static int find_or_add_array(struct toml_parser *ps, struct toml_place at, struct toml_table *t,
			     struct toml_array **ret)
{
	size_t i = ps->key_n - 1;
	const struct toml_entry *e = toml_table_find(t, ps->key[i].s, ps->key[i].len);
	if (e) {
		*ret = as_array_of_tables(e->value);
		return *ret ? 0 : conflict(ps, i, e, "[[ ]] cannot append to it");
	}
	int rc = toml_array_new(ps, at, t->depth + 1, ret);
	return rc < 0 ? rc : toml_table_add(ps, t, &ps->key[i], &(*ret)->value);
}

static int define_element(struct toml_parser *ps, struct toml_place at, struct toml_table *t, struct toml_table **ret)
{
	struct toml_array *a = NULL;
	int rc = find_or_add_array(ps, at, t, &a);
	if (rc < 0 || (rc = toml_table_new(ps, TOML_BY_HEADER, at, a->depth + 1, ret)) < 0)
		return rc;
	a->last = *ret;
	return toml_array_push(ps, a, &(*ret)->value);
}

int toml_open_header(struct toml_parser *ps, struct toml_place at, bool element, struct toml_table **ret)
{
	struct toml_table *t = ps->doc->root;
	for (size_t i = 0; i + 1 < ps->key_n; i++) {
		int rc = pass_header(ps, t, i, &t);
		if (rc < 0)
			return rc;
	}
	return element ? define_element(ps, at, t, ret) : define_table(ps, at, t, ret);
}
