/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Carries a job out for a person or a script: `airlock run` and `airlock shell`. */
#pragma once

#include <stdbool.h>

#include "commands.h"

/* Prepares what inv's settings ask for, runs it to its end and tells what there is to tell.
 * has_pty: the command gets a terminal; standard input must be one. Returns the exit status, or a negative code. */
int run_loop(const struct invocation *inv, bool has_pty, struct airlock_error *err);

/* What `airlock shell` starts: the shell that was asked for, else the user's own, else the one that is always there. */
const char *run_loop_shell(const struct invocation *inv);
