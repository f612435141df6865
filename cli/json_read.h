/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads the JSON that the library writes, and writes a string into ours.
 *
 *   const char *files = json_read_member(text, "files");
 *   for (const char *f = json_read_first(files); f; f = json_read_next(f))
 *           char *path = json_read_string(json_read_member(f, "path"));
 *
 * A value is the place in the text where it begins. Only for text of our own library: what is not well-formed is not
 * found, never complained about. Every function takes NULL for "not there".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

const char *json_read_member(const char *object, const char *key); /* NULL: it has none, or is no object */
/* Several at once, which takes as long as finding the last of them. */
void json_read_members(const char *object, const char *const *keys, size_t n, const char **ret);
const char *json_read_first(const char *array);	 /* its first element; NULL when it is empty */
const char *json_read_next(const char *element); /* the one after it in the same array, or NULL */

/* The string's bytes, to be freed; NULL when it is no string, or out of memory. */
char *json_read_string(const char *value);
/* Is it this string? For words that need no escapes. */
bool json_read_is(const char *value, const char *word);
/* The bytes that a base64 string stands for; as json_read_string. */
char *json_read_base64(const char *value);

/* A quoted string. Bytes that are not UTF-8 become U+FFFD. */
void json_print_string(FILE *out, const char *s);
