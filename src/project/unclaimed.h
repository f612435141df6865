/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Directories that are nobody's project, so that airlock never makes one of them the project by itself.
 *
 * A working directory may have been chosen by a model, and a `.git` in it may have been planted: `git init ~/.config` must
 * not make ~/.config writable. A person who names such a directory (-p, `airlock project add`) gets it. Pure: looks at
 * paths, never at the machine. */
#pragma once

#include "airlock/project.h"

#include <stdbool.h>

/* dir and home are real paths; home may be NULL. The first reason that applies, in the order of the enum. */
enum airlock_unclaimed project_unclaimed(const char *dir, const char *home);

/* True if dir may be the project without being named. All reasons except AIRLOCK_UNCLAIMED_IN_TEMPORARY forbid it. */
bool project_may_adopt(const char *dir, const char *home);

/* The words after "DIR is ", for example "the home directory". */
const char *project_unclaimed_words(enum airlock_unclaimed reason);
