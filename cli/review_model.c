/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The list of changes as a state machine: a key in, a new state and an action out. See review_model.h. */
#include "review_model.h"

#include <ctype.h>

#define FRAME 3 /* the lines around the list: one above, two below */

/* ── what is chosen ── */

/* Only rows without others beneath them can be chosen; a directory follows its rows. */
static bool is_leaf(const struct review_model *m, size_t row)
{
	return m->rows[row].beneath == 0;
}

enum review_mark review_model_mark(const struct review_model *m, size_t row)
{
	size_t leaves = 0, chosen = 0;
	for (size_t i = row; i <= row + m->rows[row].beneath; i++) {
		leaves += is_leaf(m, i);
		chosen += is_leaf(m, i) && m->chosen[i];
	}
	return chosen == 0 ? REVIEW_NOT_CHOSEN : chosen < leaves ? REVIEW_PARTLY_CHOSEN : REVIEW_CHOSEN;
}

size_t review_model_count(const struct review_model *m)
{
	size_t n = 0;
	for (size_t i = 0; i < m->n; i++)
		n += review_model_mark(m, i) == REVIEW_CHOSEN;
	return n;
}

static void choose(struct review_model *m, size_t first, size_t n, bool is_chosen)
{
	for (size_t i = first; i < first + n; i++)
		m->chosen[i] = is_chosen;
}

static void toggle(struct review_model *m)
{
	choose(m, m->cursor, m->rows[m->cursor].beneath + 1, review_model_mark(m, m->cursor) != REVIEW_CHOSEN);
}

static void toggle_all(struct review_model *m)
{
	bool all = true;
	for (size_t i = 0; i < m->n; i++)
		all = all && (!is_leaf(m, i) || m->chosen[i]);
	choose(m, 0, m->n, !all);
}

/* ── moving about ── */

size_t review_model_room(const struct review_model *m)
{
	return m->height > FRAME + 1 ? m->height - FRAME : 1;
}

/* value + by, within 0 … last. */
static size_t move(size_t value, long by, size_t last)
{
	if (by < 0)
		return value > (size_t)-by ? value - (size_t)-by : 0;
	return value + (size_t)by < last ? value + (size_t)by : last;
}

static void follow_cursor(struct review_model *m)
{
	size_t room = review_model_room(m), last_top = m->n > room ? m->n - room : 0;
	if (m->cursor < m->top)
		m->top = m->cursor;
	if (m->cursor >= m->top + room)
		m->top = m->cursor - room + 1;
	if (m->top > last_top)
		m->top = last_top;
}

static size_t last_line(const struct review_model *m)
{
	size_t room = review_model_room(m);
	return m->n_lines > room ? m->n_lines - room : 0;
}

void review_model_resize(struct review_model *m, size_t height, size_t width)
{
	m->height = height;
	m->width = width;
	m->line = move(m->line, 0, last_line(m));
	follow_cursor(m);
}

void review_model_show(struct review_model *m, const char *const *lines, size_t n)
{
	m->lines = lines;
	m->n_lines = n;
	m->line = m->column = 0;
	m->page = REVIEW_DIFF;
}

/* How far a key moves in a list of this length; 0: not such a key. */
static long distance(const struct review_model *m, int key, size_t n)
{
	long page = (long)review_model_room(m);
	switch (key) {
	case KEY_UP:
	case 'k':
	case KEY_CTRL('p'):
		return -1;
	case KEY_DOWN:
	case 'j':
	case KEY_CTRL('n'):
		return 1;
	case KEY_PAGE_UP:
	case 'b':
	case KEY_CTRL('b'):
		return -page;
	case KEY_PAGE_DOWN:
	case 'f':
	case KEY_CTRL('f'):
		return page;
	case KEY_HOME:
	case 'g':
		return -(long)n;
	case KEY_END:
	case 'G':
		return (long)n;
	default:
		return 0;
	}
}

/* ── keys ── */

static enum review_action apply_chosen(struct review_model *m)
{
	if (review_model_count(m) > 0)
		return REVIEW_APPLY_CHOSEN;
	m->message = "nothing is selected yet: space selects what the cursor is on";
	return REVIEW_NOTHING;
}

