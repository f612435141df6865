/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The form of audit files, for those who write and those who verify them. */
#pragma once

#include "base/buf.h"

#include <stdint.h>

#define AUDIT_FILE "audit.jsonl"

struct audit_line {
	int64_t number;
	char previous[65];
};

void audit_first_hash(char out[65]); /* what stands for the line before the first */
/* What the chain needs of a line; false: it is not one of ours. */
bool audit_read_line(const char *line, size_t len, struct audit_line *ret);
/* The files in the order they were written; 0 or -errno. */
int audit_list(const char *dir, struct strs *ret);
