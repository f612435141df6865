/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "filter/filter.h"

#include <errno.h>
#include <limits.h>
#include <linux/seccomp.h>
#include <stddef.h>

#define UNCHANGED 0xffffffffu

enum which { USER, GROUP };

/* A call, by architecture (-1: does not exist), and which of its arguments are ids. */
struct id_call {
	int number[2];
	unsigned char n, at[3];
	enum which which[3];
};

static const struct id_call calls[] = {
	{{92, -1}, 2, {1, 2}, {USER, GROUP}},		   /* chown */
	{{93, 55}, 2, {1, 2}, {USER, GROUP}},		   /* fchown */
	{{94, -1}, 2, {1, 2}, {USER, GROUP}},		   /* lchown */
	{{260, 54}, 2, {2, 3}, {USER, GROUP}},		   /* fchownat */
	{{105, 146}, 1, {0}, {USER}},			   /* setuid */
	{{106, 144}, 1, {0}, {GROUP}},			   /* setgid */
	{{113, 145}, 2, {0, 1}, {USER, USER}},		   /* setreuid */
	{{114, 143}, 2, {0, 1}, {GROUP, GROUP}},	   /* setregid */
	{{117, 147}, 3, {0, 1, 2}, {USER, USER, USER}},	   /* setresuid */
	{{119, 149}, 3, {0, 1, 2}, {GROUP, GROUP, GROUP}}, /* setresgid */
};
#define N_CALLS (sizeof calls / sizeof *calls)

static struct sock_filter load(size_t at)
{
	return (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)at);
}

/* The low half of an argument: the kernel uses no more of an id. Both architectures are little-endian. */
static size_t argument(unsigned number)
{
	return offsetof(struct seccomp_data, args) + number * sizeof(__u64);
}

struct ranges {
	const struct filter_id_range *v;
	unsigned n;
};

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

/* One call: its number, which skips the rest for every other call, then its arguments. */
static unsigned short add_call(const struct id_call *c, int number, const struct ranges known[2],
			       struct sock_filter *code)
{
	unsigned short n = 1;
	for (unsigned i = 0; i < c->n; i++)
		n = (unsigned short)(n + add_argument(c->at[i], &known[c->which[i]], code + n));
	code[0] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, (unsigned char)(n - 1));
	return n;
}

/* Most frequent calls have smaller numbers and skip all of this. */
unsigned short filter_ids(enum filter_arch arch, const struct filter_id_sets *known,
			  struct sock_filter code[FILTER_IDS_MAX])
{
	const struct ranges ranges[2] = {[USER] = {&known->users, 1}, [GROUP] = {known->groups, known->n_groups}};
	unsigned short n = 3;
	int first = INT_MAX;
	for (size_t i = 0; i < N_CALLS; i++) {
		if (calls[i].number[arch] < 0)
			continue;
		first = calls[i].number[arch] < first ? calls[i].number[arch] : first;
		code[n++] = load(offsetof(struct seccomp_data, nr));
		n = (unsigned short)(n + add_call(&calls[i], calls[i].number[arch], ranges, code + n));
	}
	code[0] = load(offsetof(struct seccomp_data, nr));
	code[1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (unsigned)first, 1, 0);
	code[2] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JA, (unsigned)n - 3, 0, 0);
	return n;
}
