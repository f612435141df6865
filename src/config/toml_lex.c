/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* There are no tokens: the meaning of 1.2 depends on its position (two keys or a float), so each rule of the grammar
 * reads the bytes itself. The rules share a cursor that knows its line, and the two sentences from which errors are
 * made. */
#include "config/toml_internal.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

#define WORD_SHOWN 40 /* bytes of a word quoted in a message */

static int report(struct toml_parser *ps, int code, struct toml_place at, const char *fmt, va_list ap)
	__attribute__((format(printf, 4, 0)));

static int report(struct toml_parser *ps, int code, struct toml_place at, const char *fmt, va_list ap)
{
	char subject[1024], text[512];
	(void)snprintf(subject, sizeof subject, "%s:%d:%d", ps->name, at.line, at.column);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	return base_error(ps->err, code, "parse", subject, "%s: %s", subject, text);
}

int toml_fail(struct toml_parser *ps, struct toml_place at, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	int code = report(ps, AIRLOCK_ERR_INVALID, at, fmt, ap);
	va_end(ap);
	return code;
}

int toml_limit(struct toml_parser *ps, struct toml_place at, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	int code = report(ps, AIRLOCK_ERR_LIMIT, at, fmt, ap);
	va_end(ap);
	return code;
}

static void add_quoted(struct buf *out, const char *s, size_t len)
{
	const char *quote = *s == '\'' ? "\"" : "'";
	buf_adds(out, quote);
	text_add_escaped(out, s, AL_MIN(len, (size_t)WORD_SHOWN));
	buf_adds(out, len > WORD_SHOWN ? "..." : "");
	buf_adds(out, quote);
}

/* Describes what is at p as a person would. */
static void add_found(struct buf *out, const struct toml_parser *ps)
{
	int c = toml_peek(ps);
	if (c < 0)
		buf_adds(out, "end of file");
	else if (toml_at_newline(ps))
		buf_adds(out, "end of line");
	else if (c == '#')
		buf_adds(out, "a comment");
	else if (toml_is_word(c))
		add_quoted(out, ps->p, toml_word_at(ps).len);
	else if (toml_is_control(c))
		buf_printf(out, "control character U+%04X", (unsigned)c);
	else
		add_quoted(out, ps->p, text_utf8_length((const unsigned char *)ps->p, (size_t)(ps->end - ps->p)));
}

int toml_expected(struct toml_parser *ps, const char *fmt, ...)
{
	_cleanup_buf_ struct buf what = BUF_INIT, found = BUF_INIT;
	va_list ap;
	va_start(ap, fmt);
	buf_vprintf(&what, fmt, ap);
	va_end(ap);
	add_found(&found, ps);
	if (what.failed || found.failed)
		return base_oom(ps->err);
	return toml_fail(ps, toml_here(ps), "expected %s, found %s", buf_str(&what), buf_str(&found));
}

struct toml_place toml_here(const struct toml_parser *ps)
{
	return (struct toml_place){ps->line, (int)(ps->p - ps->line_start) + 1};
}

int toml_peek(const struct toml_parser *ps)
{
	return ps->p < ps->end ? (unsigned char)*ps->p : -1;
}

/* A carriage return counts only before a line feed; alone it is a control character like the others. */
static size_t newline_length(const struct toml_parser *ps)
{
	int c = toml_peek(ps);
	if (c == '\n')
		return 1;
	return c == '\r' && ps->end - ps->p > 1 && ps->p[1] == '\n' ? 2 : 0;
}

bool toml_at_newline(const struct toml_parser *ps)
{
	return newline_length(ps) > 0;
}

bool toml_take_newline(struct toml_parser *ps)
{
	size_t n = newline_length(ps);
	if (n == 0)
		return false;
	ps->p += n;
	ps->line++;
	ps->line_start = ps->p;
	return true;
}

bool toml_take(struct toml_parser *ps, const char *s)
{
	size_t n = strlen(s);
	if ((size_t)(ps->end - ps->p) < n || memcmp(ps->p, s, n) != 0)
		return false;
	ps->p += n;
	return true;
}

void toml_skip_blanks(struct toml_parser *ps)
{
	while (toml_peek(ps) == ' ' || toml_peek(ps) == '\t')
		ps->p++;
}

bool toml_is_control(int c)
{
	return (c >= 0 && c < 0x20 && c != '\t') || c == 0x7f;
}

int toml_skip_comment(struct toml_parser *ps)
{
	if (toml_peek(ps) != '#')
		return 0;
	while (toml_peek(ps) >= 0 && !toml_is_control(toml_peek(ps)))
		ps->p++;
	if (toml_peek(ps) < 0 || toml_at_newline(ps))
		return 0;
	return toml_fail(ps, toml_here(ps), "control character U+%04X is not allowed in a comment",
			 (unsigned)toml_peek(ps));
}

int toml_skip_lines(struct toml_parser *ps)
{
	do {
		toml_skip_blanks(ps);
		int rc = toml_skip_comment(ps);
		if (rc < 0)
			return rc;
	} while (toml_take_newline(ps));
	return 0;
}

bool toml_is_word(int c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '+' ||
	       c == '-' || c == '.' || c == ':';
}

struct toml_word toml_word_at(const struct toml_parser *ps)
{
	struct toml_word w = {.s = ps->p};
	while (ps->p + w.len < ps->end && toml_is_word((unsigned char)ps->p[w.len]))
		w.len++;
	return w;
}

static int refuse_byte(struct toml_parser *ps)
{
	return toml_fail(ps, toml_here(ps), "byte 0x%02X is not valid UTF-8", (unsigned)toml_peek(ps));
}

/* Reads the whole text once and leaves the cursor at its start. */
int toml_check_utf8(struct toml_parser *ps)
{
	while (ps->p < ps->end) {
		size_t n = text_utf8_length((const unsigned char *)ps->p, (size_t)(ps->end - ps->p));
		if (n == 0)
			return refuse_byte(ps);
		if (!toml_take_newline(ps))
			ps->p += n;
	}
	ps->p = ps->line_start = ps->text;
	ps->line = 1;
	return 0;
}
