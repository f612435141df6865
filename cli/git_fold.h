/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A commit writes a dozen files that tell a person nothing: git's own bookkeeping in a list of changes becomes one line,
 * "git: index, HEAD, 2 refs, 14 objects".
 *
 *   char *folded = git_fold(list, text);       NULL: out of memory; free() it
 *
 * text: one line for each change of the list, as the library gives them. A change with a reason keeps its line. */
#pragma once

#include "change_list.h"

char *git_fold(const struct change_list *list, const char *text);
