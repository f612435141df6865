/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reading JSON: the library's one reader, strict and without memory of its own. A value is the place where it is written.
 *
 *   struct json_value top, name;
 *   if (!json_value_parse(text, len, &top)) …                    not JSON
 *   _cleanup_free_ char *profile = json_value_string(json_value_member(top, "profile"));
 *   for (struct json_item i = {0}; json_value_next(json_value_member(top, "notes"), &i);)
 *           json_value_string(i.value)
 *
 * The text must outlive its values. Only json_value_parse checks; the others take what it has found to be whole, and
 * JSON_NO_VALUE, which has no members and is neither a string nor a number.
 */
#pragma once

#include "base/buf.h"

#include <stdint.h>

struct json_value {
	const char *at; /* NULL: there is none */
	size_t len;
};
#define JSON_NO_VALUE ((struct json_value){0})

/* True if text is one JSON value with nothing but blanks around it, nested at most 200 deep. Bytes beyond ASCII are taken as
 * they are. */
bool json_value_parse(const char *text, size_t len, struct json_value *ret);

/* '{', '[', '"', '0' for a number, 't', 'f', 'n', or 0 when there is none. */
char json_value_kind(struct json_value v);

/* The elements of an array or the members of an object, one after the other; false at the end. */
struct json_item {
	struct json_value name; /* a string; none in an array */
	struct json_value value;
};
bool json_value_next(struct json_value list, struct json_item *i);
/* The first member of this name. */
struct json_value json_value_member(struct json_value object, const char *name);

/* A string's bytes, to be freed; NULL when it is no string, or out of memory. A NUL in it and half a surrogate pair become
 * U+FFFD, so that a name cannot seem to end early. */
char *json_value_string(struct json_value v);
/* The whole part of a number; fallback for everything else, and for one that does not fit. */
int64_t json_value_int(struct json_value v, int64_t fallback);
