/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The end of the word is known before it is read, because no number can be followed directly by a letter, digit or
 * dot. Digits go to the scratch buffer without underscores and are converted from there. */
#include "config/toml_internal.h"

#include "base/text.h"

#include <locale.h>
#include <math.h>
#include <string.h>

int toml_peek_word(const struct toml_word *w)
{
	return w->at < w->len ? (unsigned char)w->s[w->at] : -1;
}

/* The cursor stays at the first byte of a word until all of it is read; a word has no newline. */
struct toml_place toml_word_place(const struct toml_parser *ps, const struct toml_word *w)
{
	struct toml_place at = toml_here(ps);
	at.column += (int)w->at;
	return at;
}

#define SHOWN(w) (int)AL_MIN((w)->len, (size_t)40), (w)->s, (w)->len > 40 ? "..." : ""

/* The word is wrong where w->at points. */
static int refuse(struct toml_parser *ps, const struct toml_word *w, const char *expected)
{
	struct toml_place at = toml_word_place(ps, w);
	if (w->at == w->len)
		return toml_fail(ps, at, "'%.*s%s' is not a valid number: expected %s, found its end", SHOWN(w),
				 expected);
	return toml_fail(ps, at, "'%.*s%s' is not a valid number: expected %s, found '%c'", SHOWN(w), expected,
			 w->s[w->at]);
}

static int refuse_range(struct toml_parser *ps, const struct toml_word *w)
{
	return toml_fail(ps, toml_here(ps), "integer '%.*s%s' does not fit in 64 bits", SHOWN(w));
}

static bool is_digit(int c, int base)
{
	int digit = text_hex_digit(c);
	return digit >= 0 && digit < base;
}

/* Copies digits to the scratch buffer without underscores, which are allowed only between two digits. */
static int read_digits(struct toml_parser *ps, struct toml_word *w, int base)
{
	do {
		if (!is_digit(toml_peek_word(w), base))
			return refuse(ps, w, "a digit");
		for (; w->at < w->len && is_digit(toml_peek_word(w), base); w->at++)
			buf_addc(&ps->scratch, w->s[w->at]);
	} while (toml_peek_word(w) == '_' && w->at++ < w->len);
	return 0;
}

static int check_end(struct toml_parser *ps, const struct toml_word *w)
{
	if (w->at < w->len)
		return refuse(ps, w, "its end");
	return ps->scratch.failed ? base_oom(ps->err) : 0;
}

/* Converts the digits in the scratch buffer. The smallest integer has no positive counterpart, hence the unsigned sum.
 */
static int convert_integer(struct toml_parser *ps, const struct toml_word *w, int base, struct toml_value *v)
{
	const char *s = buf_str(&ps->scratch);
	bool negative = *s == '-';
	uint64_t sum = 0;
	for (s += *s == '-' || *s == '+'; *s; s++)
		if (__builtin_mul_overflow(sum, (uint64_t)base, &sum) ||
		    __builtin_add_overflow(sum, (uint64_t)text_hex_digit((unsigned char)*s), &sum))
			return refuse_range(ps, w);
	if (sum > (uint64_t)INT64_MAX + negative)
		return refuse_range(ps, w);
	v->type = TOML_INTEGER;
	v->u.integer = negative ? (int64_t)(0 - sum) : (int64_t)sum;
	return 0;
}

/* The process may run in a locale with a decimal comma; the file never does. */
static int convert_float(struct toml_parser *ps, struct toml_value *v)
{
	locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	if (!c)
		return base_oom(ps->err);
	v->type = TOML_FLOAT;
	v->u.real = strtod_l(buf_str(&ps->scratch), NULL, c);
	freelocale(c);
	return 0;
}

static int read_based(struct toml_parser *ps, struct toml_word *w, int base, struct toml_value *v)
{
	w->at += 2;
	int rc = read_digits(ps, w, base);
	if (rc < 0 || (rc = check_end(ps, w)) < 0)
		return rc;
	return convert_integer(ps, w, base, v);
}

static bool take_sign(struct toml_parser *ps, struct toml_word *w)
{
	int c = toml_peek_word(w);
	if (c != '+' && c != '-')
		return false;
	buf_addc(&ps->scratch, (char)c);
	w->at++;
	return true;
}

static int read_fraction(struct toml_parser *ps, struct toml_word *w)
{
	buf_addc(&ps->scratch, '.');
	w->at++;
	return read_digits(ps, w, 10);
}

static int read_exponent(struct toml_parser *ps, struct toml_word *w)
{
	buf_addc(&ps->scratch, 'e');
	w->at++;
	(void)take_sign(ps, w);
	return read_digits(ps, w, 10);
}

static int read_decimal(struct toml_parser *ps, struct toml_word *w, struct toml_value *v)
{
	size_t first = w->at;
	int rc = read_digits(ps, w, 10);
	if (rc == 0 && w->s[first] == '0' && w->at > first + 1)
		return toml_fail(ps, toml_here(ps), "'%.*s%s' is not a valid number: it has a leading zero", SHOWN(w));
	bool fraction = toml_peek_word(w) == '.';
	if (rc == 0 && fraction)
		rc = read_fraction(ps, w);
	bool exponent = toml_peek_word(w) == 'e' || toml_peek_word(w) == 'E';
	if (rc == 0 && exponent)
		rc = read_exponent(ps, w);
	if (rc < 0 || (rc = check_end(ps, w)) < 0)
		return rc;
	return fraction || exponent ? convert_float(ps, v) : convert_integer(ps, w, 10, v);
}

static bool rest_is(const struct toml_word *w, const char *s)
{
	return w->len - w->at == strlen(s) && memcmp(w->s + w->at, s, strlen(s)) == 0;
}

static bool read_special(struct toml_parser *ps, const struct toml_word *w, struct toml_value *v)
{
	bool nan = rest_is(w, "nan");
	if (!nan && !rest_is(w, "inf"))
		return false;
	v->type = TOML_FLOAT;
	v->u.real = copysign(nan ? (double)NAN : (double)INFINITY, w->s[0] == '-' ? -1.0 : 1.0);
	return true;
}

static int base_of(const struct toml_word *w)
{
	if (w->len < 2 || w->s[0] != '0')
		return 10;
	return w->s[1] == 'x' ? 16 : w->s[1] == 'o' ? 8 : w->s[1] == 'b' ? 2 : 10;
}

int toml_read_number(struct toml_parser *ps, struct toml_word *w, struct toml_value *v)
{
	buf_reset(&ps->scratch);
	if (base_of(w) != 10)
		return read_based(ps, w, base_of(w), v);
	(void)take_sign(ps, w);
	if (read_special(ps, w, v))
		return 0;
	return read_decimal(ps, w, v);
}
