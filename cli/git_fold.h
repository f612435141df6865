/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A commit writes a dozen files that mean nothing to a person: git's own bookkeeping becomes one line in a list of
 * changes, "git: index, HEAD, 2 refs, 14 objects". A change with a reason keeps its own line. */
#pragma once

#include <airlock/changes.h>

/* One line for each other change, and that line. The caller frees it. NULL: out of memory. */
char *git_fold(const struct airlock_changes *changes);
