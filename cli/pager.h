/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Long text on a terminal goes through a pager: $PAGER, or less.
 *
 *   pager_show(text, STDOUT_FILENO, roots);
 *
 * $PAGER is a program with arguments, separated by blanks; no shell reads it. The program is found by PATH, but never
 * beneath one of the roots or the current directory: a command that was run there may have put it there. */
#pragma once

/* text: inert but for colours. fd: a terminal, or anything else, which gets the text as it is. roots: ends with NULL. */
void pager_show(const char *text, int fd, const char *const *roots);
