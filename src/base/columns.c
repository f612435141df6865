/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/columns.h"

#include <string.h>

#include "base/columns_table.h"
#include "base/text.h"

#define N_NONE (sizeof columns_none / sizeof *columns_none)
#define N_WIDE (sizeof columns_wide / sizeof *columns_wide)

static bool is_in(const struct columns_range *table, size_t n, uint32_t c)
{
	size_t first = 0, end = n;
	while (first < end) {
		size_t middle = first + (end - first) / 2;
		if (c > table[middle].last)
			first = middle + 1;
		else
			end = middle;
	}
	return first < n && c >= table[first].first;
}

/* s points to a valid sequence of this many bytes. */
static uint32_t decode(const unsigned char *s, size_t len)
{
	uint32_t c = len == 1 ? s[0] : s[0] & (0xffu >> (len + 1));
	for (size_t i = 1; i < len; i++)
		c = c << 6 | (s[i] & 0x3fu);
	return c;
}

/* Returns the bytes (at least 1) and the columns of the character at s. */
static size_t step(const char *s, size_t n, size_t *ret_columns)
{
	const unsigned char *u = (const unsigned char *)s;
	size_t len = u[0] < 0x80 ? 1 : text_utf8_length(u, n);
	uint32_t c = len > 1 ? decode(u, len) : 0;
	*ret_columns = c < columns_none[0].first	? 1
		       : is_in(columns_none, N_NONE, c) ? 0
		       : is_in(columns_wide, N_WIDE, c) ? 2
							: 1;
	return len ? len : 1;
}

size_t columns_of(const char *s, size_t n)
{
	size_t total = 0, width;
	for (size_t at = 0; at < n; total += width)
		at += step(s + at, n - at, &width);
	return total;
}

size_t columns_fit(const char *s, size_t n, size_t columns)
{
	size_t at = 0, used = 0, width;
	while (at < n) {
		size_t len = step(s + at, n - at, &width);
		if (used + width > columns)
			break;
		used += width;
		at += len;
	}
	return at;
}