static enum review_action press_in_list(struct review_model *m, int key)
{
	long by = distance(m, key, m->n);
	if (by != 0) {
		m->cursor = move(m->cursor, by, m->n - 1);
		follow_cursor(m);
		return REVIEW_NOTHING;
	}
	switch (key < 128 ? tolower(key) : key) {
	case ' ':
		toggle(m);
		return REVIEW_NOTHING;
	case '*':
		toggle_all(m);
		return REVIEW_NOTHING;
	case '\n':
	case 'd':
	case KEY_RIGHT:
		return REVIEW_SHOW_DIFF;
	case 'a':
		return REVIEW_APPLY_ALL;
	case 's':
		return apply_chosen(m);
	case 'x':
		m->page = REVIEW_CONFIRM;
		return REVIEW_NOTHING;
	case '!':
		m->page = REVIEW_CONFIRM_ANYWAY;
		return REVIEW_NOTHING;
	case 'h':
	case 'q':
		return REVIEW_HOLD;
	case '?':
		m->page = REVIEW_HELP;
		return REVIEW_NOTHING;
	default:
		return REVIEW_NOTHING;
	}
}

/* The next or the previous change. */
static enum review_action show_other(struct review_model *m, long by)
{
	size_t other = move(m->cursor, by, m->n - 1);
	if (other == m->cursor)
		m->message = by > 0 ? "this is the last change" : "this is the first change";
	else
		m->cursor = other;
	follow_cursor(m);
	return m->message ? REVIEW_NOTHING : REVIEW_SHOW_DIFF;
}

static enum review_action press_in_diff(struct review_model *m, int key)
{
	long by = key == ' ' ? (long)review_model_room(m) : key == '\n' ? 1 : distance(m, key, m->n_lines);
	long half = (long)(m->width / 2);
	m->line = move(m->line, by, last_line(m));
	switch (key) {
	case KEY_LEFT:
	case KEY_RIGHT:
		m->column = move(m->column, key == KEY_LEFT ? -half : half, 4096);
		return REVIEW_NOTHING;
	case 'n':
		return show_other(m, 1);
	case 'p':
		return show_other(m, -1);
	case 'q':
	case 'd':
	case KEY_ESCAPE:
		m->page = REVIEW_LIST;
		return REVIEW_NOTHING;
	case '?':
		m->page = REVIEW_HELP;
		return REVIEW_NOTHING;
	default:
		return REVIEW_NOTHING;
	}
}

/* Only a clear yes discards anything. */
static enum review_action press_in_confirm(struct review_model *m, int key)
{
	m->page = REVIEW_LIST;
	if (key == 'y' || key == 'Y' || key == 'x')
		return review_model_count(m) > 0 ? REVIEW_DISCARD_CHOSEN : REVIEW_DISCARD_ALL;
	m->message = "nothing was discarded";
	return REVIEW_NOTHING;
}

/* Only a clear yes overwrites anything. */
static enum review_action press_in_confirm_anyway(struct review_model *m, int key)
{
	m->page = REVIEW_LIST;
	if (key == 'y' || key == 'Y')
		return REVIEW_APPLY_ANYWAY;
	m->message = "nothing was applied";
	return REVIEW_NOTHING;
}

bool review_model_is_decision(const struct review_model *m, int key)
{
	int letter = key < 128 ? tolower(key) : key;
	if (m->page == REVIEW_CONFIRM)
		return letter == 'y' || letter == 'x';
	if (m->page == REVIEW_CONFIRM_ANYWAY)
		return letter == 'y';
	return m->page == REVIEW_LIST && (letter == 'a' || letter == 's' || letter == 'x' || letter == '!');
}

enum review_action review_model_press(struct review_model *m, int key)
{
	m->message = NULL;
	if (key == KEY_CTRL('c') || key == KEY_CTRL('d') || key == KEY_CTRL('\\'))
		return REVIEW_HOLD;
	if (key == KEY_CTRL('z'))
		return REVIEW_SUSPEND;
	switch (m->page) {
	case REVIEW_DIFF:
		return press_in_diff(m, key);
	case REVIEW_CONFIRM:
		return press_in_confirm(m, key);
	case REVIEW_CONFIRM_ANYWAY:
		return press_in_confirm_anyway(m, key);
	case REVIEW_HELP:
		m->page = REVIEW_LIST;
		return REVIEW_NOTHING;
	default:
		return press_in_list(m, key);
	}
}
