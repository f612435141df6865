/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a terminal sends, as keys. Pure: who reads the terminal is screen.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Up to 127 a key is the character itself; Ctrl-C is 3, Enter '\n'. */
enum key {
	KEY_NONE = 0, /* nothing that we know: an accented letter, a function key */
	KEY_UP = 256,
	KEY_DOWN,
	KEY_LEFT,
	KEY_RIGHT,
	KEY_PAGE_UP,
	KEY_PAGE_DOWN,
	KEY_HOME,
	KEY_END,
	KEY_ESCAPE,
};
#define KEY_CTRL(letter) ((letter)&0x1f)

/* The first key in these bytes, and how many of them it is: 0 when it may go on and more has to be read. is_all: no more
 * will come, so that an escape that stands alone is the Escape key. n is at least 1. */
int key_decode(const unsigned char *bytes, size_t n, bool is_all, size_t *ret_used);
