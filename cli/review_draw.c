/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Draws a screen from top to bottom: a title line, the list (or the diff, or the help), one line about the row under
 * the cursor, and the keys. Every line goes through put(), which knows how much room is left. */
#include "review_draw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <airlock/airlock.h>

#define BOLD "\033[1m"
#define REVERSE "\033[7m"
#define YELLOW "\033[33m"
#define RED "\033[31m"
#define PLAIN "\033[0m"
#define TAB 8
#define REASON_LEAST 8 /* minimum columns for a reason */

/* ── one line ── */

struct line {
	FILE *out;
	size_t left; /* columns */
};

static void style(const struct line *l, const char *escape)
{
	(void)fputs(escape, l->out);
}

static void put_bytes(struct line *l, const char *text, size_t len)
{
	l->left -= airlock_text_columns(text, len);
	(void)fwrite(text, 1, len, l->out);
}

/* As much as fits; marks what was cut. */
static void put(struct line *l, const char *text)
{
	size_t len = strlen(text);
	if (airlock_text_columns(text, len) <= l->left) {
		put_bytes(l, text, len);
	} else if (l->left > 0) {
		put_bytes(l, text, airlock_text_fit(text, len, l->left - 1));
		put_bytes(l, "…", strlen("…"));
	}
}

/* The end of a path says more than its beginning. */
static void put_end(struct line *l, const char *text, size_t width)
{
	size_t len = strlen(text), columns = airlock_text_columns(text, len);
	if (columns <= width) {
		put(l, text);
	} else if (width > 0) {
		size_t skip = airlock_text_fit(text, len, columns - width + 1);
		while (airlock_text_columns(text + skip, len - skip) > width - 1) /* half of a wide character */
			skip += airlock_text_fit(text + skip, len - skip, 2);
		put_bytes(l, "…", strlen("…"));
		put_bytes(l, text + skip, len - skip);
	}
}

static void fill(struct line *l)
{
	for (; l->left > 0; l->left--)
		(void)fputc(' ', l->out);
}

/* ── the parts ── */

struct drawing {
	const struct review_model *m;
	FILE *out;
};

static struct line begin(const struct drawing *d)
{
	return (struct line){d->out, d->m->width};
}

static void end(const struct line *l)
{
	(void)fputs(PLAIN "\n", l->out);
}

static const char *plural(size_t n)
{
	return n == 1 ? "" : "s";
}

static void draw_title(const struct drawing *d)
{
	char text[256];
	size_t n = d->m->n, chosen = review_model_count(d->m);
	struct line l = begin(d);
	int len = snprintf(text, sizeof text, "%zu change%s, not applied yet", n, plural(n));
	if (chosen > 0)
		(void)snprintf(text + len, sizeof text - (size_t)len, "; %zu selected", chosen);
	style(&l, BOLD);
	put(&l, text);
	style(&l, PLAIN);
	if (d->m->run && l.left > strlen(d->m->run) + 4) {
		put(&l, "  run ");
		put(&l, d->m->run);
	}
	end(&l);
}

static void put_reason(struct line *l, const struct review_row *row, bool is_cursor)
{
	if (!row->reason || l->left < REASON_LEAST + 2)
		return;
	put(l, "  ");
	if (!is_cursor)
		style(l, row->is_conflict ? RED : YELLOW);
	put(l, row->reason);
}

static void draw_row(const struct drawing *d, size_t at)
{
	static const char *const boxes[] = {"[ ]", "[-]", "[x]"};
	const struct review_row *row = &d->m->rows[at];
	struct line l = begin(d);
	char mark[32];
	bool is_cursor = at == d->m->cursor;
	(void)snprintf(mark, sizeof mark, "%c %s %c%c ", is_cursor ? '>' : ' ', boxes[review_model_mark(d->m, at)],
		       row->letter, row->reason || row->is_conflict ? '!' : ' ');
	if (is_cursor)
		style(&l, REVERSE);
	put(&l, mark);
	put_end(&l, row->path, l.left);
	put_reason(&l, row, is_cursor);
	if (is_cursor)
		fill(&l);
	end(&l);
}

