/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "backend/prepared.h"

#include "child/ahead.h"
#include "child/job.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

struct backend_prepared *backend_prepared_new(void)
{
	struct backend_prepared *p = calloc(1, sizeof *p);
	if (p)
		p->pid_fd = p->control_fd = p->host_mounts_fd = p->own_mounts_fd = -EBADF;
	return p;
}

int backend_prepared_settle(struct backend_prepared *p)
{
	if (!p->ahead)
		return 0;
	int rc = ahead_end(p->ahead, &p->pid);
	ahead_free(p->ahead);
	p->ahead = NULL;
	if (rc == 0)
		p->pid_fd = (int)syscall(SYS_pidfd_open, p->pid, 0);
	return rc;
}

void backend_prepared_spoil(struct backend_prepared *p)
{
	(void)backend_prepared_settle(p);
	/* By descriptor: where the caller ignores SIGCHLD the number may be another process's by now. */
	if (!p->spoilt && p->pid_fd >= 0)
		(void)syscall(SYS_pidfd_send_signal, p->pid_fd, SIGKILL, NULL, 0);
	p->spoilt = true;
	base_closep(&p->control_fd); /* and where there was no descriptor, this ends it */
	base_closep(&p->host_mounts_fd);
	base_closep(&p->own_mounts_fd); /* it keeps the mounts alive */
}

void backend_prepared_free(struct backend_prepared *p)
{
	if (!p)
		return;
	backend_prepared_spoil(p);
	siginfo_t info;
	while (p->pid > 0 && waitid(P_PID, (id_t)p->pid, &info, WEXITED) < 0 && errno == EINTR)
		;
	base_closep(&p->pid_fd);
	free(p->key);
	free(p);
}

static int descriptor_of(struct msghdr *msg)
{
	int fd = -EBADF;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
			memcpy(&fd, CMSG_DATA(c), sizeof fd);
	return fd;
}

/* READY with the mount table; anything else is the end of it. Nothing at all is fine. */
static bool read_news(struct backend_prepared *p)
{
	struct child_message m = {0};
	union {
		char bytes[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} ancillary;
	struct iovec iov = {&m, sizeof m};
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &ancillary, .msg_controllen = sizeof ancillary};
	ssize_t n = recvmsg(p->control_fd, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	_cleanup_close_ int fd = descriptor_of(&msg);
	if (n != (ssize_t)sizeof m || m.type != CHILD_READY || fd < 0 || p->own_mounts_fd >= 0)
		return false;
	p->own_mounts_fd = TAKE_FD(fd);
	return true;
}

/* A poll takes the news of a mount table away, so what it says is kept as `spoilt`. */
bool backend_prepared_look(struct backend_prepared *p)
{
	if (p->spoilt)
		return false;
	struct pollfd fds[] = {{p->host_mounts_fd, POLLPRI, 0}, {p->own_mounts_fd, POLLPRI, 0}};
	if (!read_news(p) || poll(fds, AL_ARRAY_LEN(fds), 0) != 0)
		backend_prepared_spoil(p);
	return !p->spoilt;
}
