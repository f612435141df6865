/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "change/diff/diff_parts.h"

#include "base/text.h"

#include <string.h>

/* ── Names ── */

/* A blank is quoted, too, which git does not do: patch cannot tell where such a name ends. */
static bool is_plain(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s <= 0x20 || (unsigned char)*s >= 0x7f || *s == '"' || *s == '\\')
			return false;
	return true;
}

static void add_quoted(struct buf *b, const char *s)
{
	static const char names[] = "abtnvfr"; /* of the bytes 7 to 13 */
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;
		if (c >= 7 && c <= 13)
			buf_printf(b, "\\%c", names[c - 7]);
		else if (c < 0x20 || c >= 0x7f)
			buf_printf(b, "\\%03o", c);
		else if (c == '"' || c == '\\')
			buf_printf(b, "\\%c", c);
		else
			buf_addc(b, (char)c);
	}
}

void diff_add_name(struct buf *b, const char *prefix, const char *path)
{
	if (is_plain(path)) {
		buf_adds(b, prefix);
		buf_adds(b, path);
		return;
	}
	buf_addc(b, '"');
	add_quoted(b, prefix);
	add_quoted(b, path);
	buf_addc(b, '"');
}

/* ── Lines ── */

#define BOLD "\033[1m"
#define RED "\033[31m"
#define GREEN "\033[32m"
#define CYAN "\033[36m"
#define PLAIN "\033[m"

static void AL_PRINTF(3, 0) add_line(const struct diff_out *o, const char *colour, const char *fmt, va_list ap)
{
	if (o->colour)
		buf_adds(o->text, colour);
	buf_vprintf(o->text, fmt, ap);
	buf_adds(o->text, o->colour ? PLAIN "\n" : "\n");
}

void diff_header(const struct diff_out *o, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	add_line(o, BOLD, fmt, ap);
	va_end(ap);
}

/* A "#" begins nothing that git apply or patch know, so that both pass over it. */
void diff_comment(const struct diff_out *o, const char *fmt, ...)
{
	va_list ap;
	buf_adds(o->text, o->colour ? CYAN "# " : "# ");
	va_start(ap, fmt);
	add_line(o, "", fmt, ap);
	va_end(ap);
}

/* A backslash is common in code and changes nothing on a terminal: it stays single. So does a tab. */
static void add_inert(struct buf *b, const char *s, size_t n)
{
	while (n > 0) {
		const char *end = s;
		while (end < s + n && *end != '\\' && *end != '\t')
			end++;
		text_add_escaped(b, s, (size_t)(end - s));
		n -= (size_t)(end - s);
		s = end;
		if (n > 0) {
			buf_addc(b, *s++);
			n--;
		}
	}
}

static const char *colour_of(char sign)
{
	return sign == '+' ? GREEN : sign == '-' ? RED : sign == '@' ? CYAN : NULL;
}

static void add_hunk_line(const struct diff_out *o, const char *line, size_t n)
{
	const char *colour = o->colour && n > 0 ? colour_of(line[0]) : NULL;
	if (colour)
		buf_adds(o->text, colour);
	add_inert(o->text, line, n);
	buf_adds(o->text, colour ? PLAIN "\n" : "\n");
}

void diff_hunks(const struct diff_out *o, const char *hunks, size_t len)
{
	if (!o->colour && !o->inert) {
		buf_add(o->text, hunks, len);
		return;
	}
	for (const char *end = hunks + len; hunks < end;) {
		const char *newline = memchr(hunks, '\n', (size_t)(end - hunks));
		size_t n = (size_t)((newline ? newline : end) - hunks);
		add_hunk_line(o, hunks, n);
		hunks += n + 1;
	}
}

static size_t count_lines(const struct buf *content)
{
	size_t n = 0;
	for (const char *p = content->data, *end = p + content->len; p < end; n++) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		p = newline ? newline + 1 : end;
	}
	return n;
}

void diff_add_whole(struct buf *hunks, char sign, const struct buf *content)
{
	if (content->len == 0)
		return;
	size_t n = count_lines(content);
	buf_adds(hunks, sign == '+' ? "@@ -0,0 +1" : "@@ -1");
	if (n > 1)
		buf_printf(hunks, ",%zu", n);
	buf_adds(hunks, sign == '+' ? " @@\n" : " +0,0 @@\n");
	for (const char *p = content->data, *end = p + content->len; p < end;) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		const char *next = newline ? newline + 1 : end;
		buf_addc(hunks, sign);
		buf_add(hunks, p, (size_t)(next - p));
		p = next;
	}
	if (content->data[content->len - 1] != '\n')
		buf_adds(hunks, "\n\\ No newline at end of file\n");
}
