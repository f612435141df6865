/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Values. The reader recurses here: an array or inline table reads its members one level deeper. Making a value beyond
 * limits.max_depth fails (toml_table.c) before anything is read in it. */
#include "config/toml_internal.h"

#include <string.h>

static int set_text(struct toml_parser *ps, struct toml_value *v, const char *s, size_t len)
{
	v->u.string.s = toml_copy(ps->doc, s, len);
	v->u.string.len = len;
	return v->u.string.s ? 0 : base_oom(ps->err);
}

static int read_string(struct toml_parser *ps, size_t depth, const struct toml_value **ret)
{
	struct toml_value *v = NULL;
	int rc = toml_value_new(ps, TOML_STRING, toml_here(ps), depth, &v);
	if (rc < 0 || (rc = toml_read_string(ps)) < 0)
		return rc;
	*ret = v;
	return set_text(ps, v, buf_str(&ps->scratch), ps->scratch.len);
}

static bool word_is(const struct toml_word *w, const char *s)
{
	return w->len == strlen(s) && memcmp(w->s, s, w->len) == 0;
}

static bool read_boolean(const struct toml_word *w, struct toml_value *v)
{
	if (!word_is(w, "true") && !word_is(w, "false"))
		return false;
	v->type = TOML_BOOLEAN;
	v->u.boolean = w->len == 4;
	return true;
}

static bool is_digit(int c)
{
	return c >= '0' && c <= '9';
}

/* A space may replace the T between date and time: after a date, a space and a digit can mean nothing else. */
static struct toml_word datetime_at(const struct toml_parser *ps)
{
	struct toml_word w = toml_word_at(ps);
	const char *rest = w.s + w.len;
	if (w.len == strlen("1979-05-27") && ps->end - rest > 1 && rest[0] == ' ' && is_digit((unsigned char)rest[1])) {
		for (w.len++; w.s + w.len < ps->end && toml_is_word((unsigned char)w.s[w.len]);)
			w.len++;
	}
	return w;
}

static int read_datetime(struct toml_parser *ps, struct toml_word *w, struct toml_value *v)
{
	*w = datetime_at(ps);
	int rc = toml_check_datetime(ps, w);
	if (rc < 0)
		return rc;
	v->type = TOML_DATETIME;
	return set_text(ps, v, w->s, w->len);
}

static bool is_number_start(const struct toml_word *w)
{
	return is_digit((unsigned char)w->s[0]) || strchr("+-.", w->s[0]) || word_is(w, "inf") || word_is(w, "nan");
}

/* A word that is not a value is usually text without quotes. */
static int refuse_word(struct toml_parser *ps, const char *what)
{
	int rc = toml_expected(ps, "%s", what);
	(void)base_hint(ps->err, "put text in quotes; write booleans as true or false");
	return rc;
}

static int read_word(struct toml_parser *ps, size_t depth, const char *what, const struct toml_value **ret)
{
	struct toml_word w = toml_word_at(ps);
	struct toml_value *v = NULL;
	int rc = toml_value_new(ps, TOML_BOOLEAN, toml_here(ps), depth, &v);
	if (rc < 0)
		return rc;
	if (read_boolean(&w, v))
		rc = 0;
	else if (toml_is_datetime(&w))
		rc = read_datetime(ps, &w, v);
	else if (is_number_start(&w))
		rc = toml_read_number(ps, &w, v);
	else
		rc = refuse_word(ps, what);
	ps->p += rc < 0 ? 0 : w.len;
	*ret = v;
	return rc;
}

/* A comma may follow the last item; newlines and comments are allowed anywhere. */
static int read_items(struct toml_parser *ps, struct toml_array *a)
{
	for (;;) {
		const struct toml_value *v = NULL;
		int rc = toml_skip_lines(ps);
		if (rc < 0 || toml_take(ps, "]"))
			return rc;
		rc = toml_read_value(ps, a->depth + 1, "a value or ']' in the array", &v);
		if (rc < 0 || (rc = toml_array_push(ps, a, v)) < 0 || (rc = toml_skip_lines(ps)) < 0)
			return rc;
		if (toml_take(ps, "]"))
			return 0;
		if (!toml_take(ps, ","))
			return toml_expected(ps, "',' or ']' in the array that begins at %d:%d", a->value.line,
					     a->value.column);
	}
}

static int read_array(struct toml_parser *ps, size_t depth, const struct toml_value **ret)
{
	struct toml_array *a = NULL;
	int rc = toml_array_new(ps, toml_here(ps), depth, &a);
	if (rc < 0)
		return rc;
	ps->p++;
	*ret = &a->value;
	return read_items(ps, a);
}

static int refuse_in_braces(struct toml_parser *ps, const struct toml_table *t)
{
	int rc = toml_expected(ps, "',' or '}' in the inline table that begins at %d:%d", t->value.line,
			       t->value.column);
	if (toml_at_newline(ps) || toml_peek(ps) == '#')
		(void)base_hint(ps->err, "an inline table must be on one line; use a [table] instead");
	return rc;
}

/* Unlike arrays: no comma after the last item, no newlines. TOML 1.0 wants inline tables to be short. */
static int read_members(struct toml_parser *ps, struct toml_table *t)
{
	const char *what = "a key or '}' after '{'";
	toml_skip_blanks(ps);
	if (toml_take(ps, "}"))
		return 0;
	for (;;) {
		toml_skip_blanks(ps);
		int rc = toml_read_pair(ps, t, what);
		if (rc < 0)
			return rc;
		toml_skip_blanks(ps);
		if (toml_take(ps, "}"))
			return 0;
		if (!toml_take(ps, ","))
			return refuse_in_braces(ps, t);
		what = "a key after ','";
	}
}

static int read_inline_table(struct toml_parser *ps, size_t depth, const struct toml_value **ret)
{
	struct toml_table *t = NULL;
	int rc = toml_table_new(ps, TOML_BY_BRACES, toml_here(ps), depth, &t);
	if (rc < 0)
		return rc;
	ps->p++;
	*ret = &t->value;
	return read_members(ps, t);
}

int toml_read_value(struct toml_parser *ps, size_t depth, const char *what, const struct toml_value **ret)
{
	int c = toml_peek(ps);
	if (c == '"' || c == '\'')
		return read_string(ps, depth, ret);
	if (c == '[')
		return read_array(ps, depth, ret);
	if (c == '{')
		return read_inline_table(ps, depth, ret);
	if (toml_is_word(c))
		return read_word(ps, depth, what, ret);
	return toml_expected(ps, "%s", what);
}

/* Resolves the key before reading the value: a duplicate is reported at its key, and the depth of the value is known.
 */
int toml_read_pair(struct toml_parser *ps, struct toml_table *table, const char *what)
{
	int rc = toml_read_key(ps, what);
	if (rc < 0)
		return rc;
	if (!toml_take(ps, "="))
		return toml_expected(ps, "'=' after the key");
	struct toml_table *parent = NULL;
	if ((rc = toml_open_dotted(ps, table, &parent)) < 0)
		return rc;
	struct toml_key last = ps->key[ps->key_n - 1]; /* a value with keys of its own overwrites ps->key */
	const struct toml_value *v = NULL;
	toml_skip_blanks(ps);
	if ((rc = toml_read_value(ps, parent->depth + 1, "a value after '='", &v)) < 0)
		return rc;
	return toml_table_add(ps, parent, &last, v);
}
