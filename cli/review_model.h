/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The list of changes that a person goes through, as a value: a key in, a new state and something to do out. Nothing
 * here reads keys, draws or touches a file; review_draw.c shows it, review_list.c does what it says.
 *
 *   struct review_model m = {.rows = rows, .n = n, .chosen = chosen, .height = 24, .width = 80};
 *   enum review_action action = review_model_press(&m, 'a');        REVIEW_APPLY_ALL
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "keys.h"

struct review_row {
	char letter;		   /* as `airlock changes` shows it: A M D R m T */
	const char *path, *reason; /* inert; reason may be NULL */
	bool is_conflict;
	size_t beneath; /* how many of the rows right after this one are beneath it */
};

enum review_action {
	REVIEW_NOTHING,
	REVIEW_SHOW_DIFF, /* of the row under the cursor: review_model_show follows */
	REVIEW_APPLY_ALL,
	REVIEW_APPLY_CHOSEN,
	REVIEW_APPLY_ANYWAY, /* the row under the cursor, even if it is sensitive or in conflict: that was asked */
	REVIEW_DISCARD_ALL,
	REVIEW_DISCARD_CHOSEN,
	REVIEW_HOLD,
	REVIEW_SUSPEND,
};

enum review_page { REVIEW_LIST, REVIEW_DIFF, REVIEW_HELP, REVIEW_CONFIRM, REVIEW_CONFIRM_ANYWAY };

struct review_model {
	const char *run;
	const struct review_row *rows;
	size_t n;
	bool *chosen; /* one for each row; for a row with others beneath it, theirs count */
	size_t height, width;

	enum review_page page;
	size_t cursor, top;	      /* the row under the cursor, the first visible one */
	const char *const *lines;     /* of the diff; inert but for colours */
	size_t n_lines, line, column; /* the first visible ones */
	const char *message;	      /* until the next key; NULL: none */
};

enum review_action review_model_press(struct review_model *m, int key);
/* True if this key could decide about changes. Then it must have been pressed alone: no paste decides anything. */
bool review_model_is_decision(const struct review_model *m, int key);
/* Shows this text, now or again. Borrowed. */
void review_model_show(struct review_model *m, const char *const *lines, size_t n);
/* The terminal is this large now. */
void review_model_resize(struct review_model *m, size_t height, size_t width);

size_t review_model_room(const struct review_model *m);	 /* rows of the list, or lines of the diff, on the screen */
size_t review_model_count(const struct review_model *m); /* how many are chosen */

enum review_mark { REVIEW_NOT_CHOSEN, REVIEW_PARTLY_CHOSEN, REVIEW_CHOSEN };
enum review_mark review_model_mark(const struct review_model *m, size_t row);
