/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs a helper program briefly and captures its output: for probes, not for the user's commands. */
#pragma once

#include <stdbool.h>

struct sys_exec {
	int errnum;	/* the program could not be started; nothing else is set */
	bool timed_out; /* it was killed, with everything in its process group */
	int exit_code;	/* 128+N when signal N ended it, -1 when timed out */
	char out[256];	/* the beginning of what it said, NUL-terminated */
	char err[1024];
};

/* Executes path with argv and an empty environment: stdin is /dev/null, working directory "/", its own session,
 * default signals, no descriptor above 2. Waits at most timeout_ms, then kills its process group. Works if SIGCHLD is
 * ignored or another thread waits for every child. */
void sys_probe_exec(const char *path, const char *const *argv, int timeout_ms, struct sys_exec *ret);
