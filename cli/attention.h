/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tells a person at the terminal of an agent that a question waits elsewhere: by the bell, and by the terminal's title. Nothing
 * appears on the screen, which is the agent's, and nothing can be answered there. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <airlock/airlock.h>

struct attention {
	const struct airlock_settings *settings; /* borrowed */
	const char *session;			 /* borrowed; whose questions count */
	int watch_fd;				 /* readable when the list may have changed; -1: nothing is watched */
	bool has_news;				 /* the list must be read */
	bool is_shown;				 /* the title is ours */
	char last[80];				 /* id of the question that was told last */
	char title[160];			 /* of that question */
	bool is_due;				 /* the title is to be written, with the bell */
	int64_t since_ms;			 /* since when it is due; after that, when it was written last */
};
#define ATTENTION_INIT                                                                                                 \
	{                                                                                                              \
		.watch_fd = -1                                                                                         \
	}

/* Only if standard output is a terminal; else it does nothing ever after. */
void attention_begin(struct attention *a, const struct airlock_settings *settings, const char *session);
/* Looks for questions, and writes when nothing else is being written: is_quiet says that the agent wrote nothing for a moment. In
 * the middle of one of its own sequences ours would break both. */
void attention_update(struct attention *a, bool is_quiet, int64_t now_ms);
/* How long to wait at most before the next update; -1: for ever. */
int attention_wait_ms(const struct attention *a);
void attention_end(struct attention *a);
