/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One line on stderr that says that the run is still going on, for a person who sees nothing else of it.
 *
 *   struct progress p = progress_begin(json, has_pty);
 *   n = poll(fds, 2, progress_wait_ms(&p));
 *   progress_update(&p, run, n == 0);
 *   progress_erase(&p);
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <airlock/airlock.h>

struct progress {
	bool is_on, is_shown;
	bool is_alone; /* the command writes nothing to this terminal */
	int64_t started_ms, drawn_ms;
};

/* Only if stderr is a terminal and standard output is not, or belongs to the result. */
struct progress progress_begin(bool json, bool has_pty);
int progress_wait_ms(const struct progress *p); /* for poll */
/* is_quiet: nothing has happened since the last call. If the command writes to the same terminal, a line is drawn only
 * then, and erased before the command writes more. */
void progress_update(struct progress *p, struct airlock_run *run, bool is_quiet);
void progress_erase(struct progress *p);
