/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The kernel makes namespaces in whoever calls clone, and takes as long for it as we do to read the configuration. So a starter
 * is in between: a process that shares the caller's memory while the caller goes on. It has a stack of its own, and makes
 * system calls only. CLONE_PARENT makes the child the caller's and not the starter's. clone(2) and not clone3(2), as in
 * launch.c. */
#include "child/ahead.h"

#include "child/become.h"
#include "child/memory.h"
#include "child/program.h"
#include "sys/raw.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>

#define SAFE_FD 32 /* above every descriptor that the child puts something else in */
#define MAX_CPUS 1024
#define WORD_BITS (8 * sizeof(unsigned long))

static const struct {
	uint32_t kind;
	char source[4], target[8]; /* in place: see ahead.h */
} beginning[AHEAD_MOUNTS] = {
	{CHILD_MOUNT_READ, "/", "/"},
	{CHILD_MOUNT_DEV, "", "/dev"},
	{CHILD_MOUNT_PROC, "", "/proc"},
};

static bool is_same(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

bool ahead_makes(enum child_mount_kind kind, const char *source, const char *target)
{
	for (unsigned i = 0; i < AHEAD_MOUNTS; i++)
		if (kind == beginning[i].kind && is_same(target, beginning[i].target))
			return !beginning[i].source[0] || is_same(source, beginning[i].source);
	return false;
}

int ahead_open_mount_table(void)
{
	return (int)raw_call4(__NR_openat, AT_FDCWD, "/proc/thread-self/mountinfo", O_RDONLY | O_CLOEXEC, 0);
}

/* ── What the child is given ── */

/* A compiler would call memset for it, which libc finds out how to do when it begins. */
static void clear(void *p, size_t n)
{
	for (volatile char *c = p; n > 0; n--)
		*c++ = 0;
}

static int plan_fd(bool is_privileged)
{
	struct {
		struct child_plan head;
		struct child_mount mounts[AHEAD_MOUNTS];
		char texts[AHEAD_MOUNTS][2][8];
	} plan;
	clear(&plan, sizeof plan);
	plan.head.magic = CHILD_JOB_MAGIC;
	plan.head.size = sizeof plan;
	plan.head.flags = (is_privileged ? CHILD_PLAN_USER_LAST : 0) | CHILD_PLAN_LOOPBACK | CHILD_PLAN_NO_NESTED |
			  CHILD_PLAN_AHEAD;
	plan.head.uid = (uint32_t)raw_call0(__NR_geteuid);
	plan.head.gid = (uint32_t)raw_call0(__NR_getegid);
	plan.head.n_mounts = AHEAD_MOUNTS;
	plan.head.mounts.at = (uint64_t)((char *)plan.mounts - (char *)&plan);
	for (unsigned i = 0; i < AHEAD_MOUNTS; i++) {
		struct child_mount *m = &plan.mounts[i];
		for (unsigned k = 0; k < sizeof beginning[i].source; k++)
			plan.texts[i][0][k] = beginning[i].source[k];
		for (unsigned k = 0; k < sizeof beginning[i].target; k++)
			plan.texts[i][1][k] = beginning[i].target[k];
		m->kind = beginning[i].kind;
		m->source.at = plan.texts[i][0][0] ? (uint64_t)(plan.texts[i][0] - (char *)&plan) : 0;
		m->target.at = (uint64_t)(plan.texts[i][1] - (char *)&plan);
		m->mode = 0755;
		m->size = CHILD_SMALL_TMPFS;
	}
	return memory_sealed("airlock-plan", MFD_NOEXEC_SEAL, &plan, sizeof plan);
}

static void close_if_open(int fd)
{
	if (fd >= 0)
		(void)raw_call1(__NR_close, fd);
}

/* Takes fd. */
static int lift(int fd)
{
	long lifted = fd < 0 ? fd : raw_call3(__NR_fcntl, fd, F_DUPFD_CLOEXEC, SAFE_FD);
	close_if_open(fd);
	return (int)lifted;
}

/* ── The starter ── */

/* The child has this stack to itself until it is another program, and never returns; as vfork(2) has it. */
__attribute__((noreturn, used)) static void starter_main(struct ahead *a)
{
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
	__builtin_unreachable();
}

/* clone(3) would write errno, where there may be none. */
static long start_starter(struct ahead *a)
{
	const unsigned long flags = CLONE_VM | SIGCHLD;
	char *top = a->stack + sizeof a->stack;
#if defined(__x86_64__)
	register long none __asm__("r10") = 0;
	register long no_tls __asm__("r8") = 0;
	register struct ahead *arg __asm__("r12") = a;
	register void (*fn)(struct ahead *) __asm__("r13") = starter_main;
	long ret;
	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "xor %%ebp, %%ebp\n\t"
			 "mov %%r12, %%rdi\n\t"
			 "call *%%r13\n\t"
			 "hlt\n"
			 "1:"
			 : "=a"(ret)
			 : "a"(__NR_clone), "D"(flags), "S"(top), "d"(0), "r"(none), "r"(no_tls), "r"(arg), "r"(fn)
			 : "rcx", "r11", "memory");
	return ret;
#elif defined(__aarch64__)
	register long nr __asm__("x8") = __NR_clone;
	register long x0 __asm__("x0") = (long)flags;
	register long x1 __asm__("x1") = (long)top;
	register long x2 __asm__("x2") = 0;
	register long x3 __asm__("x3") = 0;
	register long x4 __asm__("x4") = 0;
	register struct ahead *arg __asm__("x19") = a;
	register void (*fn)(struct ahead *) __asm__("x20") = starter_main;
	__asm__ volatile("svc #0\n\t"
			 "cbnz x0, 1f\n\t"
			 "mov x29, xzr\n\t"
			 "mov x0, x19\n\t"
			 "blr x20\n\t"
			 "brk #0\n"
			 "1:"
			 : "+r"(x0)
			 : "r"(nr), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(arg), "r"(fn)
			 : "memory", "x30");
	return x0;
#endif
}

