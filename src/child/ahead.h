/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How every sandbox begins, made before there is a plan: namespaces, and the mounts that ahead_makes() knows.
 *
 *   ahead_begin(a);                  a process of its own is at it; *a stays where it is until ahead_end
 *   …                                a->control_fd and a->mounts_fd are the caller's, both CLOEXEC
 *   ahead_end(a, &pid);              the program is being executed; in launch.c, for it waits with libc's calls
 *
 * All but ahead_end: system calls only, neither errno nor anything else of libc's, so that a program may begin before libc
 * has. Nothing here holds a pointer that the loader would have to put right.
 */
#pragma once

#include "child/job.h"
#include "child/launch.h"

#include <stdbool.h>

struct ahead {
	struct launch l;
	pid_t starter, child;
	int result;
	int control_fd; /* to the child, SO_PASSCRED */
	int mounts_fd;	/* the mount table: says an error condition once a mount came or went since */
	bool is_early;	/* not allocated, and in use */
	const char *argv[3];
	_Alignas(16) char stack[LAUNCH_STACK_BYTES];
};

/* 0, or -errno and nothing is open. */
int ahead_begin(struct ahead *a);
int ahead_end(struct ahead *a, pid_t *ret_pid);
void ahead_free(struct ahead *a);

/* Is this mount one of those that are made ahead? All are AHEAD_MOUNTS. */
#define AHEAD_MOUNTS 3
bool ahead_makes(enum child_mount_kind kind, const char *source, const char *target);

int ahead_open_mount_table(void);

/* What airlock_warm_begin_early() began; once, and not in a copy of the process. NULL: nothing. */
struct ahead *ahead_take_early(void);
