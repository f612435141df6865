/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The one matcher of patterns: *, ?, [a-z], [!a-z], [[:alpha:]], and a backslash that takes a special meaning away.
 *
 *   glob_matches("*_KEY", "API_KEY", 0)
 *   glob_matches("src/?.c", "src/a.c", GLOB_PATH)
 *
 * Bytes, whatever the locale; case is that of ASCII. A '[' without its ']' means itself. Work is bounded by a polynomial, so
 * a hostile pattern cannot stall anybody.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define GLOB_ANY_CASE 1 /* letters match either case */
#define GLOB_PATH 2	/* a slash is matched by a slash only */
#define GLOB_DEEP                                                                                                      \
	4 /* with GLOB_PATH: a component of two stars is any number of directories; at the end, everything below */

bool glob_matches(const char *pattern, const char *text, int flags);
/* The same for parts of longer strings. */
bool glob_matches_n(const char *pattern, size_t pattern_len, const char *text, size_t text_len, int flags);
