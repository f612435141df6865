/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Glob patterns: *, ?, [a-z], [!a-z], {a,b} (nested too), ** for any number of directories. Pure; bytes.
 *
 *   _cleanup_pattern_ struct files_pattern p = {0};
 *   if (files_pattern_parse(&p, "src/[ab]*.{c,h}") < 0) …
 *   files_pattern_matches(&p, "src/a.c")
 */
#pragma once

#include "base/buf.h"

struct files_pattern {
	struct strs forms;     /* without braces: one for each combination */
	bool base_only;	       /* no slash: matched with the last component only */
	bool only_directories; /* ends with a slash */
};

/* 0, -EINVAL for an empty pattern or an unclosed brace, -E2BIG if the braces expand to too much, -ENOMEM. A leading
 * slash means the directory that is searched. */
int files_pattern_parse(struct files_pattern *p, const char *text);
/* path: relative, normal. */
bool files_pattern_matches(const struct files_pattern *p, const char *path);
void files_pattern_done(struct files_pattern *p);
#define _cleanup_pattern_ _cleanup_(files_pattern_done)
