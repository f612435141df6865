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
	struct strs forms;     /* without braces: one for each way through them */
	bool base_only;	       /* no slash: held against the last component alone */
	bool only_directories; /* ends with a slash */
};

/* 0, -EINVAL for an empty pattern or braces that do not close, -E2BIG when the braces say too much, -ENOMEM. A leading slash
 * means what it does in a shell that stands in the directory searched: from there. */
int files_pattern_parse(struct files_pattern *p, const char *text);
/* path: relative, normal. */
bool files_pattern_matches(const struct files_pattern *p, const char *path);
void files_pattern_done(struct files_pattern *p);
#define _cleanup_pattern_ _cleanup_(files_pattern_done)
