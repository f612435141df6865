/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdio.h>

/* A quoted string. Bytes that are not UTF-8 become U+FFFD. */
void json_print_string(FILE *out, const char *s);
