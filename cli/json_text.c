/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "json_text.h"

#include <stddef.h>
#include <stdint.h>

/* How many bytes the UTF-8 character at s has; 0 when there is none. Overlong forms and surrogates are none. */
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
