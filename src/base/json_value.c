/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/json_value.h"

#include "base/text.h"

#include <string.h>

#define MAX_DEPTH 200

struct cursor {
	const char *at, *end;
	int depth;
};

static void skip_blanks(struct cursor *c)
{
	while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\n' || *c->at == '\r'))
		c->at++;
}

static bool take(struct cursor *c, char wanted)
{
	skip_blanks(c);
	if (c->at == c->end || *c->at != wanted)
		return false;
	c->at++;
	return true;
}

static bool take_word(struct cursor *c, const char *word)
{
	size_t n = strlen(word);
	if ((size_t)(c->end - c->at) < n || memcmp(c->at, word, n) != 0)
		return false;
	c->at += n;
	return true;
}

static bool skip_escape(struct cursor *c)
{
	char kind = c->at < c->end ? *c->at++ : '\0';
	if (kind != 'u')
		return kind && strchr("\"\\/bfnrt", kind);
	for (int i = 0; i < 4; i++)
		if (c->at == c->end || text_hex_digit(*c->at++) < 0)
			return false;
	return true;
}

static bool skip_string(struct cursor *c)
{
	if (!take(c, '"'))
		return false;
	while (c->at < c->end) {
		char now = *c->at++;
		if (now == '"')
			return true;
		if ((unsigned char)now < 0x20 || (now == '\\' && !skip_escape(c)))
			return false;
	}
	return false;
}

static bool skip_digits(struct cursor *c)
{
	const char *start = c->at;
	while (c->at < c->end && *c->at >= '0' && *c->at <= '9')
		c->at++;
	return c->at > start;
}

static bool skip_number(struct cursor *c)
{
	c->at += c->at < c->end && *c->at == '-';
	if (c->at < c->end && *c->at == '0')
		c->at++; /* and no digit after it */
	else if (!skip_digits(c))
		return false;
	if (c->at < c->end && *c->at == '.') {
		c->at++;
		if (!skip_digits(c))
			return false;
	}
	if (c->at == c->end || (*c->at != 'e' && *c->at != 'E'))
		return true;
	c->at++;
	c->at += c->at < c->end && (*c->at == '+' || *c->at == '-');
	return skip_digits(c);
}

static bool skip_value(struct cursor *c);

static bool skip_list(struct cursor *c, char close)
{
	c->at++;
	if (take(c, close))
		return true;
	do {
		if (close == '}' && (!skip_string(c) || !take(c, ':')))
			return false;
		if (!skip_value(c))
			return false;
	} while (take(c, ','));
	return take(c, close);
}

static bool skip_value(struct cursor *c)
{
	skip_blanks(c);
	if (c->at == c->end || ++c->depth > MAX_DEPTH)
		return false;
	bool ok = *c->at == '{'	  ? skip_list(c, '}')
		  : *c->at == '[' ? skip_list(c, ']')
		  : *c->at == '"'
			  ? skip_string(c)
			  : take_word(c, "true") || take_word(c, "false") || take_word(c, "null") || skip_number(c);
	c->depth--;
	return ok;
}

static bool read_value(struct cursor *c, struct json_value *ret)
{
	skip_blanks(c);
	ret->at = c->at;
	bool ok = skip_value(c);
	ret->len = (size_t)(c->at - ret->at);
	return ok;
}

bool json_value_parse(const char *text, size_t len, struct json_value *ret)
{
	struct cursor c = {.at = text, .end = text + len};
	if (!read_value(&c, ret))
		return false;
	skip_blanks(&c);
	return c.at == c.end;
}

char json_value_kind(struct json_value v)
{
	return !v.at ? '\0' : *v.at == '-' || (*v.at >= '0' && *v.at <= '9') ? '0' : *v.at;
}

bool json_value_next(struct json_value list, struct json_item *i)
{
	char kind = json_value_kind(list);
	if (kind != '{' && kind != '[')
		return false;
	struct cursor c = {.at = i->value.at ? i->value.at + i->value.len : list.at + 1, .end = list.at + list.len - 1};
	if (i->value.at)
		(void)take(&c, ',');
	skip_blanks(&c);
	if (c.at == c.end)
		return false;
	if (kind == '{') {
		(void)read_value(&c, &i->name);
		(void)take(&c, ':');
	}
	return read_value(&c, &i->value);
}

struct json_value json_value_member(struct json_value object, const char *name)
{
	for (struct json_item i = {0}; json_value_kind(object) == '{' && json_value_next(object, &i);) {
		_cleanup_free_ char *own = json_value_string(i.name);
		if (own && strcmp(own, name) == 0)
			return i.value;
	}
	return JSON_NO_VALUE;
}

/* The four digits at s. */
static uint32_t hex_unit(const char *s)
{
	uint32_t unit = 0;
	for (int i = 0; i < 4; i++)
		unit = unit * 16 + (uint32_t)text_hex_digit(s[i]);
	return unit;
}

/* s is after "\u"; returns where the text goes on. */
static const char *decode_unicode(const char *s, struct buf *out)
{
	uint32_t c = hex_unit(s);
	s += 4;
	bool low_follows = s[0] == '\\' && s[1] == 'u' && hex_unit(s + 2) >> 10 == 0xdc00 >> 10;
	if (c >> 10 == 0xd800 >> 10 && low_follows) {
		c = 0x10000 + ((c & 0x3ff) << 10 | (hex_unit(s + 2) & 0x3ff));
		s += 6;
	}
	text_add_character(out, c == 0 || c >> 11 == 0xd800 >> 11 ? 0xfffd : c);
	return s;
}

char *json_value_string(struct json_value v)
{
	static const char names[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
	struct buf out = BUF_INIT;
	if (json_value_kind(v) != '"')
		return NULL;
	for (const char *s = v.at + 1, *end = v.at + v.len - 1; s < end;) {
		if (*s != '\\') {
			buf_addc(&out, *s++);
		} else if (s[1] == 'u') {
			s = decode_unicode(s + 2, &out);
		} else {
			buf_addc(&out, meanings[strchr(names, s[1]) - names]);
			s += 2;
		}
	}
	return buf_take(&out);
}

int64_t json_value_int(struct json_value v, int64_t fallback)
{
	if (json_value_kind(v) != '0')
		return fallback;
	bool negative = *v.at == '-';
	int64_t n = 0;
	for (const char *s = v.at + negative, *end = v.at + v.len; s < end && *s >= '0' && *s <= '9'; s++)
		if (__builtin_mul_overflow(n, 10, &n) || __builtin_sub_overflow(n, *s - '0', &n))
			return fallback;
	return negative ? n : __builtin_sub_overflow(0, n, &n) ? fallback : n;
}