/* The scheduler likes to start a process on the processor of the one that made it, which goes on and keeps it waiting; then
 * nothing is won. Its own mask is put back at once: where it is, it stays. */
static void move_elsewhere(long pid)
{
	unsigned long allowed[MAX_CPUS / WORD_BITS], others[MAX_CPUS / WORD_BITS];
	unsigned cpu = 0;
	clear(allowed, sizeof allowed);
	long len = raw_call3(__NR_sched_getaffinity, 0, sizeof allowed, allowed);
	if (len <= 0 || raw_call3(__NR_getcpu, &cpu, 0, 0) < 0 || cpu >= MAX_CPUS)
		return;
	for (unsigned i = 0; i < MAX_CPUS / WORD_BITS; i++)
		others[i] = allowed[i] & ~(i == cpu / WORD_BITS ? 1ul << cpu % WORD_BITS : 0);
	if (raw_call3(__NR_sched_setaffinity, pid, len, others) == 0) /* refused where there is no other */
		(void)raw_call3(__NR_sched_setaffinity, pid, len, allowed);
}

static int start(struct ahead *a)
{
	uint64_t all = ~UINT64_C(0), before = 0;
	(void)raw_call4(__NR_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof all);
	long pid = start_starter(a);
	if (pid > 0)
		move_elsewhere(pid);
	(void)raw_call4(__NR_rt_sigprocmask, SIG_SETMASK, &before, 0, sizeof before);
	a->starter = pid > 0 ? (pid_t)pid : 0;
	return pid < 0 ? (int)pid : 0;
}

/* ── Beginning ── */

static void fill(struct ahead *a, bool is_privileged)
{
	a->l.namespaces = (is_privileged ? 0 : CLONE_NEWUSER) | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET |
			  CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
	a->argv[0] = "airlock";
	a->argv[1] = "view";
	a->argv[2] = NULL;
	a->l.argv = a->argv;
	a->l.uid = (uint32_t)raw_call0(__NR_geteuid);
	a->l.gid = (uint32_t)raw_call0(__NR_getegid);
	a->l.new_session = 1;
	a->l.failed_call = NULL;
	a->result = 0;
	a->child = 0;
}

/* Every place the child gets something in later is taken, by its socket: what comes with CHILD_TAKE is not in the way. */
static int begin_with(struct ahead *a, int control, int plan)
{
	int program = lift(memory_sealed("airlock-init", MFD_EXEC, child_init_bytes, child_init_size));
	int rc = program < 0 ? program : control < 0 ? control : plan < 0 ? plan : 0;
	a->l.program_fd = program;
	for (int i = 0; i < LAUNCH_FDS; i++)
		a->l.fds[i] = control;
	a->l.fds[CHILD_FD_PLAN] = plan;
	if (rc == 0)
		rc = start(a);
	close_if_open(program);
	return rc;
}

int ahead_begin(struct ahead *a)
{
	int sockets[2] = {-1, -1}, one = 1;
	bool is_privileged = become_is_privileged() != 0;
	fill(a, is_privileged);
	/* Before the namespaces, so that nothing can change unnoticed. */
	a->mounts_fd = ahead_open_mount_table();
	if (a->mounts_fd < 0)
		return a->mounts_fd;
	int rc = (int)raw_call4(__NR_socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets);
	a->control_fd = sockets[0];
	if (rc >= 0)
		rc = (int)raw_call5(__NR_setsockopt, a->control_fd, SOL_SOCKET, SO_PASSCRED, &one, sizeof one);
	int control = lift(sockets[1]), plan = rc < 0 ? -1 : lift(plan_fd(is_privileged));
	if (rc >= 0)
		rc = begin_with(a, control, plan);
	close_if_open(control);
	close_if_open(plan);
	if (rc >= 0)
		return 0;
	close_if_open(a->control_fd);
	close_if_open(a->mounts_fd);
	return rc;
}
