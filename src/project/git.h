/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The git directory of a worktree or submodule, when git itself confirms that it belongs to the project. */
#pragma once

#include "project/roots.h"

/* Adds it to roots, or a sentence to notes why not; does nothing for a project whose .git is a directory or missing.
 * roots holds the project and its linked directories already. */
int git_add_root(const struct roots_rules *rules, struct roots *roots, struct strs *notes, struct airlock_error *err);

/* True when DIR/.git is a file, so that git_add_root has something to do. */
bool git_is_linked(const char *dir);
