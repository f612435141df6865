/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks dates and times without converting them: 1979-05-27, 07:32:00.5, 1979-05-27T07:32:00, and with Z or +hh:mm.
 *
 * RFC 3339 also allows the year 0000 and the second 60. We accept neither, as python's tomllib, so that a file means
 * the same to both. */
#include "config/toml_internal.h"

#define SHOWN(w) (int)AL_MIN((w)->len, (size_t)40), (w)->s

/* A number of fixed width and its range. */
struct field {
	const char *name, *digits;
	int width, min, max;
};

/* The word is wrong where w->at points. */
static int refuse(struct toml_parser *ps, const struct toml_word *w, const char *expected)
{
	struct toml_place at = toml_word_place(ps, w);
	if (w->at == w->len)
		return toml_fail(ps, at, "'%.*s' is not a valid date or time: expected %s, found its end", SHOWN(w),
				 expected);
	return toml_fail(ps, at, "'%.*s' is not a valid date or time: expected %s, found '%c'", SHOWN(w), expected,
			 w->s[w->at]);
}

static bool is_digit(int c)
{
	return c >= '0' && c <= '9';
}

static int read_field(struct toml_parser *ps, struct toml_word *w, const struct field *f, int *ret)
{
	struct toml_place at = toml_word_place(ps, w);
	int n = 0;
	for (int i = 0; i < f->width; i++, w->at++) {
		if (!is_digit(toml_peek_word(w)))
			return refuse(ps, w, f->digits);
		n = n * 10 + (toml_peek_word(w) - '0');
	}
	if (n < f->min || n > f->max)
		return toml_fail(ps, at, "'%.*s' is not a valid date or time: the %s must be %0*d to %0*d", SHOWN(w),
				 f->name, f->width, f->min, f->width, f->max);
	*ret = n;
	return 0;
}

static int read_separator(struct toml_parser *ps, struct toml_word *w, char c)
{
	if (toml_peek_word(w) != c)
		return refuse(ps, w, c == '-' ? "'-'" : "':'");
	w->at++;
	return 0;
}

static int days_in(int year, int month)
{
	static const int days[] = {0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
	return days[month] + (month == 2 && leap);
}

static int check_date(struct toml_parser *ps, struct toml_word *w)
{
	static const struct field year = {"year", "four digits for the year", 4, 1, 9999},
				  month = {"month", "two digits for the month", 2, 1, 12};
	int y = 0, m = 0, d = 0, rc;
	if ((rc = read_field(ps, w, &year, &y)) < 0 || (rc = read_separator(ps, w, '-')) < 0 ||
	    (rc = read_field(ps, w, &month, &m)) < 0 || (rc = read_separator(ps, w, '-')) < 0)
		return rc;
	struct field day = {"day", "two digits for the day", 2, 1, days_in(y, m)};
	return read_field(ps, w, &day, &d);
}

static const struct field hour = {"hour", "two digits for the hour", 2, 0, 23},
			  minute = {"minute", "two digits for the minute", 2, 0, 59},
			  second = {"second", "two digits for the second", 2, 0, 59};

static int check_minutes(struct toml_parser *ps, struct toml_word *w)
{
	int ignored, rc;
	if ((rc = read_field(ps, w, &hour, &ignored)) < 0 || (rc = read_separator(ps, w, ':')) < 0)
		return rc;
	return read_field(ps, w, &minute, &ignored);
}

static int check_time(struct toml_parser *ps, struct toml_word *w)
{
	int ignored, rc;
	if ((rc = check_minutes(ps, w)) < 0 || (rc = read_separator(ps, w, ':')) < 0 ||
	    (rc = read_field(ps, w, &second, &ignored)) < 0)
		return rc;
	if (toml_peek_word(w) != '.')
		return 0;
	w->at++;
	if (!is_digit(toml_peek_word(w)))
		return refuse(ps, w, "a digit after '.'");
	while (is_digit(toml_peek_word(w)))
		w->at++;
	return 0;
}

static int check_offset(struct toml_parser *ps, struct toml_word *w)
{
	int c = toml_peek_word(w);
	if (c != 'Z' && c != 'z' && c != '+' && c != '-')
		return 0;
	w->at++;
	return c == '+' || c == '-' ? check_minutes(ps, w) : 0;
}

/* Four digits and '-', or two and ':'. No other value begins like this. */
bool toml_is_datetime(const struct toml_word *w)
{
	size_t n = 0;
	while (n < w->len && is_digit((unsigned char)w->s[n]))
		n++;
	return n < w->len && ((n == 4 && w->s[n] == '-') || (n == 2 && w->s[n] == ':'));
}

int toml_check_datetime(struct toml_parser *ps, struct toml_word *w)
{
	int rc;
	if (w->s[2] == ':') {
		rc = check_time(ps, w);
	} else {
		rc = check_date(ps, w);
		int c = toml_peek_word(w);
		if (rc == 0 && (c == 'T' || c == 't' || c == ' ')) {
			w->at++;
			if ((rc = check_time(ps, w)) == 0)
				rc = check_offset(ps, w);
		}
	}
	if (rc == 0 && w->at < w->len)
		return refuse(ps, w, "its end");
	return rc;
}
