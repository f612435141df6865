/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/line_fields.h"

#include <stdio.h>
#include <string.h>

static bool is_plain(const char *s, size_t i)
{
	unsigned char c = (unsigned char)s[i];
	/* A lone "-" stands for NULL. */
	return c > 0x20 && c < 0x7f && c != '%' && !(c == '-' && i == 0 && s[1] == '\0');
}

static const char hex_digits[] = "0123456789ABCDEF";

static void add_escaped(struct buf *b, unsigned char c)
{
	const char text[] = {'%', hex_digits[c >> 4], hex_digits[c & 0xf]};
	buf_add(b, text, sizeof text);
}

void fields_add_string(struct buf *b, const char *s)
{
	buf_addc(b, ' ');
	if (!s)
		buf_addc(b, '-');
	for (size_t i = 0; s && s[i];) {
		size_t plain = 0;
		while (s[i + plain] && is_plain(s, i + plain))
			plain++;
		if (plain > 0)
			buf_add(b, s + i, plain);
		else
			add_escaped(b, (unsigned char)s[i]);
		i += plain ? plain : 1;
	}
}

void fields_add_number(struct buf *b, uint64_t n)
{
	buf_addc(b, ' ');
	buf_add_unsigned(b, n, 10);
}

void fields_add_signed(struct buf *b, int64_t n)
{
	buf_addc(b, ' ');
	buf_add_signed(b, n);
}

struct fields fields_of(const char *line, size_t len)
{
	return (struct fields){.at = line, .end = line + len};
}

static int expected(struct fields *f, const char *what)
{
	f->wanted = what;
	return -EINVAL;
}

/* A field may be the empty string. At the end of the line there are no more fields, and at is NULL. */
int fields_take_word(struct fields *f, const char **ret, size_t *ret_len)
{
	if (!f->at)
		return expected(f, "another field");
	const char *space = memchr(f->at, ' ', (size_t)(f->end - f->at));
	const char *stop = space ? space : f->end;
	*ret = f->at;
	*ret_len = (size_t)(stop - f->at);
	f->at = space ? space + 1 : NULL;
	return 0;
}

int fields_end(struct fields *f)
{
	return f->at ? expected(f, "the end of the line") : 0;
}

static bool same(const char *word, size_t len, const char *name)
{
	return strlen(name) == len && memcmp(word, name, len) == 0;
}

int fields_take_literal(struct fields *f, const char *word)
{
	const char *w;
	size_t len;
	if (fields_take_word(f, &w, &len) < 0 || !same(w, len, word))
		return expected(f, word);
	return 0;
}

int fields_take_name(struct fields *f, const char *const *names, const char *wanted, unsigned *ret)
{
	const char *w;
	size_t len;
	if (fields_take_word(f, &w, &len) < 0)
		return expected(f, wanted);
	for (unsigned i = 0; names[i]; i++) {
		if (same(w, len, names[i])) {
			*ret = i;
			return 0;
		}
	}
	return expected(f, wanted);
}

/* Accepts digits without a leading zero only: strtoull would accept signs, spaces and more. */
static int digits(const char *s, size_t len, unsigned base, uint64_t *ret)
{
	uint64_t v = 0;
	if (len == 0 || (len > 1 && s[0] == '0'))
		return -EINVAL;
	for (size_t i = 0; i < len; i++) {
		unsigned digit = (unsigned)(unsigned char)s[i] - '0';
		if (digit >= base || __builtin_mul_overflow(v, (uint64_t)base, &v) ||
		    __builtin_add_overflow(v, (uint64_t)digit, &v))
			return -EINVAL;
	}
	*ret = v;
	return 0;
}

int fields_take_number(struct fields *f, uint64_t *ret)
{
	const char *w;
	size_t len;
	if (fields_take_word(f, &w, &len) < 0 || digits(w, len, 10, ret) < 0)
		return expected(f, "a number");
	return 0;
}

int fields_take_signed(struct fields *f, int64_t *ret)
{
	const char *w;
	size_t len;
	uint64_t v = 0;
	if (fields_take_word(f, &w, &len) < 0)
		return expected(f, "a number");
	bool negative = len > 1 && w[0] == '-';
	if (digits(w + negative, len - negative, 10, &v) < 0 || v > (uint64_t)INT64_MAX + negative ||
	    (negative && v == 0))
		return expected(f, "a number");
	*ret = negative ? (int64_t)(0 - v) : (int64_t)v;
	return 0;
}

int fields_take_mode(struct fields *f, uint32_t *ret)
{
	const char *w;
	size_t len;
	uint64_t v = 0;
	if (fields_take_word(f, &w, &len) < 0 || digits(w, len, 8, &v) < 0 || v > 07777)
		return expected(f, "a mode");
	*ret = (uint32_t)v;
	return 0;
}

static int hex(char c)
{
	const char *p = c ? strchr(hex_digits, c) : NULL;
	return p ? (int)(p - hex_digits) : -1;
}

/* Decodes the byte at w[*i] and advances *i; returns -1 if it is not in canonical form. */
static int one_byte(const char *w, size_t len, size_t *i)
{
	unsigned char c = (unsigned char)w[*i];
	if (c != '%')
		return c > 0x20 && c < 0x7f ? ((*i)++, c) : -1;
	int high = *i + 2 < len ? hex(w[*i + 1]) : -1, low = *i + 2 < len ? hex(w[*i + 2]) : -1;
	*i += 3;
	return high < 0 || low < 0 ? -1 : high << 4 | low;
}

static int unescape(const char *w, size_t len, char **ret)
{
	_cleanup_free_ char *s = malloc(len + 1);
	size_t n = 0;
	if (!s)
		return -ENOMEM;
	for (size_t i = 0; i < len;) {
		int c = one_byte(w, len, &i);
		if (c <= 0) /* A NUL would truncate a path. */
			return -EINVAL;
		s[n++] = (char)c;
	}
	s[n] = '\0';
	*ret = TAKE_PTR(s);
	return 0;
}

int fields_take_string(struct fields *f, char **ret)
{
	const char *w;
	size_t len;
	int rc = fields_take_word(f, &w, &len);
	if (rc == 0 && len == 1 && w[0] == '-') {
		*ret = NULL;
		return 0;
	}
	rc = rc < 0 ? rc : unescape(w, len, ret);
	return rc == -EINVAL ? expected(f, "a string") : rc;
}
