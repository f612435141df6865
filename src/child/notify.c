/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "child/notify.h"

#include "child/child_job.h"
#include "child/gate_sockets.h"
#include "child/missing.h"
#include "child/observe.h"
#include "child/raw_calls.h"
#include "child/refused.h"
#include "child/rename.h"
#include "child/signals.h"

#include <linux/audit.h>
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/filter.h>
#include <linux/ioctl.h>
#include <linux/seccomp.h>

/* Linux 6.6: the process woken for a notification runs on the CPU of the caller, which waits anyway. */
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS _IOW('!', 4, __u64)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#endif

#if defined(__x86_64__)
#define OWN_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCH AUDIT_ARCH_AARCH64
#endif

static const int renames[] = {
#ifdef __NR_rename
	__NR_rename,
#endif
	__NR_renameat,
	__NR_renameat2,
};
#define N_RENAMES (sizeof renames / sizeof *renames)

/* ── The filter ── */

#define NOTIFY_CALLS_MAX 64

struct program {
	struct sock_filter *code;
	size_t len;
};

static void add(struct program *p, struct sock_filter instruction)
{
	p->code[p->len++] = instruction;
}

static void add_load(struct program *p, size_t offset)
{
	add(p, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offset));
}

static void add_return(struct program *p, unsigned verdict)
{
	add(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, verdict));
}

/* Only if the pointer in an argument is set. The number must be loaded, and still is where another call goes on. */
static void add_call_with(struct program *p, int nr, unsigned argument)
{
	size_t at = offsetof(struct seccomp_data, args) + argument * sizeof(__u64);
	add(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)nr, 0, 6));
	add_load(p, at);
	add(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 2));
	add_load(p, at + sizeof(__u32));
	add(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0));
	add_return(p, SECCOMP_RET_USER_NOTIF);
	add_return(p, SECCOMP_RET_ALLOW);
}

/* Programs that walk trees (grep -r, find, git) open what they have just listed, for reading and through a descriptor
 * of its directory. Such a file is not hidden, or it would not have been listed; and waiting here for each file would
 * make them several times slower. The number must be loaded, and is not afterwards. */
static void add_openat(struct program *p)
{
	const unsigned writes = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC;
	add(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_openat, 0, 6));
	add_load(p, offsetof(struct seccomp_data, args) + 2 * sizeof(__u64));
	add(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, writes, 2, 0));
	add_load(p, offsetof(struct seccomp_data, args));
	add(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)AT_FDCWD, 0, 1));
	add_return(p, SECCOMP_RET_USER_NOTIF);
	add_return(p, SECCOMP_RET_ALLOW);
}

/* Numbers, sorted. */
struct numbers {
	unsigned v[NOTIFY_CALLS_MAX];
	size_t n;
};

static void insert(struct numbers *s, int nr)
{
	size_t at = s->n;
	if (s->n == NOTIFY_CALLS_MAX)
		return;
	for (s->n++; at > 0 && s->v[at - 1] > (unsigned)nr; at--)
		s->v[at] = s->v[at - 1];
	s->v[at] = (unsigned)nr;
}

/* By bisection, in 2 n - 1 instructions: the kernel looks every number up when the filter is installed. Goes on at `found` with one
 * of these numbers, and behind that with others; the number stays loaded. */
static void add_search(struct program *p, const unsigned *v, size_t n, size_t found)
{
	if (n == 1) {
		unsigned char distance = (unsigned char)(found - p->len - 1);
		add(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, *v, distance,
						    (unsigned char)(distance + 1)));
		return;
	}
	add(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, v[n / 2], (unsigned char)(n / 2 * 2 - 1), 0));
	add_search(p, v, n / 2, found);
	add_search(p, v + n / 2, n - n / 2, found);
}

static void add_calls(struct program *p, const struct numbers *s)
{
	if (s->n == 0)
		return;
	add_search(p, s->v, s->n, p->len + 2 * s->n - 1);
	add_return(p, SECCOMP_RET_USER_NOTIF);
}

static void insert_all(struct numbers *s, unsigned flags)
{
	int nr;
	for (size_t i = 0; flags & (CHILD_RENAMES | CHILD_OBSERVE) && i < N_RENAMES; i++)
		insert(s, renames[i]);
	for (size_t i = 0; flags & CHILD_OBSERVE && (nr = observe_number(i)) >= 0; i++)
		if (nr != __NR_openat && nr != __NR_utimensat)
			insert(s, nr);
	if (flags & CHILD_GATE && !(flags & CHILD_OBSERVE))
		insert(s, __NR_connect);
}

