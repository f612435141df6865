/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Starting the native backend's child: one clone into all namespaces, safe in threaded programs.
 *
 *   launch(&l, &pid);                 waits until the child's program is being executed
 *
 *   launch_begin(s);                  or: the caller goes on; *s stays where it is until launch_end
 *   …
 *   launch_end(s, &pid);              waits until the child's program is being executed
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#define LAUNCH_FDS 9
#define LAUNCH_STACK_BYTES 16384

struct launch {
	int namespaces;	     /* CLONE_NEW… */
	int fds[LAUNCH_FDS]; /* become 0, 1, 2, …; each above LAUNCH_FDS, or -1 */
	int program_fd;	     /* executed; above LAUNCH_FDS too */
	const char *argv[3];
	uint32_t uid, gid; /* mapped to themselves when there is a user namespace */
	int user_ns_fd;	   /* a user namespace to enter instead of a new one; above LAUNCH_FDS; 0: none */
	int join_fd;	   /* pidfd of a process whose namespaces are entered; above LAUNCH_FDS; 0: none */
	int join;	   /* CLONE_NEW…: which of them */
	int mounts_fd;	   /* a mount namespace to enter instead of a new one; above LAUNCH_FDS; 0: none */
	int outer_user;	   /* the new user namespace lies in another new one, which has the same ids */
	int leaves; /* the child is not the caller's: its parent ends at once, and whoever takes orphans waits for it */
	int new_session;
	const char *failed_call; /* out: what failed, NULL: nothing */
};

/* A process between the caller and the child, which clones the child. It shares the caller's memory and has a stack of its own. */
struct launch_starter {
	/* The caller fills this in and leaves it alone until launch_end; it may close the descriptors once launch_begin returned. */
	struct launch l;
	pid_t pid;
	pid_t child; /* the caller's child, as CLONE_PARENT has it */
	int result;
	_Alignas(16) char stack[LAUNCH_STACK_BYTES];
};

/* 0 and the child's pid, or -errno with failed_call set. The environment is empty, signals are as a new program expects. */
int launch(struct launch *l, pid_t *ret_pid);

/* The same without waiting. 0, or -errno and there is nothing to end. The child may not use the processor that the caller is on now,
 * until it has carried out a plan (child_plan.cpus). */
int launch_begin(struct launch_starter *s);
int launch_end(struct launch_starter *s, pid_t *ret_pid);

/* Keeps a process off the processor that the caller is on, until it has carried out a plan: for one that is about to be woken while
 * the caller goes on. */
void launch_keep_away(pid_t pid);

/* Runs step in a process that shares our memory, and waits for its end. step makes system calls only and writes nothing but
 * what data points to. 0, or -errno when there was no such process. */
int launch_step(void (*step)(void *data), void *data);