static void draw_empty(const struct drawing *d, size_t n)
{
	for (; n > 0; n--)
		(void)fputs("\n", d->out);
}

static void draw_list(const struct drawing *d)
{
	size_t room = review_model_room(d->m), at = d->m->top;
	for (; at < d->m->n && at < d->m->top + room; at++)
		draw_row(d, at);
	draw_empty(d, d->m->top + room - at);
}

/* The row is right above, with its path and the reason. */
static void draw_question(const struct drawing *d)
{
	const struct review_row *row = &d->m->rows[d->m->cursor];
	struct line l = begin(d);
	char text[512];
	size_t chosen = review_model_count(d->m), n = chosen ? chosen : d->m->n;
	if (d->m->page == REVIEW_CONFIRM)
		(void)snprintf(text, sizeof text, "Discard %s%zu %schange%s for good?", chosen || n == 1 ? "" : "all ",
			       n, chosen ? "selected " : "", plural(n));
	else if (row->beneath > 0)
		(void)snprintf(text, sizeof text, "Apply it and %zu in it, over what is there now?", row->beneath);
	else if (row->is_conflict)
		(void)snprintf(text, sizeof text, "Apply it, over what is there now?");
	else
		(void)snprintf(text, sizeof text, "Apply it%s%s%s?", row->reason ? " anyway (" : "",
			       row->reason ? row->reason : "", row->reason ? ")" : "");
	style(&l, BOLD);
	put(&l, text);
	end(&l);
}

/* The full text for which a row may have had no room. */
static void draw_detail(const struct drawing *d)
{
	const struct review_row *row = &d->m->rows[d->m->cursor];
	struct line l = begin(d);
	style(&l, YELLOW);
	if (d->m->message) {
		put(&l, d->m->message);
	} else if (row->reason) {
		put(&l, "! ");
		put(&l, row->reason);
		put(&l, row->is_conflict ? "; the key ! applies it anyway" : "");
	}
	end(&l);
}

/* ── the keys ── */

struct hint {
	const char *key, *does;
};

static size_t hint_width(const struct hint *h)
{
	return strlen(h->key) + 1 + strlen(h->does);
}

static void put_hint(struct line *l, const struct hint *h)
{
	style(l, BOLD);
	put(l, h->key);
	style(l, PLAIN);
	put(l, " ");
	put(l, h->does);
}

/* The most important first; the last one always. */
static void draw_hints(const struct drawing *d, const struct hint *hints)
{
	struct line l = begin(d);
	const struct hint *last = hints;
	while (last[1].key)
		last++;
	for (; hints < last && l.left > hint_width(hints) + 2 + hint_width(last); hints++) {
		put_hint(&l, hints);
		put(&l, "  ");
	}
	put_hint(&l, last);
	style(&l, PLAIN);
}

static const struct hint list_hints[] = {{"a", "apply all"}, {"s", "apply selected"}, {"x", "discard"}, {"h", "hold"},
					 {"d", "diff"},	     {"space", "select"},     {"?", "help"},	{0}};
static const struct hint confirm_hints[] = {{"y", "yes, discard"}, {"n", "no"}, {0}};
static const struct hint anyway_hints[] = {{"y", "yes, apply"}, {"n", "no"}, {0}};
static const struct hint diff_hints[] = {{"space", "next page"},   {"b", "back a page"}, {"n", "next change"},
					 {"p", "previous change"}, {"q", "the list"},	 {0}};
static const struct hint help_hints[] = {{"any key", "goes back"}, {0}};

static const struct hint *hints_of(enum review_page page)
{
	return page == REVIEW_CONFIRM ? confirm_hints : page == REVIEW_CONFIRM_ANYWAY ? anyway_hints : list_hints;
}

/* ── the diff ── */

/* The next item in a line: a colour, a tab, or a character with its combining marks. */
struct piece {
	size_t len, width;
	bool is_colour, is_tab;
};

