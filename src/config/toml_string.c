/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Collects a string in the parser's scratch buffer, without quotes and with escapes replaced; the caller copies it to
 * the arena. The four forms differ only in quote and multi, and share all of the code. */
#include "config/toml_internal.h"

#include "base/array.h"
#include "base/text.h"

#include <string.h>

/* How the string being read is written. */
struct form {
	char quote; /* '"' takes escapes, '\'' does not */
	bool multi;
	struct toml_place at;
};

static int refuse_end(struct toml_parser *ps, const struct form *f)
{
	const char *quotes = f->quote == '"' ? "\"\"\"" : "'''";
	return toml_expected(ps, "%.*s to end the string that begins at %d:%d", f->multi ? 3 : 1, quotes, f->at.line,
			     f->at.column);
}

/* The digits of \uXXXX or \UXXXXXXXX. at is the position of the backslash. */
static int read_unicode(struct toml_parser *ps, int digits, struct toml_place at)
{
	uint32_t c = 0;
	for (int i = 0; i < digits; i++, ps->p++) {
		int v = text_hex_digit(toml_peek(ps));
		if (v < 0)
			return toml_expected(ps, "%d hexadecimal digits after '\\%c'", digits, digits == 4 ? 'u' : 'U');
		c = c << 4 | (uint32_t)v;
	}
	if (c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return toml_fail(ps, at, "escape U+%04X is not a Unicode character", (unsigned)c);
	text_add_character(&ps->scratch, c);
	return 0;
}

/* A backslash at the end of a line removes the newline and all white space up to the next character. */
static int read_continuation(struct toml_parser *ps)
{
	toml_skip_blanks(ps);
	if (!toml_at_newline(ps))
		return toml_expected(ps, "end of line after '\\'");
	while (toml_take_newline(ps))
		toml_skip_blanks(ps);
	return 0;
}

static int read_escape(struct toml_parser *ps, const struct form *f)
{
	static const char names[] = "btnfr\"\\", values[] = "\b\t\n\f\r\"\\";
	struct toml_place at = toml_here(ps);
	ps->p++;
	int c = toml_peek(ps);
	if (f->multi && (c == ' ' || c == '\t' || toml_at_newline(ps)))
		return read_continuation(ps);
	const char *hit = c > 0 ? strchr(names, c) : NULL;
	if (!hit && c != 'u' && c != 'U')
		return toml_expected(ps, "one of b t n f r \" \\ u U after '\\'");
	ps->p++;
	if (!hit)
		return read_unicode(ps, c == 'u' ? 4 : 8, at);
	buf_addc(&ps->scratch, values[hit - names]);
	return 0;
}

/* Skips to the next special byte: a quote, a backslash if escapes are allowed, a newline or a control character. */
static void add_plain(struct toml_parser *ps, const struct form *f)
{
	const char *start = ps->p;
	for (int c; (c = toml_peek(ps)) >= 0 && c != f->quote && !toml_is_control(c); ps->p++)
		if (c == '\\' && f->quote == '"')
			break;
	buf_add(&ps->scratch, start, (size_t)(ps->p - start));
}

/* At a quote. Up to two quotes may come before the closing three, so five quotes are two and the end. */
static bool take_quotes(struct toml_parser *ps, const struct form *f)
{
	size_t n = 0, most = f->multi ? 5 : 1, closing = f->multi ? 3 : 1;
	while (n < most && toml_peek(ps) == f->quote) {
		ps->p++;
		n++;
	}
	size_t own = n < closing ? n : n - closing;
	while (own-- > 0)
		buf_addc(&ps->scratch, f->quote);
	return n >= closing;
}

/* Handles anything but plain text inside a string. */
static int read_special(struct toml_parser *ps, const struct form *f)
{
	int c = toml_peek(ps);
	if (c == '\\')
		return read_escape(ps, f);
	if (c < 0 || (toml_at_newline(ps) && !f->multi))
		return refuse_end(ps, f);
	if (toml_take_newline(ps)) {
		buf_addc(&ps->scratch, '\n'); /* CRLF too: a value must not depend on how the file was checked out */
		return 0;
	}
	return toml_fail(ps, toml_here(ps), "control character U+%04X is not allowed in a string", (unsigned)c);
}

static int read_body(struct toml_parser *ps, const struct form *f)
{
	buf_reset(&ps->scratch);
	if (f->multi)
		(void)toml_take_newline(ps);
	for (;;) {
		add_plain(ps, f);
		if (toml_peek(ps) == f->quote) {
			if (take_quotes(ps, f))
				return ps->scratch.failed ? base_oom(ps->err) : 0;
			continue;
		}
		int rc = read_special(ps, f);
		if (rc < 0)
			return rc;
	}
}

static bool take_triple(struct toml_parser *ps, char quote)
{
	return toml_take(ps, quote == '"' ? "\"\"\"" : "'''");
}

int toml_read_string(struct toml_parser *ps)
{
	struct form f = {.quote = *ps->p, .at = toml_here(ps)};
	f.multi = take_triple(ps, f.quote);
	if (!f.multi)
		ps->p++;
	return read_body(ps, &f);
}

/* Refuses three quotes here instead of reading an empty key that lacks its '='. */
static int read_quoted_key(struct toml_parser *ps)
{
	struct form f = {.quote = *ps->p, .at = toml_here(ps)};
	if (take_triple(ps, f.quote))
		return toml_fail(ps, f.at, "a multi-line string cannot be a key");
	ps->p++;
	return read_body(ps, &f);
}

/* The characters of words that bare keys allow. */
static bool is_bare(int c)
{
	return toml_is_word(c) && c != '.' && c != '+' && c != ':';
}

static int read_bare_key(struct toml_parser *ps, const char *what)
{
	const char *start = ps->p;
	while (is_bare(toml_peek(ps)))
		ps->p++;
	if (ps->p == start)
		return toml_expected(ps, "%s", what);
	buf_reset(&ps->scratch);
	buf_add(&ps->scratch, start, (size_t)(ps->p - start));
	return ps->scratch.failed ? base_oom(ps->err) : 0;
}

static int push_key_part(struct toml_parser *ps, struct toml_place at)
{
	if (!ARRAY_ROOM(ps->key, ps->key_n, ps->key_cap, 8))
		return base_oom(ps->err);
	char *s = toml_copy(ps->doc, buf_str(&ps->scratch), ps->scratch.len);
	if (!s)
		return base_oom(ps->err);
	ps->key[ps->key_n++] = (struct toml_key){s, ps->scratch.len, at};
	return 0;
}

static int read_key_part(struct toml_parser *ps, const char *what)
{
	struct toml_place at = toml_here(ps);
	int c = toml_peek(ps);
	int rc = c == '"' || c == '\'' ? read_quoted_key(ps) : read_bare_key(ps, what);
	if (rc < 0)
		return rc;
	if (ps->key_n == ps->limits.max_depth)
		return toml_limit(ps, at, "key has more than %zu parts", ps->limits.max_depth);
	return push_key_part(ps, at);
}

int toml_read_key(struct toml_parser *ps, const char *what)
{
	ps->key_n = 0;
	for (;;) {
		int rc = read_key_part(ps, what);
		if (rc < 0)
			return rc;
		toml_skip_blanks(ps);
		if (!toml_take(ps, "."))
			return 0;
		toml_skip_blanks(ps);
		what = "a key after '.'";
	}
}
