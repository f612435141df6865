/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What git would ignore: the .gitignore files from the top of a tree down to a directory, and .git/info/exclude.
 *
 *   _cleanup_ignore_ struct ignore ig = IGNORE_INIT;
 *   ignore_enter(&ig, dir_fd, "")              the top, then each directory on the way down
 *   ignore_matches(&ig, "src/a.o", false)
 *   ignore_leave(&ig)                          in the reverse order
 */
#pragma once

#include "base/buf.h"

struct ignore_rule {
	char *pattern;
	size_t dir_len; /* path of its directory, with a slash; paths are matched from there */
	bool negated, only_dirs, anchored;
};

struct ignore {
	struct ignore_rule *v;
	size_t n, cap;
	size_t *levels; /* how many rules there were before each entered directory */
	size_t depth, levels_cap;
	bool failed;
};
#define IGNORE_INIT                                                                                                    \
	{                                                                                                              \
		0                                                                                                      \
	}

/* dir_fd is the directory whose path from the top is path. Unreadable files are ignored. */
void ignore_enter(struct ignore *ig, int dir_fd, const char *path);
void ignore_leave(struct ignore *ig);
/* Adds the rules of a file in the directory at path. */
void ignore_add(struct ignore *ig, const char *path, const char *text, size_t len);
/* For the entry itself. What is in an ignored directory is ignored too; the caller must know that. */
bool ignore_matches(const struct ignore *ig, const char *path, bool is_dir);
void ignore_done(struct ignore *ig);
#define _cleanup_ignore_ _cleanup_(ignore_done)