static struct piece next_piece(const char *text, size_t len, size_t column)
{
	struct piece p = {.is_colour = *text == '\033', .is_tab = *text == '\t', .len = 1};
	if (p.is_colour) {
		const char *m = memchr(text, 'm', len);
		p.len = m ? (size_t)(m - text) + 1 : len;
	} else if (p.is_tab) {
		p.width = TAB - column % TAB;
	} else {
		size_t narrow = airlock_text_fit(text, len, 1);
		p.len = narrow ? narrow : airlock_text_fit(text, len, 2);
		p.width = airlock_text_columns(text, p.len);
	}
	return p;
}

/* Blanks for a tab, and for half of a wide character at the left edge. */
static void put_blanks(struct line *l, size_t n)
{
	for (; n > 0 && l->left > 0; n--, l->left--)
		(void)fputc(' ', l->out);
}

/* A line of the diff, starting at a column. */
static void draw_text(const struct drawing *d, const char *text, size_t skip)
{
	struct line l = begin(d);
	size_t len = strlen(text), column = 0;
	while (len > 0 && l.left > 0) {
		struct piece p = next_piece(text, len, column);
		size_t seen = column >= skip ? p.width : column + p.width > skip ? column + p.width - skip : 0;
		if (p.is_colour)
			(void)fwrite(text, 1, p.len, d->out);
		else if (p.is_tab || seen < p.width)
			put_blanks(&l, seen);
		else if (p.width <= l.left)
			put_bytes(&l, text, p.len);
		else
			l.left = 0;
		column += p.width;
		text += p.len;
		len -= p.len;
	}
	end(&l);
}

static void draw_diff(const struct drawing *d)
{
	const struct review_model *m = d->m;
	const struct review_row *row = &m->rows[m->cursor];
	size_t room = review_model_room(m), at = m->line, last = at + room < m->n_lines ? at + room : m->n_lines;
	char place[96];
	struct line l = begin(d);
	(void)snprintf(place, sizeof place, "  lines %zu-%zu of %zu", m->n_lines ? at + 1 : 0, last, m->n_lines);
	style(&l, BOLD);
	put_end(&l, row->path, l.left > strlen(place) + REASON_LEAST ? l.left - strlen(place) : l.left);
	style(&l, PLAIN);
	put(&l, place);
	end(&l);
	for (; at < last; at++)
		draw_text(d, m->lines[at], m->column);
	draw_empty(d, m->line + room - at);
	draw_detail(d);
	draw_hints(d, diff_hints);
}

/* ── the help ── */

static const char *const help_lines[] = {
	"  up, down, k, j     to the change above or below",
	"  page up, page down a screen further",
	"  g, G               to the first, to the last",
	"  space              select or unselect it; a directory: all in it",
	"  *                  select all, or none",
	"  enter, d           what it changes",
	"",
	"  a                  apply all",
	"  s                  apply what is selected; the rest is held",
	"  !                  apply this one, even over what is there now; asks once more",
	"  x                  discard what is selected, or all; asks once more",
	"  h, q, Ctrl-C       hold: nothing is done, nothing is lost",
	"",
	"  [x] selected   [-] some of what is in it   ! needs a closer look",
	"  A added  M modified  D deleted  R renamed  m mode or times  T type",
};

static void draw_help(const struct drawing *d)
{
	size_t room = review_model_room(d->m) + 1, n = sizeof help_lines / sizeof *help_lines, i = 0;
	struct line title = begin(d);
	style(&title, BOLD);
	put(&title, "Keys");
	end(&title);
	for (; i < n && i < room; i++) {
		struct line l = begin(d);
		put(&l, help_lines[i]);
		end(&l);
	}
	draw_empty(d, room - i);
	draw_hints(d, help_hints);
}

char *review_draw(const struct review_model *m)
{
	char *text = NULL;
	size_t size = 0;
	struct drawing d = {.m = m, .out = open_memstream(&text, &size)};
	if (!d.out)
		return NULL;
	if (m->page == REVIEW_HELP) {
		draw_help(&d);
	} else if (m->page == REVIEW_DIFF) {
		draw_diff(&d);
	} else {
		draw_title(&d);
		draw_list(&d);
		if (m->page == REVIEW_LIST)
			draw_detail(&d);
		else
			draw_question(&d);
		draw_hints(&d, hints_of(m->page));
	}
	return fclose(d.out) == 0 ? text : NULL;
}
