/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The seccomp programs a command runs under, compiled from calls.txt while airlock is built (tools/filter).
 *
 *   struct filter_program p = filter_program(FILTER_ARCH_OWN, FILTER_NO_UNIX);
 *   … p.code, p.len into the job; the first process installs them right before the command's exec
 *
 * Both architectures are always there, so that each can be tested on the other.
 */
#pragma once

#include <linux/filter.h>

enum filter_arch { FILTER_ARCH_X86_64, FILTER_ARCH_AARCH64 };

#if defined(__x86_64__)
#define FILTER_ARCH_OWN FILTER_ARCH_X86_64
#elif defined(__aarch64__)
#define FILTER_ARCH_OWN FILTER_ARCH_AARCH64
#endif

enum {
	FILTER_NESTED = 1 << 0,	 /* its own namespaces, debuggers */
	FILTER_NO_UNIX = 1 << 1, /* no AF_UNIX sockets but pairs */
	FILTER_NO_INET = 1 << 2, /* no internet sockets at all */
	FILTER_NO_IPC = 1 << 3,	 /* no shared memory, semaphores and queues that are identified by a number or a name */
	FILTER_NO_TRUNCATE = 1 << 4, /* a file can be truncated only through a descriptor that was opened for writing */
	FILTER_ALL_FLAGS = (1 << 5) - 1,
};

struct filter_program {
	const struct sock_filter *code;
	unsigned short len;
	unsigned short noted; /* the instruction that refuses the calls which the table says are noted */
};

/* By architecture, then by flags. */
extern const struct filter_program filter_programs[];

static inline struct filter_program filter_program(enum filter_arch arch, unsigned flags)
{
	return filter_programs[(unsigned)arch * (FILTER_ALL_FLAGS + 1) + (flags & FILTER_ALL_FLAGS)];
}

/* ── Ids that the sandbox does not have ── */

/* Inside there are few user and group ids, often one of each. For other ids the kernel returns EINVAL; programs expect
 * EPERM, as ordinary users get everywhere, and fakeroot and tar continue after it. This goes in front of the program,
 * which handles every call that this part does not answer. */
#define FILTER_IDS_MAX 224
#define FILTER_GROUPS_MAX 8

struct filter_id_range {
	unsigned first, last; /* both are in it */
};

struct filter_id_sets {
	struct filter_id_range users, groups[FILTER_GROUPS_MAX];
	unsigned n_groups;
};

/* Returns the number of instructions it put into code. None if the command may have its own user namespaces, which
 * have other ids. */
unsigned short filter_ids(enum filter_arch arch, const struct filter_id_sets *known,
			  struct sock_filter code[FILTER_IDS_MAX]);
