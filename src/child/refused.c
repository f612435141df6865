/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "child/refused.h"

#include "child/caller.h"
#include "child/pass.h"
#include "child/raw_calls.h"
#include "child/seen_record.h"

#include <linux/audit.h>
#include <linux/errno.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>

#if defined(__x86_64__)
#define OWN_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCH AUDIT_ARCH_AARCH64
#endif

#define COMM_BYTES 16
/* As in src/filter/calls.txt. */
#define CLONE_NAMESPACES 0x7e020000u
#define UNSHARE_NAMESPACES 0x7e020080u

enum who {
	ANYBODY,      /* an ordinary user may do it outside, if the machine's settings allow it */
	ROOT,	      /* only root may */
	WITHOUT_USER, /* only root may, unless the flags also ask for a user namespace */
};

static const struct refused_call {
	int nr;
	unsigned char op, nested, who; /* nested: a profile may allow it */
	unsigned mask;		       /* refused only with one of these bits in the first argument; 0: always */
} rows[] = {
	{__NR_ptrace, CHILD_SEEN_TRACE, 1, ANYBODY, 0},
	{__NR_process_vm_readv, CHILD_SEEN_TRACE, 1, ANYBODY, 0},
	{__NR_process_vm_writev, CHILD_SEEN_TRACE, 1, ANYBODY, 0},
	{__NR_unshare, CHILD_SEEN_NAMESPACE, 1, WITHOUT_USER, UNSHARE_NAMESPACES},
	{__NR_clone, CHILD_SEEN_NAMESPACE, 1, WITHOUT_USER, CLONE_NAMESPACES},
	{__NR_setns, CHILD_SEEN_NAMESPACE, 1, ROOT, 0},
	{__NR_mount, CHILD_SEEN_MOUNT, 1, ROOT, 0},
	{__NR_umount2, CHILD_SEEN_MOUNT, 1, ROOT, 0},
	{__NR_pivot_root, CHILD_SEEN_MOUNT, 1, ROOT, 0},
	{__NR_fsopen, CHILD_SEEN_MOUNT, 1, ROOT, 0},
	{__NR_perf_event_open, CHILD_SEEN_PERF, 0, ANYBODY, 0},
	{__NR_bpf, CHILD_SEEN_BPF, 0, ANYBODY, 0},
	{__NR_keyctl, CHILD_SEEN_KEYS, 0, ANYBODY, 0},
	{__NR_add_key, CHILD_SEEN_KEYS, 0, ANYBODY, 0},
	{__NR_request_key, CHILD_SEEN_KEYS, 0, ANYBODY, 0},
	{__NR_userfaultfd, CHILD_SEEN_USERFAULT, 0, ANYBODY, 0},
	{__NR_fanotify_init, CHILD_SEEN_FANOTIFY, 0, ROOT, 0},
	{__NR_swapon, CHILD_SEEN_ADMIN, 0, ROOT, 0},
	{__NR_swapoff, CHILD_SEEN_ADMIN, 0, ROOT, 0},
	{__NR_reboot, CHILD_SEEN_ADMIN, 0, ROOT, 0},
	{__NR_init_module, CHILD_SEEN_ADMIN, 0, ROOT, 0},
	{__NR_finit_module, CHILD_SEEN_ADMIN, 0, ROOT, 0},
	{__NR_delete_module, CHILD_SEEN_ADMIN, 0, ROOT, 0},
	{__NR_settimeofday, CHILD_SEEN_ADMIN, 0, ROOT, 0},
	{__NR_clock_settime, CHILD_SEEN_ADMIN, 0, ROOT, 0},
};
#define N_ROWS (sizeof rows / sizeof *rows)
_Static_assert(N_ROWS * 6 + 8 <= REFUSED_RULES_MAX, "REFUSED_RULES_MAX is too small");

static const struct refused_call *row_of(int nr)
{
	for (size_t i = 0; i < N_ROWS; i++)
		if (rows[i].nr == nr)
			return &rows[i];
	return 0;
}

int refused_is(int nr)
{
	return row_of(nr) != 0;
}

/* ── The rules ── */

static size_t add_load(struct sock_filter *code, size_t offset)
{
	*code = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offset);
	return 1;
}

/* The number must be loaded, and is afterwards. */
static size_t add_row(struct sock_filter *code, const struct refused_call *r, unsigned verdict)
{
	size_t n = 0;
	code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)r->nr, 0, r->mask ? 4 : 1);
	if (r->mask) {
		n += add_load(code + n, offsetof(struct seccomp_data, args));
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, r->mask, 0, 1);
	}
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, verdict);
	if (r->mask)
		n += add_load(code + n, offsetof(struct seccomp_data, nr));
	return n;
}

size_t refused_rules(struct sock_filter *code, unsigned verdict, int nested)
{
	size_t n = add_load(code, offsetof(struct seccomp_data, arch));
	size_t arch =
		n++; /* calls of foreign architectures continue after the end; the distance is known only at the end */
	n += add_load(code + n, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < N_ROWS; i++)
		if (!nested || !rows[i].nested)
			n += add_row(code + n, &rows[i], verdict);
	code[arch] =
		(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCH, 0, (unsigned char)(n - arch - 1));
	return n;
}

/* ── Noting ── */

/* The supervisor gets the file even if the run is not observed, but only if it contains something. */
static int has_file(struct observer *o)
{
	if (o->seen)
		return 1;
	if (o->failed)
		return 0;
	long fd = observe_begin(o, o->job);
	o->failed = fd < 0;
	if (fd < 0)
		return 0;
	(void)pass_send_fd(CHILD_FD_CONTROL, CHILD_OBSERVER, (int)fd);
	(void)r_close((int)fd);
	return 1;
}

static int is_for_root(const struct refused_call *r, uint64_t flags)
{
	return r->who == ROOT || (r->who == WITHOUT_USER && !(flags & CLONE_NEWUSER));
}

void refused_note(struct observer *o, int listener, const struct seccomp_notif *request)
{
	const struct refused_call *r = row_of(request->data.nr);
	char comm[COMM_BYTES];
	if (!r || !has_file(o))
		return;
	size_t len = caller_read_name((int)request->pid, comm, sizeof comm);
	unsigned flags = CHILD_SEEN_CALL | (is_for_root(r, request->data.args[0]) ? CHILD_SEEN_FOR_ROOT : 0);
	record_note(o, listener, request->id, (struct record){r->op, flags, comm, len});
}
