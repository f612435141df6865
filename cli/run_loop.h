/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs a job for a person or a script: `airlock run` and `airlock shell`. */
#pragma once

#include <stdbool.h>

#include "commands.h"

/* Prepares the job of inv's settings, runs it to its end and reports. has_pty: the command gets a terminal; standard
 * input must be one. Returns the exit status, or a negative code. */
int run_loop(const struct invocation *inv, bool has_pty, struct airlock_error *err);

/* The program that `airlock shell` starts: the requested shell, else the user's own, else /bin/sh. */
const char *run_loop_shell(const struct invocation *inv);
