/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A command of a session has ended, and processes that could still write to its layers have not.
 *
 * Its layer is then set aside for them, and a copy of it is what the command changed: it becomes a step, or is applied, and nobody
 * can change it any more. What they write from now on is found when they have ended (session/tail.h).
 */
#pragma once

#include "run/run.h"

/* After the end of the command, before the scan. run->layers.aside says whether it was done. Returns a code. */
int run_background_set_aside(struct airlock_run *run, struct airlock_error *err);
/* After the changes so far were recorded: where to find what is changed from now on. */
void run_background_record(struct airlock_run *run);
/* Which processes of the session go on, for the result. */
void run_background_look(struct airlock_run *run);
