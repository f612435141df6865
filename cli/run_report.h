/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* After a run: what happened to its changes, in a few lines on stderr. */
#pragma once

#include "change_list.h"
#include "commands.h"

#define REPORT_LINES 10 /* of changes or refusals; the rest is counted */

/* Reports the run's changes; with --changes ask it asks first. Prints nothing if nothing changed. for_agent: an agent reads it. */
void report_run(const struct invocation *inv, struct airlock_run *run, bool for_agent);

/* "2 changes applied, 1 held for you: airlock apply RUN PATH". */
void report_headline(const struct airlock_changes *changes, bool for_agent);
