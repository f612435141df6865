/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names of git's objects, and the hashes behind them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define GIT_SHA1 20u
#define GIT_SHA256 32u

/* The bytes after size are zero, so that whole values can be compared. */
struct git_oid {
	unsigned char b[GIT_SHA256];
};

static inline int git_oid_compare(const struct git_oid *a, const struct git_oid *b)
{
	return memcmp(a->b, b->b, sizeof a->b);
}

/* Exactly 2 * size hexadecimal digits at text. */
bool git_oid_parse(const char *text, size_t size, struct git_oid *ret);
/* out: 2 * size + 1 bytes. */
void git_oid_hex(const struct git_oid *oid, size_t size, char *out);

/* The name of an object with this content. word: "commit", "tree", "blob", "tag". */
void git_oid_of(const char *word, const void *data, size_t len, size_t size, struct git_oid *ret);
