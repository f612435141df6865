/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Until the child has executed its program it shares its parent's memory and the parent waits, as with posix_spawn(3): nothing is
 * copied, however large the host program is. So the child makes system calls only, touches nothing but its own stack and
 * *l, and gets no signal. clone(2) and not clone3(2), which the filters of many containers, and our own, do not let through;
 * there is nothing in it that we need.
 *
 * A starter is a process between the caller and the child. There are two reasons for one. The namespaces must belong to a user
 * namespace that is there already, and only a process in it can make those; so the starter enters it. The same goes for the
 * namespaces of a session, which its commands share. Or the caller has other work: the kernel makes namespaces inside clone(2), and
 * takes as long for it as we take to make a plan.
 *
 * In a session the child shares its pid namespace with hostile processes while it shares our memory. They cannot look into it,
 * because it has capabilities that they do not have. The starter itself has no pid in there.
 */
#include "child/launch.h"

#include "child/child_exec.h"
#include "child/child_job.h"
#include "sys/raw.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

/* The address sanitizer marks the frames of functions in memory that stays the caller's, and these never return. */
#define IN_CHILD __attribute__((no_sanitize_address))

struct shared {
	struct launch *l;
	int result;
};

IN_CHILD static int child_main(void *data)
{
	struct shared *s = data;
	s->result = child_exec(s->l);
	raw_call1(__NR_exit_group, 127);
	return 127;
}

/* The child uses this stack until it executes its program; the starter waits for that. CLONE_PARENT makes it the caller's child,
 * so that the caller can wait for it. */
IN_CHILD static int starter_main(void *data)
{
	struct launch_starter *s = data;
	long rc = 0;
	if (s->l.outer_user) {
		s->l.failed_call = "unshare";
		rc = raw_call1(__NR_unshare, CLONE_NEWUSER);
		if (rc >= 0)
			rc = child_map_ids(&s->l);
	} else if (s->l.user_ns_fd) {
		s->l.failed_call = "setns";
		rc = raw_call2(__NR_setns, s->l.user_ns_fd, CLONE_NEWUSER);
	} else if (s->l.join_fd) {
		s->l.failed_call = "setns";
		rc = raw_call2(__NR_setns, s->l.join_fd, s->l.join);
	}
	if (rc >= 0 && s->l.mounts_fd) {
		s->l.failed_call = "setns";
		rc = raw_call2(__NR_setns, s->l.mounts_fd, CLONE_NEWNS);
	}
	if (rc >= 0) {
		s->l.failed_call = "clone";
		int parent = s->l.leaves ? 0 : CLONE_PARENT;
		rc = raw_call5(__NR_clone, CLONE_VM | CLONE_VFORK | parent | SIGCHLD | s->l.namespaces, 0, 0, 0, 0);
		if (rc == 0) {
			s->l.failed_call = NULL;
			s->result = child_exec(&s->l);
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

/* Signals are blocked before every clone, libc's own too: their handlers know nothing of a child that shares memory. */
static uint64_t block_signals(void)
{
	uint64_t all = ~UINT64_C(0), before = 0;
	(void)raw_call4(__NR_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof all);
	return before;
}

static void restore_signals(uint64_t before)
{
	(void)raw_call4(__NR_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before);
}

/* Calls of a child never return: what the sanitizer noted about their frames would be held against ours. */
static void forget_frames(const char *stack, size_t size)
{
#ifdef __SANITIZE_ADDRESS__
	ASAN_UNPOISON_MEMORY_REGION(stack, size);
#endif
	(void)stack;
	(void)size;
}

#define WORD_BITS (8 * sizeof(unsigned long))

/* The scheduler likes to run a process on the processor of the one that made or woke it, which goes on and keeps it waiting: then
 * nothing is won by starting early. */
void launch_keep_away(pid_t pid)
{
	unsigned long cpus[CHILD_MAX_CPUS / WORD_BITS] = {0};
	unsigned cpu = 0;
	long size = raw_call3(__NR_sched_getaffinity, 0, sizeof cpus, cpus);
	if (size <= 0 || raw_call3(__NR_getcpu, &cpu, 0, 0) < 0 || cpu >= CHILD_MAX_CPUS)
		return;
	cpus[cpu / WORD_BITS] &= ~(1ul << cpu % WORD_BITS);
	(void)raw_call3(__NR_sched_setaffinity, pid, size, cpus); /* refused where there is no other */
}

IN_CHILD static int begin(struct launch_starter *s)
{
	s->l.failed_call = NULL;
	s->result = 0;
	s->child = 0;
	s->pid = clone(starter_main, s->stack + sizeof s->stack, CLONE_VM | SIGCHLD, s);
	return s->pid < 0 ? -errno : 0;
}

int launch_begin(struct launch_starter *s)
{
	uint64_t before = block_signals();
	int rc = begin(s);
	if (rc == 0)
		launch_keep_away(s->pid);
	restore_signals(before);
	return rc;
}

int launch_end(struct launch_starter *s, pid_t *ret_pid)
{
	wait_for(s->pid);
	forget_frames(s->stack, sizeof s->stack);
	if (s->result == 0 && s->child == 0) { /* somebody killed the starter */
		s->l.failed_call = "clone";
		return -ECHILD;
	}
	if (s->result < 0 && s->child > 0)
		wait_for(s->child);
	else if (s->result == 0)
		*ret_pid = s->child;
	return s->result;
}

/* In namespaces that exist; the caller waits all the same. */
static int launch_inside(struct launch *l, pid_t *ret_pid)
{
	struct launch_starter s = {.l = *l};
	uint64_t before = block_signals();
	int rc = begin(&s);
	restore_signals(before);
	l->failed_call = "clone";
	if (rc < 0)
		return rc;
	rc = launch_end(&s, ret_pid);
	l->failed_call = rc < 0 ? s.l.failed_call : NULL;
	return rc;
}

IN_CHILD int launch(struct launch *l, pid_t *ret_pid)
{
	if (l->user_ns_fd || l->join_fd || l->outer_user || l->leaves)
		return launch_inside(l, ret_pid);
	_Alignas(16) char stack[LAUNCH_STACK_BYTES];
	struct shared s = {.l = l};
	l->failed_call = NULL;
	uint64_t before = block_signals();
	pid_t pid = clone(child_main, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD | l->namespaces, &s);
	int rc = pid < 0 ? -errno : s.result;
	forget_frames(stack, sizeof stack);
	restore_signals(before);
	if (pid < 0)
		l->failed_call = "clone";
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
	uint64_t before = block_signals();
	pid_t pid = clone(step_main, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, &s);
	int rc = pid < 0 ? -errno : 0;
	forget_frames(stack, sizeof stack);
	restore_signals(before);
	if (pid > 0)
		wait_for(pid);
	return rc;
}
