/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Words into lines of at most 80 columns, or fewer on a narrower terminal.
 *
 *   struct wrap w = wrap_begin(stdout, 4);
 *   wrap_words(&w, "as many words as you like");
 *   wrap_end(&w);
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

struct wrap {
	FILE *out;
	size_t indent; /* every line begins with this many spaces */
	size_t column; /* 0 at the start of a line; a caller that has printed something itself sets it */
	size_t width;
};

struct wrap wrap_begin(FILE *out, size_t indent);
/* '\n' in the text begins a new line; other runs of spaces count as one. A word wider than the line gets its own line.
 */
void wrap_words(struct wrap *w, const char *text);
void wrap_end(struct wrap *w); /* ends the current line */

/* Columns of a UTF-8 text: characters, not bytes. */
size_t wrap_width(const char *text);
