/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <strings.h>

struct unit {
	const char *name;
	int64_t factor;
};

/* Parses a decimal number with an optional fraction, followed by a unit of the table; "none" is TEXT_NONE. */
static int parse_with_unit(const char *s, const struct unit *units, size_t n, int64_t *ret)
{
	if (strcmp(s, "none") == 0) {
		*ret = TEXT_NONE;
		return 0;
	}
	if (*s < '0' || *s > '9')
		return -EINVAL;
	int64_t whole = 0, fraction = 0, scale = 1;
	for (; *s >= '0' && *s <= '9'; s++)
		if (__builtin_mul_overflow(whole, 10, &whole) || __builtin_add_overflow(whole, *s - '0', &whole))
			return -ERANGE;
	if (*s == '.') {
		if (s[1] < '0' || s[1] > '9')
			return -EINVAL;
		for (s++; *s >= '0' && *s <= '9'; s++)
			if (scale < 1000000) {
				fraction = fraction * 10 + (*s - '0');
				scale *= 10;
			}
	}
	for (size_t i = 0; i < n; i++) {
		if (strcasecmp(s, units[i].name) != 0)
			continue;
		int64_t value, part;
		if (__builtin_mul_overflow(whole, units[i].factor, &value) ||
		    __builtin_mul_overflow(fraction, units[i].factor, &part) ||
		    __builtin_add_overflow(value, part / scale, &value) || value == TEXT_NONE)
			return -ERANGE;
		*ret = value;
		return 0;
	}
	return -EINVAL;
}

int text_parse_duration_ms(const char *s, int64_t *ret_ms)
{
	static const struct unit units[] = {{"ms", 1},	  {"", 1000},	  {"s", 1000},	  {"sec", 1000},
					    {"m", 60000}, {"min", 60000}, {"h", 3600000}, {"d", 86400000}};
	int64_t ms;
	int rc = parse_with_unit(s, units, AL_ARRAY_LEN(units), &ms);
	if (rc < 0)
		return rc;
	if (ms < 1)
		return -ERANGE; /* Zero is neither "no limit" nor a useful limit. */
	if (ms != TEXT_NONE && ms > INT64_C(366) * 86400000)
		return -ERANGE;
	*ret_ms = ms;
	return 0;
}

int text_parse_size(const char *s, int64_t *ret_bytes)
{
	static const struct unit units[] = {
		{"", 1},
		{"b", 1},
		{"k", 1 << 10},
		{"kb", 1 << 10},
		{"kib", 1 << 10},
		{"m", 1 << 20},
		{"mb", 1 << 20},
		{"mib", 1 << 20},
		{"g", 1 << 30},
		{"gb", 1 << 30},
		{"gib", 1 << 30},
		{"t", INT64_C(1) << 40},
		{"tb", INT64_C(1) << 40},
		{"tib", INT64_C(1) << 40},
	};
	return parse_with_unit(s, units, AL_ARRAY_LEN(units), ret_bytes);
}

int text_parse_count(const char *s, int64_t *ret)
{
	static const struct unit units[] = {{"", 1}};
	if (strchr(s, '.'))
		return -EINVAL;
	return parse_with_unit(s, units, AL_ARRAY_LEN(units), ret);
}

int text_parse_bool(const char *s, bool *ret)
{
	static const char *const yes[] = {"true", "yes", "on", "1"}, *const no[] = {"false", "no", "off", "0"};
	for (size_t i = 0; i < AL_ARRAY_LEN(yes); i++) {
		if (strcasecmp(s, yes[i]) == 0 || strcasecmp(s, no[i]) == 0) {
			*ret = strcasecmp(s, yes[i]) == 0;
			return 0;
		}
	}
	return -EINVAL;
}

void text_add_duration(struct buf *out, int64_t ms)
{
	if (ms == TEXT_NONE)
		buf_adds(out, "none");
	else if (ms < 1000)
		buf_printf(out, "%" PRId64 " ms", ms);
	else if (ms < 60000)
		buf_printf(out, ms % 1000 ? "%.1f s" : "%.0f s", (double)ms / 1000);
	else if (ms < 3600000)
		buf_printf(out, ms % 60000 ? "%.1f min" : "%.0f min", (double)ms / 60000);
	else
		buf_printf(out, ms % 3600000 ? "%.1f h" : "%.0f h", (double)ms / 3600000);
}

void text_add_time(struct buf *out, int64_t ns)
{
	time_t seconds = (time_t)(ns / 1000000000);
	struct tm tm;
	char text[32];
	if (!gmtime_r(&seconds, &tm) || strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm) == 0)
		return;
	buf_printf(out, "%s.%06ldZ", text, (long)(ns % 1000000000 / 1000));
}

void text_add_size(struct buf *out, int64_t bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	if (bytes == TEXT_NONE) {
		buf_adds(out, "none");
		return;
	}
	double v = (double)bytes;
	size_t u = 0;
	while (v >= 1024 && u + 1 < AL_ARRAY_LEN(units)) {
		v /= 1024;
		u++;
	}
	buf_printf(out, u == 0 || v == (double)(int64_t)v ? "%.0f %s" : "%.1f %s", v, units[u]);
}

