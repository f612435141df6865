/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names as the most forgiving file system would see them, and patterns over them. */
#pragma once

#include "base/buf.h"

/* Appends path with every component folded: ASCII lower case, characters that HFS+ or ext4 ignore left out, what NTFS
 * cuts off (trailing dots and blanks, ":stream") cut off, "git~1" as ".git". Slashes stay where they are. */
void gate_fold(const char *path, struct buf *out);

enum gate_match {
	GATE_NO,
	GATE_MATCH,
	GATE_ON_THE_WAY, /* path is a directory the pattern goes through */
};
/* A pattern of sensitive.h against a folded path, from its first component on. */
enum gate_match gate_name_match(const char *pattern, const char *folded);

/* False when it cannot match: asked for every rule, every component and every change, so it must cost next to nothing. */
static inline bool gate_may_match(const char *pattern, const char *folded)
{
	char first = pattern[0];
	return first == '*' || first == folded[0] || (first >= 'A' && first <= 'Z' && (first | 0x20) == folded[0]);
}

/* A pattern of the configuration (flags of base/glob.h): with a slash against the whole path, without one against the last
 * component. "dir/" and "dir/" + "**" are everything below dir. */
bool gate_pattern_match(const char *pattern, const char *path, int flags);
/* The same, and also when it matches a directory path lies in. */
bool gate_pattern_covers(const char *pattern, const char *path, int flags);

/* True for "word" and "word/…". */
bool gate_first_is(const char *path, const char *word);
/* What follows the first component, NULL when there is no more. */
const char *gate_rest(const char *path);
