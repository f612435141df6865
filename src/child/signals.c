/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "child/signals.h"

#include "child/raw_calls.h"
#include "child/watch_proc.h"

#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#ifndef F_SETOWN_EX
#define F_SETOWN_EX 15
#endif
#define IOCTL_FIOSETOWN 0x8901u
#define IOCTL_SIOCSPGRP 0x8902u
#define DEPTH_MAX 65536 /* of processes that started each other: more than a machine has */
#define STATUS_BYTES 1024

/* Calls whose first argument must be the caller itself. */
static const int to_itself[] = {__NR_tgkill, __NR_rt_sigqueueinfo, __NR_rt_tgsigqueueinfo};
#define N_TO_ITSELF (sizeof to_itself / sizeof *to_itself)

static int is_to_itself(int nr)
{
	for (size_t i = 0; i < N_TO_ITSELF; i++)
		if (to_itself[i] == nr)
			return 1;
	return 0;
}

int signals_is(int nr)
{
	return nr == __NR_kill || nr == __NR_tkill || is_to_itself(nr);
}

/* ── The rules ── */

static size_t add_number(struct sock_filter *code, int nr, unsigned verdict)
{
	code[0] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)nr, 0, 1);
	code[1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, verdict);
	return 2;
}

/* EPERM if the second argument is one of two. */
static size_t add_commands(struct sock_filter *code, int nr, unsigned one, unsigned other)
{
	code[0] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)nr, 0, 5);
	code[1] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					       (unsigned)(offsetof(struct seccomp_data, args) + sizeof(__u64)));
	code[2] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, one, 1, 0);
	code[3] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, other, 0, 1);
	code[4] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
	code[5] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offsetof(struct seccomp_data, nr));
	return 6;
}

size_t signals_rules(struct sock_filter *code)
{
	size_t n = add_number(code, __NR_kill, SECCOMP_RET_USER_NOTIF);
	n += add_number(code + n, __NR_tkill, SECCOMP_RET_USER_NOTIF);
	for (size_t i = 0; i < N_TO_ITSELF; i++)
		n += add_number(code + n, to_itself[i], SECCOMP_RET_USER_NOTIF);
	/* Programs then take kill, as on kernels that do not have it. */
	n += add_number(code + n, __NR_pidfd_send_signal, SECCOMP_RET_ERRNO | ENOSYS);
	/* The owner of a descriptor gets a signal of the caller's choice when something can be read from it. */
	n += add_commands(code + n, __NR_fcntl, F_SETOWN, F_SETOWN_EX);
	n += add_commands(code + n, __NR_ioctl, IOCTL_FIOSETOWN, IOCTL_SIOCSPGRP);
	return n;
}
_Static_assert(2 * (3 + N_TO_ITSELF) + 2 * 6 <= SIGNALS_RULES_MAX, "SIGNALS_RULES_MAX is too small");

/* ── Who is inside ── */

/* A number from its status, or -1. */
static int status_of(int pid, const char *name)
{
	char path[WATCH_PATH], text[STATUS_BYTES];
	watch_path(path, pid, "status");
	return watch_read(path, text, sizeof text) < 0 ? -1 : (int)watch_find_number(text, name);
}

static int descends(int pid)
{
	int self = (int)r_getpid();
	for (int depth = 0; pid > 1 && depth < DEPTH_MAX; depth++) {
		pid = status_of(pid, "PPid:");
		if (pid == self)
			return 1;
	}
	return 0;
}

/* A process that was there all the time had its number all the time. Twice, because those above it may have ended meanwhile
 * and left their numbers to others. */
static int is_inside(int pid, int pidfd)
{
	return descends(pid) && raw_call4(__NR_pidfd_send_signal, pidfd, 0, 0, 0) == 0 && descends(pid);
}

/* ── Sending ── */

static long send_to_process(int pid, int sig)
{
	long fd = raw_call2(__NR_pidfd_open, pid, 0);
	if (fd < 0) /* EINVAL: the number of a thread */
		return fd == -EINVAL ? -ESRCH : fd;
	long rc = is_inside(pid, (int)fd) ? raw_call4(__NR_pidfd_send_signal, fd, sig, 0, 0) : -EPERM;
	(void)r_close((int)fd);
	return rc;
}

/* The command began in a session of ours, if it has a new one, and cannot enter another that is there. */
static long send_to_own_group(int caller, int sig)
{
	long group = raw_call1(__NR_getpgid, caller), session = raw_call1(__NR_getsid, caller),
	     ours = raw_call1(__NR_getsid, 0);
	if (group <= 1 || session < 0 || ours < 0)
		return -ESRCH;
	return session != ours || ours == r_getpid() ? r_kill(-(int)group, sig) : -EPERM;
}

/* A group is its leader's. Of one whose leader has ended nobody can say whose it is. */
static long send_to_group(int caller, int group, int sig)
{
	if (raw_call1(__NR_getpgid, caller) == group)
		return send_to_own_group(caller, sig);
	return raw_call1(__NR_getpgid, group) == group && descends(group) ? r_kill(-group, sig) : -EPERM;
}

static long send_kill(int caller, int pid, int sig)
{
	if (pid > 0)
		return send_to_process(pid, sig);
	if (pid == 0)
		return send_to_own_group(caller, sig);
	return pid == -1 || pid == -2147483647 - 1 ? -EPERM : send_to_group(caller, -pid, sig);
}

void signals_answer(const struct seccomp_notif *request, struct seccomp_notif_resp *answer)
{
	int caller = (int)request->pid, nr = request->data.nr;
	int target = (int)request->data.args[0], sig = (int)request->data.args[1];
	int process = status_of(caller, "Tgid:");
	if (process > 0 && nr != __NR_tkill && target == process)
		answer->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	else if (nr == __NR_kill)
		answer->error = (int)send_kill(caller, target, sig);
	else if (nr == __NR_tkill && process > 0) /* the kernel refuses a thread of another process */
		answer->error = (int)raw_call3(__NR_tgkill, process, target, sig);
	else
		answer->error = -EPERM;
}
