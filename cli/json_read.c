/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "json_read.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ── reading ── */

static const char *skip_space(const char *p)
{
	while (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r')
		p++;
	return p;
}

/* p is at the opening quote. */
static const char *skip_string(const char *p)
{
	for (p++; *p && *p != '"'; p++)
		if (*p == '\\' && p[1])
			p++;
	return *p ? p + 1 : p;
}

static const char *skip_brackets(const char *p)
{
	size_t depth = 0;
	while (*p) {
		if (*p == '"') {
			p = skip_string(p);
			continue;
		}
		depth += *p == '{' || *p == '[';
		depth -= *p == '}' || *p == ']';
		p++;
		if (depth == 0)
			break;
	}
	return p;
}

/* The position right after the value. */
static const char *skip_value(const char *p)
{
	if (*p == '"')
		return skip_string(p);
	return *p == '{' || *p == '[' ? skip_brackets(p) : p + strcspn(p, ",]} \t\r\n");
}

static bool key_is(const char *quoted, const char *key)
{
	size_t len = strlen(key);
	return strncmp(quoted + 1, key, len) == 0 && quoted[1 + len] == '"';
}

void json_read_members(const char *object, const char *const *keys, size_t n, const char **ret)
{
	const char *p = object ? skip_space(object) : "";
	size_t found = 0;
	for (size_t i = 0; i < n; i++)
		ret[i] = NULL;
	if (*p != '{')
		return;
	for (p = skip_space(p + 1); *p == '"'; p = skip_space(p + 1)) {
		const char *name = p;
		p = skip_space(skip_string(p));
		if (*p != ':')
			return;
		p = skip_space(p + 1);
		size_t i = 0;
		while (i < n && (ret[i] || !key_is(name, keys[i])))
			i++;
		if (i < n) {
			ret[i] = p;
			if (++found == n)
				return;
		}
		p = skip_space(skip_value(p));
		if (*p != ',')
			return;
	}
}

const char *json_read_member(const char *object, const char *key)
{
	const char *value;
	json_read_members(object, &key, 1, &value);
	return value;
}

const char *json_read_first(const char *array)
{
	const char *p = array ? skip_space(array) : "";
	if (*p != '[')
		return NULL;
	p = skip_space(p + 1);
	return *p && *p != ']' ? p : NULL;
}

const char *json_read_next(const char *element)
{
	const char *p = skip_space(skip_value(element));
	return *p == ',' ? skip_space(p + 1) : NULL;
}

static char *put_utf8(char *out, uint32_t c)
{
	if (c < 0x80) {
		*out++ = (char)c;
	} else if (c < 0x800) {
		*out++ = (char)(0xc0 | c >> 6);
		*out++ = (char)(0x80 | (c & 0x3f));
	} else {
		if (c < 0x10000) {
			*out++ = (char)(0xe0 | c >> 12);
		} else {
			*out++ = (char)(0xf0 | c >> 18);
			*out++ = (char)(0x80 | (c >> 12 & 0x3f));
		}
		*out++ = (char)(0x80 | (c >> 6 & 0x3f));
		*out++ = (char)(0x80 | (c & 0x3f));
	}
	return out;
}

/* Four hexadecimal digits, and the second half of a pair if there is one. Moves *p from the 'u' past them. */
static uint32_t read_code_point(const char **p)
{
	char digits[5] = {0};
	(void)strncpy(digits, *p + 1, 4);
	*p += 1 + strlen(digits);
	uint32_t c = (uint32_t)strtoul(digits, NULL, 16);
	if (c < 0xd800 || c >= 0xdc00 || (*p)[0] != '\\' || (*p)[1] != 'u')
		return c;
	*p += 1;
	return 0x10000 + ((c - 0xd800) << 10) + (read_code_point(p) & 0x3ff);
}

/* One escape; moves *p from the character after the backslash past the escape. */
static char *put_escape(char *out, const char **p)
{
	static const char letters[] = "bfnrt", meant[] = "\b\f\n\r\t";
	if (**p == 'u')
		return put_utf8(out, read_code_point(p));
	const char *letter = strchr(letters, **p);
	*out++ = letter ? meant[letter - letters] : **p;
	*p += 1;
	return out;
}

char *json_read_string(const char *value)
{
	if (!value || *value != '"')
		return NULL;
	const char *p = value + 1, *end = skip_string(value);
	char *text = malloc((size_t)(end - value) + 1), *out = text; /* decoding never makes it longer */
	while (text && p < end && *p && *p != '"') {
		if (*p == '\\' && p[1]) {
			p++;
			out = put_escape(out, &p);
		} else {
			*out++ = *p++;
		}
	}
	if (text)
		*out = '\0';
	return text;
}

bool json_read_is(const char *value, const char *word)
{
	return value && *value == '"' && key_is(value, word);
}

char *json_read_base64(const char *value)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char *text = json_read_string(value), *out = text;
	uint32_t bits = 0;
	unsigned n = 0;
	for (const char *p = text; p && *p && strchr(digits, *p); p++) {
		bits = bits << 6 | (uint32_t)(strchr(digits, *p) - digits);
		n += 6;
		if (n >= 8) {
			n -= 8;
			*out++ = (char)(bits >> n & 0xff);
		}
	}
	if (text)
		*out = '\0';
	return text;
}

/* ── writing ── */

/* The number of bytes of the UTF-8 character at s; 0 if there is none. Overlong forms and surrogates do not count. */
static size_t utf8_length(const unsigned char *s)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t n = s[0] < 0x80 ? 1 : s[0] >> 5 == 6 ? 2 : s[0] >> 4 == 14 ? 3 : s[0] >> 3 == 30 ? 4 : 0;
	uint32_t c = n == 1 ? s[0] : s[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if (s[i] >> 6 != 2)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	return n && c >= least[n] && c <= 0x10ffff && (c < 0xd800 || c > 0xdfff) ? n : 0;
}

void json_print_string(FILE *out, const char *s)
{
	(void)fputc('"', out);
	while (*s) {
		size_t n = utf8_length((const unsigned char *)s);
		if (n == 0)
			(void)fputs("\xef\xbf\xbd", out);
		else if (*s == '"' || *s == '\\')
			(void)fprintf(out, "\\%c", *s);
		else if ((unsigned char)*s < 0x20 || *s == 0x7f)
			(void)fprintf(out, "\\u%04x", (unsigned)*s);
		else
			(void)fwrite(s, 1, n, out);
		s += n ? n : 1;
	}
	(void)fputc('"', out);
}
