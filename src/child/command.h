/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From the first process to the command: everything between clone and exec. Freestanding. */
#pragma once

#include "child/child_job.h"

struct child_command {
	const struct child_job *job;
	char **argv, **envp; /* there is one free slot before argv[0] */
	int tty;	     /* becomes its terminal; -1: none */
	int joins_session;   /* tty is the terminal of the first process's session: become its foreground group */
	int notify_socket;   /* its listener (notify.h) is handed over here; -1: none */
	int error_fd;	     /* struct command_failure is written here when it cannot be executed; CLOEXEC */
};

struct command_failure {
	int32_t stage, errnum; /* enum child_stage */
};

/* Runs in a process that shares memory and stack with the first one, which waits, as with vfork(2): a separate
 * function, so that its frame is below that of the caller of clone and not part of it. Writes only to *argv and the
 * slot before it. */
__attribute__((noreturn, noinline)) void command_become(const struct child_command *c);
