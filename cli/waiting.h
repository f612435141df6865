/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One line on stderr, after the first second of a call into the library that takes long: for a person at a terminal,
 * never in a pipe.
 *
 *   waiting_begin("applying");            airlock: applying, 3 s
 *   rc = airlock_changes_apply(…);
 *   waiting_end();                        the line is gone
 */
#pragma once

#include <stddef.h>

/* what: a literal. Nothing else may write to the terminal until the end. */
void waiting_begin(const char *what);
void waiting_end(void);

/* While a question is on the terminal the line is not drawn. */
void waiting_hold(int is_held);

/* The progress; shown from the next second on. */
void waiting_count(size_t done);
