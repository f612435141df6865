/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "argument_check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The current position in the arguments, and what is wrong there. */
struct argument_place {
	char name[256];
	char *why;
	size_t size;
};

static bool check(const json_t *schema, const json_t *value, struct argument_place *at);

__attribute__((format(printf, 2, 3))) static bool wrong(struct argument_place *at, const char *format, ...)
{
	int n = snprintf(at->why, at->size, "%s ", at->name[0] ? at->name : "the arguments");
	va_list args;
	va_start(args, format);
	if (n >= 0 && (size_t)n < at->size)
		(void)vsnprintf(at->why + n, at->size - (size_t)n, format, args);
	va_end(args);
	return false;
}

static bool is_type(const char *type, const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return strcmp(type, "object") == 0;
	case JSON_ARRAY:
		return strcmp(type, "array") == 0;
	case JSON_STRING:
		return strcmp(type, "string") == 0;
	case JSON_INTEGER:
		return strcmp(type, "integer") == 0 || strcmp(type, "number") == 0;
	case JSON_REAL: /* 2.0 is an integer to JSON Schema */
		return strcmp(type, "number") == 0 ||
		       (strcmp(type, "integer") == 0 && json_real_value(value) >= -9e15 &&
			json_real_value(value) <= 9e15 &&
			(double)(json_int_t)json_real_value(value) == json_real_value(value));
	case JSON_TRUE:
	case JSON_FALSE:
		return strcmp(type, "boolean") == 0;
	default:
		return strcmp(type, "null") == 0;
	}
}

static bool check_number(const json_t *schema, const json_t *value, struct argument_place *at)
{
	double number = json_number_value(value);
	json_t *least = json_object_get(schema, "minimum"), *above = json_object_get(schema, "exclusiveMinimum"),
	       *most = json_object_get(schema, "maximum");
	if (least && number < json_number_value(least))
		return wrong(at, "must be at least %g", json_number_value(least));
	if (above && number <= json_number_value(above))
		return wrong(at, "must be more than %g", json_number_value(above));
	if (most && number > json_number_value(most))
		return wrong(at, "must be at most %g", json_number_value(most));
	return true;
}

/* Strings become C strings and parts of command lines: a NUL in one would cut it short. */
static bool check_string(const json_t *schema, const json_t *value, struct argument_place *at)
{
	json_t *least = json_object_get(schema, "minLength"), *words = json_object_get(schema, "enum"), *word;
	size_t i;
	if (strlen(json_string_value(value)) != json_string_length(value))
		return wrong(at, "must not have a NUL character");
	if (least && json_string_length(value) < (size_t)json_integer_value(least))
		return wrong(at, "must not be empty");
	json_array_foreach(words, i, word) if (json_equal(word, value)) return true;
	return words ? wrong(at, "is not one of the allowed values") : true;
}

static bool check_items(const json_t *schema, const json_t *value, struct argument_place *at)
{
	json_t *items = json_object_get(schema, "items"), *most = json_object_get(schema, "maxItems"), *item;
	size_t i, len = strlen(at->name);
	if (most && json_array_size(value) > (size_t)json_integer_value(most))
		return wrong(at, "has too many items");
	json_array_foreach(value, i, item)
	{
		(void)snprintf(at->name + len, sizeof at->name - len, "[%zu]", i);
		if (items && !check(items, item, at))
			return false;
		at->name[len] = '\0';
	}
	return true;
}

static bool check_properties(const json_t *schema, const json_t *value, struct argument_place *at)
{
	json_t *known = json_object_get(schema, "properties"), *required = json_object_get(schema, "required"), *item;
	size_t i, len = strlen(at->name);
	const char *key;
	json_array_foreach(required, i, item) if (!json_object_get(value, json_string_value(item))) return wrong(
		at, "must have \"%s\"", json_string_value(item));
	json_object_foreach((json_t *)value, key, item)
	{
		json_t *own = json_object_get(known, key);
		(void)snprintf(at->name + len, sizeof at->name - len, "%s%.100s", len ? "." : "", key);
		if (!own && json_is_false(json_object_get(schema, "additionalProperties")))
			return wrong(at, "is not an argument of this tool");
		if (own && !check(own, item, at))
			return false;
		at->name[len] = '\0';
	}
	return true;
}

static bool check(const json_t *schema, const json_t *value, struct argument_place *at)
{
	const char *type = json_string_value(json_object_get(schema, "type"));
	if (type && !is_type(type, value))
		return wrong(at, "must be of type %s", type);
	if (json_is_number(value))
		return check_number(schema, value, at);
	if (json_is_string(value))
		return check_string(schema, value, at);
	if (json_is_array(value))
		return check_items(schema, value, at);
	return json_is_object(value) ? check_properties(schema, value, at) : true;
}

bool schema_accepts(const json_t *schema, const json_t *value, char *why, size_t size)
{
	struct argument_place at = {.why = why, .size = size};
	return check(schema, value, &at);
}
