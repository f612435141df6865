/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lines of a screen, none wider than it: what the pages of screen.h are drawn with. Pure.
 *
 *   struct frame_line l = frame_begin(out, width);
 *   frame_style(&l, FRAME_BOLD);
 *   frame_put(&l, "3 changes");
 *   frame_end(&l);
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

#define FRAME_BOLD "\033[1m"
#define FRAME_REVERSE "\033[7m"
#define FRAME_YELLOW "\033[33m"
#define FRAME_RED "\033[31m"
#define FRAME_PLAIN "\033[0m"

struct frame_line {
	FILE *out;
	size_t left; /* columns */
};

struct frame_line frame_begin(FILE *out, size_t width);
void frame_style(const struct frame_line *l, const char *escape);
void frame_put_bytes(struct frame_line *l, const char *text, size_t len); /* they fit */
void frame_put(struct frame_line *l, const char *text);			  /* as much as fits; marks what was cut */
/* The same within so many columns, from the end: the end of a path says more than its beginning. */
void frame_put_end(struct frame_line *l, const char *text, size_t width);
void frame_fill(struct frame_line *l); /* blanks up to the right edge */
void frame_end(const struct frame_line *l);
void frame_empty(FILE *out, size_t n); /* so many empty lines */

/* The last line: keys and what they do, the most important first; the last one is always shown. Ends with key == NULL. */
struct frame_hint {
	const char *key, *does;
};
void frame_hints(FILE *out, size_t width, const struct frame_hint *hints);
