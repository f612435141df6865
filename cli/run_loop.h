/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs a job for a person or a script: `airlock run` and `airlock shell`. */
#pragma once

#include <stdbool.h>

#include "commands.h"

struct run_manner {
	bool has_pty;  /* the command gets a terminal; standard input must be one */
	bool is_agent; /* the command is a whole agent: questions go elsewhere, and the session is told at the end */
	bool is_for_agent; /* an agent reads what we say */
};

/* Prepares the job of inv's settings, runs it to its end and reports. Returns the exit status, or a negative code. */
int run_loop(const struct invocation *inv, const struct run_manner *how, struct airlock_error *err);

/* Whether the command gets a terminal: as the options say, else if standard input, output and error are terminals. Tells the
 * settings. */
int run_loop_pty(const struct invocation *inv, bool *ret, struct airlock_error *err);

/* The program that `airlock shell` starts: the requested shell, else the user's own, else /bin/sh. */
const char *run_loop_shell(const struct invocation *inv);
