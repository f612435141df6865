/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A value of a JSON file, for tests: jq and python take thirty milliseconds to start, and tests ask thousands of times.
 *
 *   json_get FILE get KEY...         that value; positions in lists are numbers. Strings come bare, the rest as JSON
 *   json_get FILE change PATH KEY    of the change of a path, in a result or in `airlock changes --json`; "none": no change
 *   json_get FILE changes KEY KEY    of every change these two values, one change a line
 *
 * A file that is no JSON, or a value that is not there, ends it with 1. */
#include <jansson.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const char *what, const char *subject)
{
	(void)fprintf(stderr, "json_get: %s %s\n", what, subject);
	return 1;
}

static void print(const json_t *value)
{
	if (json_is_string(value))
		(void)fwrite(json_string_value(value), 1, json_string_length(value), stdout);
	else
		(void)json_dumpf(value, stdout, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
}

static const json_t *member(const json_t *value, const char *key)
{
	char *end = NULL;
	if (!json_is_array(value))
		return json_object_get(value, key);
	unsigned long at = strtoul(key, &end, 10);
	return *key && !*end ? json_array_get(value, at) : NULL;
}

static int get(const json_t *value, char **keys)
{
	for (; *keys; keys++)
		if (!(value = member(value, *keys)))
			return fail("no", *keys);
	print(value);
	(void)putchar('\n');
	return 0;
}

/* ── changes ── */

static const json_t *changes_of(const json_t *result)
{
	const json_t *files = json_object_get(result, "files");
	return files ? files : json_object_get(json_object_get(result, "changes"), "files");
}

static int digit(char c)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *found = c ? strchr(digits, c) : NULL;
	return found ? (int)(found - digits) : -1;
}

/* Is this the path of these bytes in base64? */
static int is_decoded(const char *base64, const char *path)
{
	unsigned bits = 0, n = 0;
	for (; digit(*base64) >= 0; base64++) {
		bits = bits << 6 | (unsigned)digit(*base64);
		n += 6;
		if (n >= 8 && (unsigned char)*path++ != (bits >> (n -= 8) & 0xff))
			return 0;
	}
	return *path == '\0';
}

static int is_of(const json_t *change, const char *path)
{
	const char *exact = json_string_value(json_object_get(change, "path_base64"));
	const char *text = json_string_value(json_object_get(change, "path"));
	return exact ? is_decoded(exact, path) : text && strcmp(text, path) == 0;
}

static int change(const json_t *changes, const char *path, const char *key)
{
	size_t i;
	const json_t *each, *value = NULL;
	json_array_foreach(changes, i, each)
	{
		if (!is_of(each, path))
			continue;
		if (!(value = json_object_get(each, key)))
			return fail("no", key);
		print(value);
		(void)putchar('\n');
		return 0;
	}
	(void)puts("none");
	return 0;
}

static int all(const json_t *changes, const char *first, const char *second)
{
	size_t i;
	const json_t *each;
	json_array_foreach(changes, i, each)
	{
		print(json_object_get(each, first));
		(void)putchar(' ');
		print(json_object_get(each, second));
		(void)putchar('\n');
	}
	return 0;
}

static int answer(const json_t *value, int argc, char **argv)
{
	if (strcmp(argv[2], "get") == 0)
		return get(value, argv + 3);
	const json_t *changes = changes_of(value);
	if (!changes)
		return fail("no", "changes");
	if (strcmp(argv[2], "change") == 0 && argc == 5)
		return change(changes, argv[3], argv[4]);
	if (strcmp(argv[2], "changes") == 0 && argc == 5)
		return all(changes, argv[3], argv[4]);
	return fail("cannot", argv[2]);
}

int main(int argc, char **argv)
{
	json_error_t error;
	if (argc < 3)
		return fail("usage:", "json_get FILE get|change|changes WORD...");
	json_t *value = json_load_file(argv[1], JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
	if (!value)
		return fail("no JSON:", error.text);
	int status = answer(value, argc, argv);
	json_decref(value);
	return fflush(stdout) == 0 ? status : 1;
}
