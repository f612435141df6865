/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How wide a text is on a terminal: a Chinese character takes two columns, an accent none.
 *
 * For text that is inert already. A byte that is no character counts as one column. */
#pragma once

#include "base/buf.h"

size_t columns_of(const char *s, size_t n);
/* Returns how many bytes of s fit into this many columns; never cuts a character. */
size_t columns_fit(const char *s, size_t n, size_t columns);

/* Appends s, padded with spaces to this width. Does not cut a wider text. */
