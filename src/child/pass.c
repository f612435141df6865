/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "child/pass.h"

#include "child/raw_calls.h"

#include <linux/errno.h>

#define MSG_NOSIGNAL_FLAG 0x4000
#define MSG_CMSG_CLOEXEC_FLAG 0x40000000
#define SOL_SOCKET_LEVEL 1
#define SCM_RIGHTS_TYPE 1

#define HEADER_SIZE 16 /* of struct cmsghdr */

/* One message and its descriptors, in the kernel's layout of struct msghdr and cmsghdr on 64-bit machines. */
struct parcel {
	struct child_message m;
	struct {
		uint64_t len;
		int level, type;
		int fds[PASS_MAX_FDS];
	} control;
	struct {
		void *base;
		uint64_t len;
	} iov;
	struct {
		void *name;
		int namelen, pad;
		void *iov;
		uint64_t iovlen;
		void *control;
		uint64_t controllen;
		int flags, pad2;
	} msg;
};

static void pack(struct parcel *p, unsigned n_fds)
{
	p->control.len = HEADER_SIZE + n_fds * sizeof(int);
	p->control.level = SOL_SOCKET_LEVEL;
	p->control.type = SCM_RIGHTS_TYPE;
	p->iov.base = &p->m;
	p->iov.len = sizeof p->m;
	p->msg.iov = &p->iov;
	p->msg.iovlen = 1;
	p->msg.control = &p->control;
	p->msg.controllen = p->control.len; /* not rounded up: no room for more than requested */
}

long pass_fd(int socket, uint32_t type, int fd)
{
	struct parcel p = {.m = {.type = type}};
	pack(&p, 1);
	p.control.fds[0] = fd;
	return raw_call3(__NR_sendmsg, socket, &p.msg, MSG_NOSIGNAL_FLAG);
}

int pass_take(int socket, struct child_message *ret, int *ret_fds, unsigned n)
{
	struct parcel p = {0};
	pack(&p, n);
	long size = raw_call3(__NR_recvmsg, socket, &p.msg, MSG_CMSG_CLOEXEC_FLAG);
	if (size != (long)sizeof p.m)
		return -1;
	*ret = p.m;
	/* For a message without descriptors only controllen says so: the rest is what we wrote ourselves. */
	unsigned came = p.msg.controllen < HEADER_SIZE ? 0 : (unsigned)((p.control.len - HEADER_SIZE) / sizeof(int));
	for (unsigned i = 0; i < came; i++)
		ret_fds[i] = p.control.fds[i];
	return (int)came;
}

int pass_receive(int socket, int *ret_why)
{
	struct child_message m;
	int fd;
	int came = pass_take(socket, &m, &fd, 1);
	*ret_why = came < 0 ? ESRCH : m.type == CHILD_FAILED ? m.b : EMFILE;
	return came == 1 ? fd : -1;
}
