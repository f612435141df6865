/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Until the child has executed its program the caller waits and both share their memory, as with posix_spawn(3): nothing is
 * copied, however large the host program is. So the child makes system calls only, touches nothing but its own stack and
 * *l, and gets no signal. clone(2) and not clone3(2), which the filters of many containers, and our own, do not let through;
 * there is nothing in it that we need.
 *
 * Ahead: in between is a starter, a process that shares the caller's memory while the caller runs on, because the kernel
 * makes the namespaces in whoever calls clone. It has a stack of its own, makes system calls only, and no wrapper of libc's
 * that would write errno, which is the caller's. CLONE_PARENT makes the child the caller's and not the starter's.
 *
 * | namespaces | uid          | capabilities                        | root, cwd    |
 * | new        | the caller's | all in the new user namespace; made | the caller's |
 * |            |              | ambient, or exec would drop them    |              |
 */
#include "child/launch.h"

#include "base/macros.h"
#include "sys/raw.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

#define LAST_SIGNAL 64
#define KERNEL_SIGSET_BYTES 8
#define MAX_CPUS 1024

/* The address sanitizer marks the frames of functions in memory that stays the caller's, and these never return. */
#define IN_CHILD __attribute__((no_sanitize_address))

IN_CHILD static int child_call(struct launch *l, const char *name, long rc)
{
	if (rc < 0)
		l->failed_call = name;
	return (int)rc;
}

IN_CHILD static int write_text(struct launch *l, const char *path, const char *text, size_t len)
{
	long fd = raw_call4(__NR_openat, AT_FDCWD, path, O_WRONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return child_call(l, path, fd);
	long rc = raw_call3(__NR_write, fd, text, len);
	(void)raw_call1(__NR_close, fd);
	return child_call(l, path, rc);
}

IN_CHILD static size_t put_number(char *out, uint32_t v)
{
	char digits[12];
	size_t n = 0, at = 0;
	do
		digits[n++] = (char)('0' + v % 10);
	while (v /= 10);
	while (n)
		out[at++] = digits[--n];
	return at;
}

/* "1000 1000 1" */
IN_CHILD static int write_map(struct launch *l, const char *path, uint32_t id)
{
	char text[40];
	size_t n = put_number(text, id);
	text[n++] = ' ';
	n += put_number(text + n, id);
	text[n++] = ' ';
	text[n++] = '1';
	return write_text(l, path, text, n);
}

/* Capabilities survive the execution of a program by somebody who is not root only when they are ambient. */
IN_CHILD static int keep_capabilities(struct launch *l)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct caps[2];
	int rc = child_call(l, "capget", raw_call2(__NR_capget, &head, caps));
	if (rc < 0)
		return rc;
	caps[0].inheritable = caps[0].permitted;
	caps[1].inheritable = caps[1].permitted;
	rc = child_call(l, "capset", raw_call2(__NR_capset, &head, caps));
	for (unsigned cap = 0; rc >= 0 && cap < 64; cap++)
		if (caps[cap / 32].permitted & 1u << cap % 32)
			rc = child_call(l, "prctl",
					raw_call5(__NR_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0));
	return rc;
}

IN_CHILD static int own_namespace(struct launch *l)
{
	int rc = write_text(l, "/proc/self/setgroups", "deny", 4);
	if (rc >= 0)
		rc = write_map(l, "/proc/self/uid_map", l->uid);
	if (rc >= 0)
		rc = write_map(l, "/proc/self/gid_map", l->gid);
	return rc < 0 ? rc : keep_capabilities(l);
}

/* Handlers go with exec; what the caller ignores would stay ignored. */
IN_CHILD static void reset_signals(void)
{
	struct {
		void *handler;
		unsigned long flags;
		void *restorer;
		uint64_t mask;
	} by_default = {0};
	for (int sig = 1; sig <= LAST_SIGNAL; sig++)
		(void)raw_call4(__NR_rt_sigaction, sig, &by_default, 0, KERNEL_SIGSET_BYTES);
}

