/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "wrap.h"

#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define WIDEST 80
#define NARROWEST 40

/* A pipe always gets the same lines; a narrow terminal gets narrower ones. */
static size_t line_width(FILE *out)
{
	struct winsize size;
	if (ioctl(fileno(out), TIOCGWINSZ, &size) < 0 || size.ws_col == 0 || size.ws_col >= WIDEST)
		return WIDEST;
	return size.ws_col < NARROWEST ? NARROWEST : size.ws_col;
}

static size_t width_of(const char *s, size_t len)
{
	size_t n = 0;
	for (size_t i = 0; i < len; i++)
		n += ((unsigned char)s[i] & 0xc0) != 0x80;
	return n;
}

size_t wrap_width(const char *text)
{
	return width_of(text, strlen(text));
}

struct wrap wrap_begin(FILE *out, size_t indent)
{
	return (struct wrap){.out = out, .indent = indent, .width = line_width(out)};
}

static void begin_line(struct wrap *w)
{
	if (w->column > 0)
		(void)fputc('\n', w->out);
	(void)fprintf(w->out, "%*s", (int)w->indent, "");
	w->column = w->indent;
}

static void put_word(struct wrap *w, const char *word, size_t len)
{
	size_t width = width_of(word, len);
	bool is_first = w->column <= w->indent;
	if (w->column == 0 || (!is_first && w->column + 1 + width > w->width)) {
		begin_line(w);
		is_first = true;
	}
	(void)fprintf(w->out, "%s%.*s", is_first ? "" : " ", (int)len, word);
	w->column += width + (is_first ? 0 : 1);
}

void wrap_words(struct wrap *w, const char *text)
{
	while (*text) {
		size_t len = strcspn(text, " \n");
		if (len > 0)
			put_word(w, text, len);
		text += len;
		if (*text == '\n')
			wrap_end(w);
		if (*text)
			text++;
	}
}

void wrap_end(struct wrap *w)
{
	if (w->column > 0)
		(void)fputc('\n', w->out);
	w->column = 0;
}
