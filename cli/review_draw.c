/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Draws a screen from top to bottom: a title line, the list (or the diff, or the help), one line about the row under
 * the cursor, and the keys. Every line goes through frame_put(), which knows how much room is left. */
#include "review_draw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <airlock/airlock.h>

#include "frame.h"

#define TAB 8
#define REASON_LEAST 8 /* minimum columns for a reason */

/* ── the parts ── */

struct drawing {
	const struct review_model *m;
	FILE *out;
};

static struct frame_line begin(const struct drawing *d)
{
	return frame_begin(d->out, d->m->width);
}

static const char *plural(size_t n)
{
	return n == 1 ? "" : "s";
}

static void draw_title(const struct drawing *d)
{
	char text[256];
	size_t n = d->m->n, chosen = review_model_count(d->m);
	struct frame_line l = begin(d);
	int len = snprintf(text, sizeof text, "%zu change%s, not applied yet", n, plural(n));
	if (chosen > 0)
		(void)snprintf(text + len, sizeof text - (size_t)len, "; %zu selected", chosen);
	frame_style(&l, FRAME_BOLD);
	frame_put(&l, text);
	frame_style(&l, FRAME_PLAIN);
	if (d->m->run && l.left > strlen(d->m->run) + 4) {
		frame_put(&l, "  run ");
		frame_put(&l, d->m->run);
	}
	frame_end(&l);
}

static void put_reason(struct frame_line *l, const struct review_row *row, bool is_cursor)
{
	if (!row->reason || l->left < REASON_LEAST + 2)
		return;
	frame_put(l, "  ");
	if (!is_cursor)
		frame_style(l, row->is_conflict ? FRAME_RED : FRAME_YELLOW);
	frame_put(l, row->reason);
}

static void draw_row(const struct drawing *d, size_t at)
{
	static const char *const boxes[] = {"[ ]", "[-]", "[x]"};
	const struct review_row *row = &d->m->rows[at];
	struct frame_line l = begin(d);
	char mark[32];
	bool is_cursor = at == d->m->cursor;
	(void)snprintf(mark, sizeof mark, "%c %s %c%c ", is_cursor ? '>' : ' ', boxes[review_model_mark(d->m, at)],
		       row->letter, row->reason || row->is_conflict ? '!' : ' ');
	if (is_cursor)
		frame_style(&l, FRAME_REVERSE);
	frame_put(&l, mark);
	frame_put_end(&l, row->path, l.left);
	put_reason(&l, row, is_cursor);
	if (is_cursor)
		frame_fill(&l);
	frame_end(&l);
}

static void draw_list(const struct drawing *d)
{
	size_t room = review_model_room(d->m), at = d->m->top;
	for (; at < d->m->n && at < d->m->top + room; at++)
		draw_row(d, at);
	frame_empty(d->out, d->m->top + room - at);
}

/* The row is right above, with its path and the reason. */
static void draw_question(const struct drawing *d)
{
	const struct review_row *row = &d->m->rows[d->m->cursor];
	struct frame_line l = begin(d);
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
	frame_style(&l, FRAME_BOLD);
	frame_put(&l, text);
	frame_end(&l);
}

/* The full text for which a row may have had no room. */
static void draw_detail(const struct drawing *d)
{
	const struct review_row *row = &d->m->rows[d->m->cursor];
	struct frame_line l = begin(d);
	frame_style(&l, FRAME_YELLOW);
	if (d->m->message) {
		frame_put(&l, d->m->message);
	} else if (row->reason) {
		frame_put(&l, "! ");
		frame_put(&l, row->reason);
		frame_put(&l, row->is_conflict ? "; the key ! applies it anyway" : "");
	}
	frame_end(&l);
}

/* ── the keys ── */

static const struct frame_hint list_hints[] = {
	{"a", "apply all"}, {"s", "apply selected"}, {"x", "discard"}, {"h", "hold"},
	{"d", "diff"},	    {"space", "select"},     {"?", "help"},    {0}};
static const struct frame_hint confirm_hints[] = {{"y", "yes, discard"}, {"n", "no"}, {0}};
static const struct frame_hint anyway_hints[] = {{"y", "yes, apply"}, {"n", "no"}, {0}};
static const struct frame_hint diff_hints[] = {{"space", "next page"},	 {"b", "back a page"}, {"n", "next change"},
					       {"p", "previous change"}, {"q", "the list"},    {0}};
static const struct frame_hint help_hints[] = {{"any key", "goes back"}, {0}};

static const struct frame_hint *hints_of(enum review_page page)
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
static void put_blanks(struct frame_line *l, size_t n)
{
	for (; n > 0 && l->left > 0; n--, l->left--)
		(void)fputc(' ', l->out);
}

/* A line of the diff, starting at a column. */
static void draw_text(const struct drawing *d, const char *text, size_t skip)
{
	struct frame_line l = begin(d);
	size_t len = strlen(text), column = 0;
	while (len > 0 && l.left > 0) {
		struct piece p = next_piece(text, len, column);
		size_t seen = column >= skip ? p.width : column + p.width > skip ? column + p.width - skip : 0;
		if (p.is_colour)
			(void)fwrite(text, 1, p.len, d->out);
		else if (p.is_tab || seen < p.width)
			put_blanks(&l, seen);
		else if (p.width <= l.left)
			frame_put_bytes(&l, text, p.len);
		else
			l.left = 0;
		column += p.width;
		text += p.len;
		len -= p.len;
	}
	frame_end(&l);
}

static void draw_diff(const struct drawing *d)
{
	const struct review_model *m = d->m;
	const struct review_row *row = &m->rows[m->cursor];
	size_t room = review_model_room(m), at = m->line, last = at + room < m->n_lines ? at + room : m->n_lines;
	char place[96];
	struct frame_line l = begin(d);
	(void)snprintf(place, sizeof place, "  lines %zu-%zu of %zu", m->n_lines ? at + 1 : 0, last, m->n_lines);
	frame_style(&l, FRAME_BOLD);
	frame_put_end(&l, row->path, l.left > strlen(place) + REASON_LEAST ? l.left - strlen(place) : l.left);
	frame_style(&l, FRAME_PLAIN);
	frame_put(&l, place);
	frame_end(&l);
	for (; at < last; at++)
		draw_text(d, m->lines[at], m->column);
	frame_empty(d->out, m->line + room - at);
	draw_detail(d);
	frame_hints(d->out, d->m->width, diff_hints);
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
	struct frame_line title = begin(d);
	frame_style(&title, FRAME_BOLD);
	frame_put(&title, "Keys");
	frame_end(&title);
	for (; i < n && i < room; i++) {
		struct frame_line l = begin(d);
		frame_put(&l, help_lines[i]);
		frame_end(&l);
	}
	frame_empty(d->out, room - i);
	frame_hints(d->out, d->m->width, help_hints);
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
		frame_hints(d.out, d.m->width, hints_of(m->page));
	}
	return fclose(d.out) == 0 ? text : NULL;
}
