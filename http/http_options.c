/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "http_options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int http_fail(struct airlock_error *err, int code, const char *subject, const char *format, ...)
{
	va_list args;
	*err = (struct airlock_error){.code = code};
	(void)snprintf(err->subject, sizeof err->subject, "%s", subject);
	va_start(args, format);
	(void)vsnprintf(err->message, sizeof err->message, format, args);
	va_end(args);
	return code;
}

/* The value if the word is --name=value. */
static const char *value_of(const char *word, const char *name)
{
	size_t len = strlen(name);
	bool is_it = strncmp(word, "--", 2) == 0 && strncmp(word + 2, name, len) == 0 && word[2 + len] == '=';
	return is_it ? word + 2 + len + 1 : NULL;
}

const char *http_option(char *const *words, const char *name)
{
	const char *found = NULL;
	for (; *words; words++)
		if (value_of(*words, name))
			found = value_of(*words, name);
	return found;
}

bool http_option_is_set(char *const *words, const char *name)
{
	const char *value = http_option(words, name);
	return value && airlock_text_bool(value) == 1;
}

int http_option_number(char *const *words, const char *name, int64_t max, int64_t fallback, int64_t *ret,
		       struct airlock_error *err)
{
	const char *text = http_option(words, name);
	char *end = NULL;
	errno = 0;
	long long n = text ? strtoll(text, &end, 10) : fallback;
	if (text && (errno || end == text || *end || n < 0 || n > max))
		return http_fail(err, AIRLOCK_ERR_USAGE, name, "--%s takes a number up to %lld, not '%s'", name,
				 (long long)max, text);
	*ret = n;
	return 0;
}

/* A number with one of these letters behind it. */
static int parse_unit(const char *text, const char *letters, const int64_t *factors, int64_t *ret)
{
	char *end = NULL;
	errno = 0;
	long long n = strtoll(text, &end, 10);
	const char *letter = *end ? strchr(letters, *end) : NULL;
	if (errno || end == text || n < 0 || (*end && (!letter || end[1])))
		return AIRLOCK_ERR_INVALID;
	int64_t factor = letter ? factors[letter - letters] : 1;
	if (n > INT64_MAX / factor)
		return AIRLOCK_ERR_INVALID;
	*ret = n * factor;
	return 0;
}

int http_parse_seconds(const char *text, int64_t *ret)
{
	static const int64_t factors[] = {1, 60, 3600, 86400};
	if (strcmp(text, "none") == 0) {
		*ret = -1;
		return 0;
	}
	return parse_unit(text, "smhd", factors, ret);
}

int http_parse_size(const char *text, int64_t *ret)
{
	static const int64_t factors[] = {1, 1 << 10, 1 << 20, 1 << 30, (int64_t)1 << 40};
	return parse_unit(text, "BKMGT", factors, ret);
}

int http_option_seconds(char *const *words, const char *name, int64_t fallback, int64_t *ret, struct airlock_error *err)
{
	const char *text = http_option(words, name);
	*ret = fallback;
	if (text && http_parse_seconds(text, ret) < 0)
		return http_fail(err, AIRLOCK_ERR_USAGE, name,
				 "--%s takes a duration such as 30s, 5m or none, not '%s'", name, text);
	return 0;
}

int http_option_settings(char *const *words, struct airlock_settings *s, struct airlock_error *err)
{
	int rc = 0;
	for (; *words && rc >= 0; words++)
		for (const struct airlock_option *o = airlock_options(); o->name && rc >= 0; o++) {
			char origin[64];
			const char *value = value_of(*words, o->name);
			(void)snprintf(origin, sizeof origin, "--%s", o->name);
			if (value)
				rc = airlock_settings_set(s, o->name, value, origin, err);
		}
	return rc;
}