IN_CHILD static int become(struct launch *l)
{
	static const char *const no_environment[] = {NULL};
	int rc = 0;
	reset_signals();
	if (l->new_session)
		(void)raw_call0(__NR_setsid);
	if (l->namespaces & CLONE_NEWUSER)
		rc = own_namespace(l);
	for (int i = 0; rc >= 0 && i < LAUNCH_FDS; i++)
		if (l->fds[i] >= 0)
			rc = child_call(l, "dup3", raw_call3(__NR_dup3, l->fds[i], i, 0));
	if (rc < 0)
		return rc;
	return child_call(l, "execveat",
			  raw_call5(__NR_execveat, l->program_fd, "", l->argv, no_environment, AT_EMPTY_PATH));
}

struct shared {
	struct launch *l;
	int result;
};

IN_CHILD static int child_main(void *data)
{
	struct shared *s = data;
	s->result = become(s->l);
	raw_call1(__NR_exit_group, 127);
	return 127;
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
	pid_t pid = clone(child_main, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD | l->namespaces, &s);
	int rc = pid < 0 ? -errno : s.result;
#ifdef __SANITIZE_ADDRESS__
	/* The child's calls never return: what the sanitizer noted about their frames would be held against ours. */
	ASAN_UNPOISON_MEMORY_REGION(stack, sizeof stack);
#endif
	(void)raw_call4(__NR_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before);
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

/* The child has this stack to itself until it is another program, and never returns; as vfork(2) has it. */
IN_CHILD static int starter_main(void *data)
{
	struct launch_ahead *a = data;
	long pid = raw_call5(__NR_clone, CLONE_VM | CLONE_VFORK | CLONE_PARENT | SIGCHLD | a->l.namespaces, 0, 0, 0, 0);
	if (pid == 0) {
		a->result = become(&a->l);
		raw_call1(__NR_exit_group, 127);
	}
	if (pid < 0) {
		a->l.failed_call = "clone";
		a->result = (int)pid;
	}
	a->child = pid < 0 ? 0 : (pid_t)pid;
	raw_call1(__NR_exit_group, 0);
	return 0;
}

/* The scheduler likes to start a process on the processor of the one that made it, which goes on and keeps it waiting; then
 * nothing is won. Its own mask is put back at once: where it is, it stays. */
static void move_elsewhere(pid_t pid)
{
	unsigned long allowed[MAX_CPUS / (8 * sizeof(unsigned long))] = {0}, others[AL_ARRAY_LEN(allowed)];
	unsigned cpu = 0;
	long len = raw_call3(__NR_sched_getaffinity, 0, sizeof allowed, allowed);
	if (len <= 0 || raw_call3(__NR_getcpu, &cpu, 0, 0) < 0 || cpu >= MAX_CPUS)
		return;
	memcpy(others, allowed, sizeof others);
	others[cpu / (8 * sizeof *others)] &= ~(1ul << cpu % (8 * sizeof *others));
	if (raw_call3(__NR_sched_setaffinity, pid, len, others) == 0) /* refused where there is no other */
		(void)raw_call3(__NR_sched_setaffinity, pid, len, allowed);
}

int launch_ahead(struct launch_ahead *a)
{
	uint64_t all = ~UINT64_C(0), before = 0;
	a->l.failed_call = NULL;
	a->result = 0;
	a->child = 0;
	(void)raw_call4(__NR_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof all);
	a->starter = clone(starter_main, a->stack + sizeof a->stack, CLONE_VM | SIGCHLD, a);
	int rc = a->starter < 0 ? -errno : 0;
	if (rc == 0)
		move_elsewhere(a->starter);
	(void)raw_call4(__NR_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before);
	return rc;
}

int launch_ahead_end(struct launch_ahead *a, pid_t *ret_pid)
{
	wait_for(a->starter);
#ifdef __SANITIZE_ADDRESS__
	ASAN_UNPOISON_MEMORY_REGION(a->stack, sizeof a->stack);
#endif
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