size_t text_utf8_length(const unsigned char *s, size_t n)
{
	if (n == 0)
		return 0;
	if (s[0] < 0x80)
		return 1;
	size_t len = s[0] >= 0xc2 && s[0] <= 0xdf   ? 2
		     : (s[0] & 0xf0) == 0xe0	    ? 3
		     : s[0] >= 0xf0 && s[0] <= 0xf4 ? 4
						    : 0;
	if (len == 0 || len > n)
		return 0;
	for (size_t i = 1; i < len; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	/* The second byte reveals overlong forms, surrogates and code points beyond U+10FFFF. */
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf0 && s[1] < 0x90) ||
	    (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return len;
}

void text_add_character(struct buf *out, uint32_t c)
{
	static const unsigned char lead[] = {0, 0xc0, 0xe0, 0xf0};
	int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
	buf_addc(out, (char)(lead[more] | c >> (6 * more)));
	while (more-- > 0)
		buf_addc(out, (char)(0x80 | (c >> (6 * more) & 0x3f)));
}

bool text_is_utf8(const char *s, size_t n)
{
	for (size_t i = 0; i < n;) {
		size_t len = text_utf8_length((const unsigned char *)s + i, n - i);
		if (len == 0)
			return false;
		i += len;
	}
	return true;
}

void text_add_utf8(struct buf *out, const char *s, size_t n)
{
	size_t good = 0, i = 0;
	while (i < n) {
		size_t len = text_utf8_length((const unsigned char *)s + i, n - i);
		if (len > 0) {
			i += len;
			continue;
		}
		buf_add(out, s + good, i - good);
		buf_adds(out, "\xef\xbf\xbd");
		good = ++i;
	}
	buf_add(out, s + good, n - good);
}

uint32_t text_utf8_decode(const unsigned char *s, size_t len)
{
	static const unsigned char lead_mask[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
	uint32_t c = s[0] & lead_mask[len];
	for (size_t i = 1; i < len; i++)
		c = c << 6 | (s[i] & 0x3f);
	return c;
}

/* Characters that change how other characters are shown, or that are invisible. */
static bool is_deceptive(uint32_t c)
{
	return (c >= 0x80 && c < 0xa0) || c == 0xad || c == 0x34f || c == 0x61c || c == 0x115f || c == 0x1160 ||
	       c == 0x17b4 || c == 0x17b5 || (c >= 0x180b && c <= 0x180f) || (c >= 0x200b && c <= 0x200f) ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0x3164 ||
	       (c >= 0xfe00 && c <= 0xfe0f) || c == 0xfeff || c == 0xffa0 || (c >= 0xfff0 && c <= 0xfffb) ||
	       (c >= 0x1d173 && c <= 0x1d17a) || (c >= 0xe0000 && c <= 0xe0fff);
}

void text_add_escaped(struct buf *out, const char *s, size_t n)
{
	for (size_t i = 0; i < n;) {
		unsigned char c = (unsigned char)s[i];
		size_t len = text_utf8_length((const unsigned char *)s + i, n - i);
		if (c == '\\')
			buf_adds(out, "\\\\");
		else if (c == '\n')
			buf_adds(out, "\\n");
		else if (c == '\t')
			buf_adds(out, "\\t");
		else if (c == '\r')
			buf_adds(out, "\\r");
		else if (len == 0 || c < 0x20 || c == 0x7f)
			buf_printf(out, "\\x%02x", c);
		else if (len > 1 && is_deceptive(text_utf8_decode((const unsigned char *)s + i, len)))
			buf_printf(out, "\\u{%04x}", text_utf8_decode((const unsigned char *)s + i, len));
		else
			buf_add(out, s + i, len);
		i += len ? len : 1;
	}
}

void text_add_shell_word(struct buf *out, const char *s)
{
	static const char bare[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
	if (*s && s[strspn(s, bare)] == '\0') {
		buf_adds(out, s);
		return;
	}
	buf_addc(out, '\'');
	for (; *s; s++) {
		if (*s == '\'')
			buf_adds(out, "'\\''");
		else
			buf_addc(out, *s);
	}
	buf_addc(out, '\'');
}

#define NEAREST_MAX 48

/* Edit distance: letters added, missing, replaced or swapped with their neighbour. */
static size_t edit_distance(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b), rows[3][NEAREST_MAX + 1];
	if (n > NEAREST_MAX || m > NEAREST_MAX)
		return NEAREST_MAX;
	for (size_t j = 0; j <= m; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= n; i++) {
		size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];
		row[0] = i;
		for (size_t j = 1; j <= m; j++) {
			row[j] = AL_MIN(AL_MIN(above[j] + 1, row[j - 1] + 1), above[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = AL_MIN(row[j], two_above[j - 2] + 1);
		}
	}
	return rows[n % 3][m];
}

const char *text_nearest(const char *word, const char *const *candidates)
{
	const char *best = NULL;
	size_t best_distance = AL_MAX(strlen(word) / 3, (size_t)1) + 1;
	for (; *candidates; candidates++) {
		size_t d = edit_distance(word, *candidates);
		if (strlen(word) >= 3 && strncmp(*candidates, word, strlen(word)) == 0)
			d = AL_MIN(d, (size_t)1); /* An abbreviation counts as a slip too. */
		if (d < best_distance) {
			best_distance = d;
			best = *candidates;
		}
	}
	return best;
}

int text_hex_digit(int c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

void text_add_base64(struct buf *out, const void *data, size_t n)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *p = data;
	for (; n > 0; p += 3, n -= AL_MIN(n, (size_t)3)) {
		uint32_t v = (uint32_t)p[0] << 16 | (n > 1 ? (uint32_t)p[1] << 8 : 0) | (n > 2 ? p[2] : 0);
		char quad[4] = {digits[v >> 18], digits[v >> 12 & 63], n > 1 ? digits[v >> 6 & 63] : '=',
				n > 2 ? digits[v & 63] : '='};
		buf_add(out, quad, 4);
	}
}
