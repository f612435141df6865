/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Until the child has executed its program the caller waits and both share their memory, as with posix_spawn(3): nothing is
 * copied, however large the host program is. So the child makes system calls only, touches nothing but its own stack and
 * *l, and gets no signal. clone(2) and not clone3(2), which the filters of many containers, and our own, do not let through;
 * there is nothing in it that we need.
 */
#include "child/ahead.h"
#include "child/become.h"
#include "sys/raw.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

/* The address sanitizer marks the frames of functions in memory that stays the caller's, and these never return. */
#define IN_CHILD __attribute__((no_sanitize_address))

struct shared {
	struct launch *l;
	int result;
	pid_t child; /* of the one that entered the user namespace first */
};

IN_CHILD static int child_main(void *data)
{
	struct shared *s = data;
	s->result = become(s->l);
	raw_call1(__NR_exit_group, 127);
	return 127;
}

/* The namespaces must belong to a user namespace that is there already: only who is in it can make such. So this process enters
 * it, and its child, which is the caller's as CLONE_PARENT has it, gets the rest. It shares this stack until it executes. */
IN_CHILD static int enter_main(void *data)
{
	struct shared *s = data;
	long rc = raw_call2(__NR_setns, s->l->user_ns_fd, CLONE_NEWUSER);
	s->l->failed_call = "setns";
	if (rc >= 0) {
		s->l->failed_call = "clone";
		rc = raw_call5(__NR_clone, CLONE_VM | CLONE_VFORK | CLONE_PARENT | SIGCHLD | s->l->namespaces, 0, 0, 0,
			       0);
		if (rc == 0) {
			s->l->failed_call = NULL;
			s->result = become(s->l);
			raw_call1(__NR_exit_group, 127);
		}
	}
	if (rc < 0)
		s->result = (int)rc;
	s->child = rc < 0 ? 0 : (pid_t)rc;
	raw_call1(__NR_exit_group, 0);
	return 0;
}

static void wait_for(pid_t pid)
{
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

IN_CHILD int launch(struct launch *l, pid_t *ret_pid)
{
	_Alignas(16) char stack[LAUNCH_STACK_BYTES];
	struct shared s = {.l = l};
	uint64_t all = ~UINT64_C(0), before = 0;
	l->failed_call = NULL;
	/* libc's own signals too: their handlers know nothing of a child that is only half there. */
	(void)raw_call4(__NR_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof all);
	int namespaces = l->user_ns_fd ? 0 : l->namespaces;
	pid_t pid = clone(l->user_ns_fd ? enter_main : child_main, stack + sizeof stack,
			  CLONE_VM | CLONE_VFORK | SIGCHLD | namespaces, &s);
	int rc = pid < 0 ? -errno : s.result;
#ifdef __SANITIZE_ADDRESS__
	/* The child's calls never return: what the sanitizer noted about their frames would be held against ours. */
	ASAN_UNPOISON_MEMORY_REGION(stack, sizeof stack);
#endif
	(void)raw_call4(__NR_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before);
	if (pid > 0 && l->user_ns_fd) {
		wait_for(pid);
		pid = s.child;
		if (pid == 0 && rc == 0) { /* somebody killed the one between */
			l->failed_call = "clone";
			return -ECHILD;
		}
	}
	if (pid < 0)
		l->failed_call = "clone";
	else if (rc < 0 && pid == 0)
		return rc;
	else if (rc < 0)
		wait_for(pid);
	else
		*ret_pid = pid;
	return rc;
}

/* ── A step ── */

struct step {
	void (*call)(void *data);
	void *data;
};

IN_CHILD static int step_main(void *data)
{
	const struct step *s = data;
	s->call(s->data);
	raw_call1(__NR_exit_group, 0);
	return 0;
}

IN_CHILD int launch_step(void (*call)(void *data), void *data)
{
	_Alignas(16) char stack[LAUNCH_STACK_BYTES];
	struct step s = {call, data};
	uint64_t all = ~UINT64_C(0), before = 0;
	(void)raw_call4(__NR_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof all);
	pid_t pid = clone(step_main, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, &s);
	int rc = pid < 0 ? -errno : 0;
#ifdef __SANITIZE_ADDRESS__
	ASAN_UNPOISON_MEMORY_REGION(stack, sizeof stack);
#endif
	(void)raw_call4(__NR_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before);
	if (pid > 0)
		wait_for(pid);
	return rc;
}

/* ── Ahead ── */

int ahead_end(struct ahead *a, pid_t *ret_pid)
{
	wait_for(a->starter);
	if (a->result == 0 && a->child == 0) { /* somebody killed it */
		a->l.failed_call = "clone";
		return -ECHILD;
	}
	if (a->result < 0 && a->child > 0)
		wait_for(a->child);
	else if (a->result == 0)
		*ret_pid = a->child;
	return a->result;
}

void ahead_free(struct ahead *a)
{
	if (a && a->is_early)
		a->is_early = false; /* there may be another */
	else
		free(a);
}
