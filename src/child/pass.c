/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "child/pass.h"

#include "child/raw_calls.h"

#include <linux/errno.h>

/* The kernel's headers for programs do not have these. */
#define MSG_DONTWAIT_FLAG 0x40
#define MSG_NOSIGNAL_FLAG 0x4000
#define MSG_CMSG_CLOEXEC_FLAG 0x40000000
#define SOL_SOCKET_LEVEL 1
#define SCM_RIGHTS_TYPE 1
#define SCM_CREDENTIALS_TYPE 2

/* struct cmsghdr, iovec, msghdr and ucred as the kernel lays them out on 64-bit machines. */
struct ancillary_head {
	uint64_t len; /* with this head, without padding */
	int level, type;
};
struct io_vector {
	void *base;
	uint64_t len;
};
struct message_head {
	void *name;
	int namelen, pad;
	struct io_vector *iov;
	uint64_t iovlen;
	void *control;
	uint64_t controllen;
	int flags, pad2;
};
struct credentials {
	int pid;
	uint32_t uid, gid;
};

#define ALIGNED(n) (((n) + 7) & ~(uint64_t)7)

long pass_send(int socket, const struct child_message *m, const int *fds, unsigned n_fds)
{
	struct {
		struct ancillary_head head;
		int fds[PASS_MAX_FDS];
	} rights = {{sizeof rights.head + n_fds * sizeof(int), SOL_SOCKET_LEVEL, SCM_RIGHTS_TYPE}, {0}};
	struct io_vector iov = {(void *)(uintptr_t)m, sizeof *m};
	struct message_head head = {.iov = &iov, .iovlen = 1};
	for (unsigned i = 0; i < n_fds && i < PASS_MAX_FDS; i++)
		rights.fds[i] = fds[i]; /* cppcheck-suppress objectIndex ; pass_send_fd gives one and says so */
	if (n_fds > 0) {
		head.control = &rights;
		head.controllen = rights.head.len;
	}
	return raw_call3(__NR_sendmsg, socket, &head, MSG_NOSIGNAL_FLAG);
}

long pass_send_fd(int socket, uint32_t type, int fd)
{
	const struct child_message m = {.type = type};
	return pass_send(socket, &m, &fd, 1);
}

/* The kernel wrote `len` bytes of parts there, each with a head; the last one need not be padded. */
static void read_ancillary(const char *at, uint64_t len, struct pass_received *ret)
{
	const char *end = at + len;
	while (at + sizeof(struct ancillary_head) <= end) {
		const struct ancillary_head *head = (const void *)at;
		const void *data = head + 1;
		if (head->len < sizeof *head || head->len > (uint64_t)(end - at))
			return;
		if (head->level == SOL_SOCKET_LEVEL && head->type == SCM_CREDENTIALS_TYPE)
			ret->pid = ((const struct credentials *)data)->pid;
		if (head->level == SOL_SOCKET_LEVEL && head->type == SCM_RIGHTS_TYPE)
			for (uint64_t i = 0; i < (head->len - sizeof *head) / sizeof(int) && ret->n_fds < PASS_MAX_FDS;
			     i++)
				ret->fds[ret->n_fds++] = ((const int *)data)[i];
		at += ALIGNED(head->len);
	}
}

long pass_receive(int socket, enum pass_wait wait, struct pass_received *ret)
{
	/* Room for exactly so many descriptors: the kernel closes those that do not fit. */
	_Alignas(8) char ancillary[ALIGNED(sizeof(struct ancillary_head) + sizeof(struct credentials)) +
				   sizeof(struct ancillary_head) + PASS_MAX_FDS * sizeof(int)];
	struct io_vector iov = {&ret->m, sizeof ret->m};
	struct message_head head = {.iov = &iov, .iovlen = 1, .control = ancillary, .controllen = sizeof ancillary};
	ret->pid = 0;
	ret->n_fds = 0;
	long size = raw_call3(__NR_recvmsg, socket, &head,
			      MSG_CMSG_CLOEXEC_FLAG | (wait == PASS_NO_WAIT ? MSG_DONTWAIT_FLAG : 0));
	if (size <= 0)
		return size;
	read_ancillary(ancillary, head.controllen, ret);
	if (size == (long)sizeof ret->m)
		return 1;
	pass_close(ret);
	return -EBADMSG;
}

int pass_take_fd(struct pass_received *in, unsigned i)
{
	if (i >= in->n_fds)
		return -1;
	int fd = in->fds[i];
	in->fds[i] = -1;
	return fd;
}

void pass_close(struct pass_received *in)
{
	for (unsigned i = 0; i < in->n_fds; i++)
		if (in->fds[i] >= 0)
			(void)r_close(in->fds[i]);
	in->n_fds = 0;
}
