/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The format of audit files, for writing and verifying. */
#pragma once

#include "base/buf.h"

#include <stdint.h>

#define AUDIT_FILE "audit.jsonl"

struct audit_line {
	int64_t number;
	char previous[65];
};

void audit_first_hash(char out[65]); /* stands for the line before the first */
/* The parts of a line that the chain needs; false: not one of our lines. */
bool audit_read_line(const char *line, size_t len, struct audit_line *ret);
/* The files in the order in which they were written; 0 or -errno. */
int audit_list(const char *dir, struct strs *ret);
