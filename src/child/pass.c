/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "child/pass.h"

#include "child/raw_calls.h"

#include <linux/errno.h>

#define MSG_NOSIGNAL_FLAG 0x4000
#define MSG_CMSG_CLOEXEC_FLAG 0x40000000
#define SCM_RIGHTS_TYPE 1

/* One message with one descriptor, as the kernel lays struct msghdr and cmsghdr out on 64-bit machines. */
struct fd_message {
	struct child_message m;
	struct {
		uint64_t len;
		int level, type;
		int fd, pad;
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

static void prepare_fd_message(struct fd_message *f)
{
	*f = (struct fd_message){.m = {0}};
	f->control.len = 16 + sizeof(int);
	f->control.level = 1; /* SOL_SOCKET */
	f->control.type = SCM_RIGHTS_TYPE;
	f->iov.base = &f->m;
	f->iov.len = sizeof f->m;
	f->msg.iov = &f->iov;
	f->msg.iovlen = 1;
	f->msg.control = &f->control;
	f->msg.controllen = sizeof f->control;
}

long pass_fd(int socket, uint32_t type, int fd)
{
	struct fd_message f;
	prepare_fd_message(&f);
	f.m.type = type;
	f.control.fd = fd;
	return raw_call3(__NR_sendmsg, socket, &f.msg, MSG_NOSIGNAL_FLAG);
}

int pass_receive(int socket, int *ret_why)
{
	struct fd_message f;
	prepare_fd_message(&f);
	f.control.fd = -1;
	long n = raw_call3(__NR_recvmsg, socket, &f.msg, MSG_CMSG_CLOEXEC_FLAG);
	*ret_why = n != (long)sizeof f.m ? ESRCH : f.m.type == CHILD_FAILED ? f.m.b : EMFILE;
	return n == (long)sizeof f.m && f.msg.controllen >= 16 + sizeof(int) ? f.control.fd : -1;
}
