/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Running a helper program briefly, with its output: for probes, not for commands of the user. */
#pragma once

#include <stdbool.h>

struct sys_exec {
	int errnum;	/* the program could not be started; nothing else is set */
	bool timed_out; /* it was killed, with everything in its process group */
	int exit_code;	/* 128+N when signal N ended it, -1 when timed out */
	char out[256];	/* the beginning of what it said, NUL-terminated */
	char err[1024];
};

/* Executes path with argv and an empty environment: stdin is /dev/null, working directory "/", a session of its own,
 * signals as at login, no descriptor above 2. Waits at most timeout_ms, then kills its process group. Safe where SIGCHLD
 * is ignored or somebody else waits for every child. */
void sys_probe_exec(const char *path, const char *const *argv, int timeout_ms, struct sys_exec *ret);
