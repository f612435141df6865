/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The reader of command lines on any bytes: what it calls simple must have nothing unquoted that a shell acts on. */
#include "permission/command_shape.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Another reader, with nothing but the rule: is this byte one that the shell takes as a letter? */
static bool is_harmless(const char *line, size_t len)
{
	char quote = 0;
	size_t ands = 0;
	for (size_t i = 0; i < len; i++) {
		char c = line[i];
		if ((unsigned char)c < 0x20 && c != '\t')
			return false;
		if (quote == '\'' || (!quote && c == '\'')) {
			quote = c == '\'' ? (quote ? 0 : '\'') : quote;
		} else if (c == '\\') {
			i++;
		} else if (c == '"') {
			quote = quote ? 0 : '"';
		} else if (c == '`') {
			return false;
		} else if (!quote && strchr("|;<>()", c)) {
			return false;
		} else if (!quote && c == '&') {
			if (i + 1 == len || line[i + 1] != '&' || ++ands > 1)
				return false;
			i++;
		} else if (c == '$' && i + 1 < len && strchr("{(", line[i + 1])) {
			return false;
		}
	}
	return !quote;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum command_shape shape = command_shape((const char *)data, size);
	if ((unsigned)shape >= N_COMMAND_SHAPES || !command_shape_name(shape))
		__builtin_trap();
	if (shape == COMMAND_SIMPLE && !is_harmless((const char *)data, size))
		__builtin_trap();
	return 0;
}
