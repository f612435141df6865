/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Turns what a terminal sends into keys. Pure: screen.c reads the terminal. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Up to 127 a key is the character itself; Ctrl-C is 3, Enter '\n'. */
enum key {
	KEY_NONE = 0, /* unknown: an accented letter, a function key */
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

/* The first key in these bytes, and its length: 0 if it may continue and more must be read. is_all: no more will come,
 * so that a lone escape is the Escape key. n is at least 1. */
int key_decode(const unsigned char *bytes, size_t n, bool is_all, size_t *ret_used);