static void add_observed(struct program *p)
{
	add_openat(p);
	add_load(p, offsetof(struct seccomp_data, nr));
	/* Without a path it is about a descriptor, as futimens(3): tar and cp do that for each file. */
	add_call_with(p, __NR_utimensat, 1);
}

size_t notify_rules(struct sock_filter *code, unsigned flags, int is_alone)
{
	struct program p = {.code = code};
	struct numbers numbers = {.n = 0};
	insert_all(&numbers, flags);
	if (is_alone) {
		add_load(&p, offsetof(struct seccomp_data, arch));
		add(&p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCH, 1, 0));
		add_return(&p, SECCOMP_RET_ALLOW);
	}
	add_load(&p, offsetof(struct seccomp_data, nr));
	if (flags & CHILD_SIGNALS)
		p.len += signals_rules(p.code + p.len);
	add_calls(&p, &numbers);
	if (flags & CHILD_OBSERVE)
		add_observed(&p);
	if (flags & (CHILD_GATE | CHILD_OBSERVE))
		add_call_with(&p, __NR_sendto, 4);
	add_return(&p, SECCOMP_RET_ALLOW);
	return p.len;
}
_Static_assert(NOTIFY_RULES_MAX >= SIGNALS_RULES_MAX + 2 * NOTIFY_CALLS_MAX + 32 && 2 * NOTIFY_CALLS_MAX < 255,
	       "NOTIFY_RULES_MAX is too small");

/* ── Answering ── */

void notify_prepare(int listener)
{
	(void)raw_call3(__NR_ioctl, listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
}

static int is_rename(int nr)
{
	for (size_t i = 0; i < N_RENAMES; i++)
		if (renames[i] == nr)
			return 1;
	return 0;
}

/* True if a caller may have left our mount namespace: it was allowed to, or there is no filter that refuses it. */
static int may_nest(unsigned flags)
{
	return (flags & (CHILD_NESTED | CHILD_REFUSED)) != CHILD_REFUSED;
}

/* A process without an answer waits forever; -ENOENT means that nobody waits any more. */
static void send_answer(int listener, struct seccomp_notif_resp *answer)
{
	long rc = -EINTR;
	for (int tries = 0; rc < 0 && rc != -ENOENT && tries < 100; tries++)
		rc = r_ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, answer);
}

void notify_connect(int listener, const struct child_message *m)
{
	struct seccomp_notif_resp answer;
	gate_answer(m, &answer);
	send_answer(listener, &answer);
}

void notify_refuse_waiting(int listener)
{
	uint64_t id;
	while (gate_take_waiting(&id)) {
		struct seccomp_notif_resp answer = {.id = id, .error = -EHOSTUNREACH};
		send_answer(listener, &answer);
	}
}

void notify_serve(int listener, unsigned flags, struct observer *observer)
{
	struct seccomp_notif request;
	for (size_t i = 0; i < sizeof request; i++)
		((volatile char *)&request)[i] = 0;
	if (r_ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &request) < 0)
		return;
	struct seccomp_notif_resp answer = {.id = request.id};
	int waits = 0;
	if (flags & CHILD_GATE && (request.data.nr == __NR_connect || request.data.nr == __NR_sendto))
		waits = gate_before_connect(&request);
	int is_granted = flags & CHILD_OBSERVE && observe_call(observer, listener, &request);
	if (waits)
		return;
	/* First, and whatever the flags are: the other filter leaves these calls to us, and continuing would carry
	 * them out. */
	if (refused_is(request.data.nr)) {
		answer.error = -EPERM;
		refused_note(observer, listener, &request);
	} else if (signals_is(request.data.nr)) {
		signals_answer(&request, &answer);
	} else if (is_rename(request.data.nr)) {
		if (flags & CHILD_RENAMES)
			rename_answer(&request, may_nest(flags), &answer);
		else
			answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	} else if (!observe_is(request.data.nr)) {
		answer.error = -EPERM; /* not a call that we ask for */
	} else if (!is_granted && missing_is(&request, (flags & CHILD_NESTED) != 0))
		answer.error = -ENOENT;
	else
		answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	send_answer(listener, &answer);
}
