/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writing JSON, nothing else: the run path must not load a JSON library to print one object.
 *
 *   struct json j = json_begin(&buf);
 *   json_open_object(&j, NULL);
 *     json_string(&j, "run", id);
 *     json_open_array(&j, "files"); json_string(&j, NULL, "x"); json_close(&j);
 *   json_close(&j);
 *
 * key is NULL inside arrays and for the outermost value. Strings are made valid UTF-8 (U+FFFD for bad bytes).
 */
#pragma once

/* Programs that link us may link jansson too, which has functions of the same names: the linker sees others. */
#define json_begin base_json_begin
#define json_bool base_json_bool
#define json_close base_json_close
#define json_error base_json_error
#define json_int base_json_int
#define json_ms base_json_ms
#define json_null base_json_null
#define json_open_array base_json_open_array
#define json_open_object base_json_open_object
#define json_path base_json_path
#define json_string base_json_string
#define json_stringn base_json_stringn
#define json_time base_json_time

#include "base/buf.h"

#include <stdint.h>

#define JSON_MAX_DEPTH 16

struct json {
	struct buf *out;
	int depth;
	char close[JSON_MAX_DEPTH]; /* the bracket that ends each open level */
	bool first[JSON_MAX_DEPTH + 1];
	bool pretty;
};

struct json json_begin(struct buf *out, bool pretty);
void json_open_object(struct json *j, const char *key);
void json_open_array(struct json *j, const char *key);
void json_close(struct json *j);
void json_string(struct json *j, const char *key, const char *value); /* NULL → null */
void json_stringn(struct json *j, const char *key, const char *value, size_t n);
void json_int(struct json *j, const char *key, int64_t value);
void json_ms(struct json *j, const char *key, int64_t microseconds); /* 12.345 */
void json_time(struct json *j, const char *key, int64_t ns);	     /* since 1970, as text_add_time */
void json_bool(struct json *j, const char *key, bool value);
void json_null(struct json *j, const char *key);
/* path as text, and key_base64 with the exact bytes beside it when it is not UTF-8. */
void json_path(struct json *j, const char *key, const char *path);
/* Members that are JSON already, as they stand in an object ("a":1,"b":[]); "" adds none. */
void json_members(struct json *j, const char *text);
/* {"code","message","op","subject","hint"} or null when err is NULL or empty. */
struct airlock_error;
void json_error(struct json *j, const char *key, const struct airlock_error *err);
