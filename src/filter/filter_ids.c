/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The kernel looks at every number when a filter is installed, and compiles every instruction: so numbers are found by bisection, and
 * calls share what looks at their arguments. */
#include "filter/filter.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stddef.h>

#define UNCHANGED 0xffffffffu

/* Each looks at an argument and goes on with the next, up to the end of its group. */
enum look { USER_2, USER_1, USER_0, GROUP_2, GROUP_1, GROUP_0, OWNER_1, OWNER_2, AT_OWNER_2, AT_OWNER_3, LOOKS };

static const struct {
	unsigned char argument, is_group, is_last;
} looks[LOOKS] = {
	[USER_2] = {2, 0, 0},	  [USER_1] = {1, 0, 0},	    [USER_0] = {0, 0, 1},  [GROUP_2] = {2, 1, 0},
	[GROUP_1] = {1, 1, 0},	  [GROUP_0] = {0, 1, 1},    [OWNER_1] = {1, 0, 0}, [OWNER_2] = {2, 1, 1},
	[AT_OWNER_2] = {2, 0, 0}, [AT_OWNER_3] = {3, 1, 1},
};

struct id_call {
	unsigned number;
	enum look first;
};

/* By architecture, in the order of their numbers. */
static const struct {
	unsigned n;
	struct id_call v[10];
} calls[] = {
	[FILTER_ARCH_X86_64] = {10,
				{{92, OWNER_1},	      /* chown */
				 {93, OWNER_1},	      /* fchown */
				 {94, OWNER_1},	      /* lchown */
				 {105, USER_0},	      /* setuid */
				 {106, GROUP_0},      /* setgid */
				 {113, USER_1},	      /* setreuid */
				 {114, GROUP_1},      /* setregid */
				 {117, USER_2},	      /* setresuid */
				 {119, GROUP_2},      /* setresgid */
				 {260, AT_OWNER_2}}}, /* fchownat */
	[FILTER_ARCH_AARCH64] = {8,
				 {{54, AT_OWNER_2}, /* fchownat */
				  {55, OWNER_1},    /* fchown */
				  {143, GROUP_1},   /* setregid */
				  {144, GROUP_0},   /* setgid */
				  {145, USER_1},    /* setreuid */
				  {146, USER_0},    /* setuid */
				  {147, USER_2},    /* setresuid */
				  {149, GROUP_2}}}, /* setresgid */
};

/* A comparison can jump over 255 instructions. */
_Static_assert(FILTER_IDS_MAX <= 255 && 1 + 2 * 10 + LOOKS * (4 + 2 * FILTER_GROUPS_MAX) <= FILTER_IDS_MAX,
	       "FILTER_IDS_MAX does not fit");

struct ranges {
	const struct filter_id_range *v;
	unsigned n;
};

static struct sock_filter load(size_t at)
{
	return (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)at);
}

/* The low half of an argument: the kernel uses no more of an id. Both architectures are little-endian. */
static size_t argument(unsigned number)
{
	return offsetof(struct seccomp_data, args) + number * sizeof(__u64);
}

/* One argument: continues if it is UNCHANGED or in one of the ranges, else refuses. */
static unsigned short add_argument(unsigned at, const struct ranges *known, struct sock_filter *code)
{
	unsigned short n = 0, len = (unsigned short)(2 + 2 * known->n + 1);
	code[n++] = load(argument(at));
	code[n] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, UNCHANGED, (unsigned char)(len - n - 1), 0);
	n++;
	for (unsigned i = 0; i < known->n; i++) {
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, known->v[i].first, 0, 1);
		code[n] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, known->v[i].last, 0,
						       (unsigned char)(len - n - 1));
		n++;
	}
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
	return n;
}

/* How many instructions find a call among n. */
static unsigned short search_len(unsigned n)
{
	return (unsigned short)(n == 1 ? 1 : 1 + search_len(n / 2) + search_len(n - n / 2));
}

/* at: where the code begins, as `places` and `end` count. */
static void add_search(const struct id_call *v, unsigned n, unsigned short at, const unsigned short places[LOOKS],
		       unsigned short end, struct sock_filter *code)
{
	if (n == 1) {
		code[at] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, v->number,
							(unsigned char)(places[v->first] - at - 1),
							(unsigned char)(end - at - 1));
		return;
	}
	unsigned short low = search_len(n / 2);
	code[at] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, v[n / 2].number, (unsigned char)low, 0);
	add_search(v, n / 2, (unsigned short)(at + 1), places, end, code);
	add_search(v + n / 2, n - n / 2, (unsigned short)(at + 1 + low), places, end, code);
}

unsigned short filter_ids(enum filter_arch arch, const struct filter_id_sets *known,
			  struct sock_filter code[FILTER_IDS_MAX])
{
	const struct ranges users = {&known->users, 1}, groups = {known->groups, known->n_groups};
	unsigned short n = (unsigned short)(1 + search_len(calls[arch].n)), places[LOOKS], ends[LOOKS], n_ends = 0;
	for (unsigned i = 0; i < LOOKS; i++) {
		places[i] = n;
		n = (unsigned short)(n +
				     add_argument(looks[i].argument, looks[i].is_group ? &groups : &users, code + n));
		if (looks[i].is_last && i + 1 < LOOKS)
			ends[n_ends++] = n++;
	}
	for (unsigned i = 0; i < n_ends; i++)
		code[ends[i]] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JA, (unsigned)(n - ends[i] - 1), 0, 0);
	code[0] = load(offsetof(struct seccomp_data, nr));
	add_search(calls[arch].v, calls[arch].n, 1, places, n, code);
	return n;
}
