/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "keys.h"

#define ESCAPE 27
#define SEQUENCE_MAX 32 /* longer than any sequence a terminal sends: it is noise */

struct key_meaning {
	int number; /* of ESC [ number ~, or 0 */
	char last;
	int key;
};

static const struct key_meaning meanings[] = {
	{0, 'A', KEY_UP},   {0, 'B', KEY_DOWN}, {0, 'C', KEY_RIGHT},   {0, 'D', KEY_LEFT},
	{0, 'H', KEY_HOME}, {0, 'F', KEY_END},	{1, '~', KEY_HOME},    {4, '~', KEY_END},
	{7, '~', KEY_HOME}, {8, '~', KEY_END},	{5, '~', KEY_PAGE_UP}, {6, '~', KEY_PAGE_DOWN},
};

static int find_meaning(int number, char last)
{
	for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
		if (meanings[i].last == last && (last != '~' || meanings[i].number == number))
			return meanings[i].key;
	return KEY_NONE;
}

/* ESC [ parameters letter. A key with Shift or Ctrl is the same key: its modifiers follow a ';'. */
static int decode_sequence(const unsigned char *bytes, size_t n, size_t *ret_used)
{
	int number = 0;
	bool in_first = true;
	for (size_t i = 2; i < n; i++) {
		if (bytes[i] >= 0x40 && bytes[i] <= 0x7e) {
			*ret_used = i + 1;
			return find_meaning(number, (char)bytes[i]);
		}
		if (bytes[i] < 0x20 || bytes[i] > 0x7e || i > SEQUENCE_MAX) {
			*ret_used = i;
			return KEY_NONE;
		}
		in_first = in_first && bytes[i] >= '0' && bytes[i] <= '9';
		if (in_first && number < 1000)
			number = number * 10 + (bytes[i] - '0');
	}
	*ret_used = 0;
	return KEY_NONE;
}

static int decode_escape(const unsigned char *bytes, size_t n, size_t *ret_used)
{
	*ret_used = 0;
	if (n == 1)
		return KEY_NONE;
	if (bytes[1] == '[')
		return decode_sequence(bytes, n, ret_used);
	if (bytes[1] == 'O') { /* ESC O A: arrows in another mode of the terminal */
		*ret_used = n > 2 ? 3 : 0;
		return n > 2 ? find_meaning(0, (char)bytes[2]) : KEY_NONE;
	}
	*ret_used = bytes[1] == ESCAPE ? 1 : 2; /* ESC a: Alt-a, which means nothing */
	return bytes[1] == ESCAPE ? KEY_ESCAPE : KEY_NONE;
}

int key_decode(const unsigned char *bytes, size_t n, bool is_all, size_t *ret_used)
{
	*ret_used = 1;
	if (bytes[0] != ESCAPE)
		return bytes[0] == '\r' ? '\n' : bytes[0] < 0x80 ? bytes[0] : KEY_NONE;
	int key = decode_escape(bytes, n, ret_used);
	if (*ret_used > 0 || !is_all)
		return key;
	*ret_used = n; /* a truncated sequence is dropped as a whole: its letters are not keys */
	return n == 1 ? KEY_ESCAPE : KEY_NONE;
}
