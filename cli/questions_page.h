/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The questions that wait, as a page of the terminal: a key or a new list in, a new state, a frame and something to do out.
 * Nothing here reads keys, draws on a terminal or answers; questions_watch.c does.
 *
 *   struct questions_page p = {.height = 24, .width = 80};
 *   questions_page_take(&p, list, now_ns);
 *   char *frame = questions_page_draw(&p);
 *   enum questions_action action = questions_page_press(&p, 'a', now_ns, &answer);      QUESTIONS_ANSWER
 *
 * The list changes while a person looks at it. The cursor stays on its question, and a key decides only about a question that
 * has been under the cursor, readable as a whole, for a moment. */
#pragma once

#include <stdbool.h>

#include <airlock/questions.h>

struct questions_page {
	const struct airlock_questions *list; /* borrowed until the next one is taken */
	size_t height, width;
	int64_t now_ns;
	size_t cursor, top;
	char chosen[16];   /* the id under the cursor; "": none */
	int64_t chosen_ns; /* since when it is there without a key of the person */
	bool is_detail;	   /* one question on the whole page */
	size_t line;	   /* of the detail: the first one that is seen */
	char message[160]; /* until the next key */
};

enum questions_action { QUESTIONS_NOTHING, QUESTIONS_ANSWER, QUESTIONS_QUIT, QUESTIONS_SUSPEND };

void questions_page_take(struct questions_page *p, const struct airlock_questions *list, int64_t now_ns);
enum questions_action questions_page_press(struct questions_page *p, int key, int64_t now_ns,
					   enum airlock_answer *ret_answer);
/* True if this key answers the question under the cursor. Then it must have been pressed alone: no paste decides anything. */
bool questions_page_is_decision(const struct questions_page *p, int key);
/* The question under the cursor, or NULL. */
const struct airlock_pending_question *questions_page_chosen(const struct questions_page *p);
/* As many lines as the terminal has, none wider than it. NULL: out of memory. The caller frees it. */
char *questions_page_draw(const struct questions_page *p);

/* "12 s", "5 min", "2 h". */
struct questions_age {
	char text[24];
};
struct questions_age questions_age(int64_t ns);
/* "network, link". */
struct questions_reasons {
	char text[160];
};
struct questions_reasons questions_reasons(const struct airlock_pending_question *q);
