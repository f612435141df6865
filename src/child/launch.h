/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Starting the native backend's child: one clone into all namespaces, safe in threaded programs. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#define LAUNCH_FDS 8
#define LAUNCH_STACK_BYTES 16384

struct launch {
	int namespaces;	     /* CLONE_NEW… */
	int fds[LAUNCH_FDS]; /* become 0, 1, 2, …; each above LAUNCH_FDS, or -1 */
	int program_fd;	     /* executed; above LAUNCH_FDS too */
	const char *const *argv;
	uint32_t uid, gid; /* mapped to themselves when there is a user namespace */
	int user_ns_fd;	   /* a user namespace to enter instead of a new one; above LAUNCH_FDS; 0: none */
	int new_session;
	const char *failed_call; /* out: what failed, NULL: nothing */
};

/* 0 and the child's pid, or -errno with failed_call set. The environment is empty, signals are as a new program expects. */
int launch(struct launch *l, pid_t *ret_pid);

/* Runs step in a process that shares our memory, and waits for its end. step makes system calls only and writes nothing but
 * what data points to. 0, or -errno when there was no such process. */
int launch_step(void (*step)(void *data), void *data);
