/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The git directory of a worktree or submodule, if git itself confirms that it belongs to the project. */
#pragma once

#include "project/roots.h"

/* Adds it to roots, or the reason why not to notes; does nothing if the project's .git is a directory or missing.
 * roots already contains the project and its linked directories. */
int git_add_root(const struct roots_rules *rules, struct roots *roots, struct notes *notes, struct airlock_error *err);

/* True if DIR/.git is a file, so that git_add_root has work to do. */
bool git_is_linked(const char *dir);
