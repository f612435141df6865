/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "frame.h"

#include <string.h>

#include <airlock/airlock.h>

struct frame_line frame_begin(FILE *out, size_t width)
{
	return (struct frame_line){out, width};
}

void frame_style(const struct frame_line *l, const char *escape)
{
	(void)fputs(escape, l->out);
}

void frame_put_bytes(struct frame_line *l, const char *text, size_t len)
{
	l->left -= airlock_text_columns(text, len);
	(void)fwrite(text, 1, len, l->out);
}

void frame_put(struct frame_line *l, const char *text)
{
	size_t len = strlen(text);
	if (airlock_text_columns(text, len) <= l->left) {
		frame_put_bytes(l, text, len);
	} else if (l->left > 0) {
		frame_put_bytes(l, text, airlock_text_fit(text, len, l->left - 1));
		frame_put_bytes(l, "…", strlen("…"));
	}
}

void frame_put_end(struct frame_line *l, const char *text, size_t width)
{
	size_t len = strlen(text), columns = airlock_text_columns(text, len);
	if (columns <= width) {
		frame_put(l, text);
	} else if (width > 0) {
		size_t skip = airlock_text_fit(text, len, columns - width + 1);
		while (airlock_text_columns(text + skip, len - skip) > width - 1) /* half of a wide character */
			skip += airlock_text_fit(text + skip, len - skip, 2);
		frame_put_bytes(l, "…", strlen("…"));
		frame_put_bytes(l, text + skip, len - skip);
	}
}

void frame_fill(struct frame_line *l)
{
	for (; l->left > 0; l->left--)
		(void)fputc(' ', l->out);
}

void frame_end(const struct frame_line *l)
{
	(void)fputs(FRAME_PLAIN "\n", l->out);
}

void frame_empty(FILE *out, size_t n)
{
	for (; n > 0; n--)
		(void)fputs("\n", out);
}

/* ── the keys ── */

static size_t hint_width(const struct frame_hint *h)
{
	return strlen(h->key) + 1 + strlen(h->does);
}

static void put_hint(struct frame_line *l, const struct frame_hint *h)
{
	frame_style(l, FRAME_BOLD);
	frame_put(l, h->key);
	frame_style(l, FRAME_PLAIN);
	frame_put(l, " ");
	frame_put(l, h->does);
}

void frame_hints(FILE *out, size_t width, const struct frame_hint *hints)
{
	struct frame_line l = frame_begin(out, width);
	const struct frame_hint *last = hints;
	while (last[1].key)
		last++;
	for (; hints < last && l.left > hint_width(hints) + 2 + hint_width(last); hints++) {
		put_hint(&l, hints);
		frame_put(&l, "  ");
	}
	put_hint(&l, last);
	frame_style(&l, FRAME_PLAIN);
}
