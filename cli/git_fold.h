/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A commit writes a dozen files that tell a person nothing: git's own bookkeeping in a list of changes becomes one line,
 * "git: index, HEAD, 2 refs, 14 objects". A change with a reason keeps its line. */
#pragma once

#include <airlock/changes.h>

/* One line for each change, and that line. The caller's: free(). NULL: out of memory. */
char *git_fold(const struct airlock_changes *changes);
