/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "backend/backend_prestart.h"

#include "child/launch.h"
#include "child/pass.h"

#include <assert.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

struct backend_prestart *backend_prestart_new(enum backend_prestart_kind kind)
{
	struct backend_prestart *p = calloc(1, sizeof *p);
	if (!p)
		return NULL;
	p->kind = kind;
	p->stage = kind == BACKEND_PRESTART_WHOLE ? BACKEND_PRESTART_NAMESPACES : BACKEND_PRESTART_BEGUN;
	p->pid_fd = p->control_fd = p->host_mounts_fd = p->own_mounts_fd = -EBADF;
	return p;
}

bool backend_prestart_is_usable(const struct backend_prestart *p)
{
	return p && p->stage != BACKEND_PRESTART_TAKEN && p->stage != BACKEND_PRESTART_DROPPED;
}

void backend_prestart_enter(struct backend_prestart *p, enum backend_prestart_stage stage)
{
#define BIT(s) (1u << BACKEND_PRESTART_##s)
	static const unsigned next[] = {
		[BACKEND_PRESTART_BEGUN] = BIT(TOLD) | BIT(TAKEN) | BIT(DROPPED),
		[BACKEND_PRESTART_NAMESPACES] = BIT(MOUNTED) | BIT(DROPPED),
		[BACKEND_PRESTART_MOUNTED] = BIT(TAKEN) | BIT(DROPPED),
		[BACKEND_PRESTART_TOLD] = BIT(TAKEN) | BIT(DROPPED),
		[BACKEND_PRESTART_TAKEN] = 0,
		[BACKEND_PRESTART_DROPPED] = 0,
	};
#undef BIT
	assert(next[p->stage] & 1u << stage);
	p->stage = stage;
}

int backend_prestart_settle(struct backend_prestart *p)
{
	if (!p->starter)
		return 0;
	int rc = launch_end(p->starter, &p->pid);
	free(p->starter);
	p->starter = NULL;
	if (rc == 0)
		p->pid_fd = (int)syscall(SYS_pidfd_open, p->pid, 0);
	return rc;
}

void backend_prestart_drop(struct backend_prestart *p)
{
	if (!backend_prestart_is_usable(p))
		return;
	backend_prestart_enter(p, BACKEND_PRESTART_DROPPED);
	(void)backend_prestart_settle(p);
	/* By descriptor: where the caller ignores SIGCHLD the number may be another process's by now. */
	if (p->pid_fd >= 0)
		(void)syscall(SYS_pidfd_send_signal, p->pid_fd, SIGKILL, NULL, 0);
	base_closep(&p->control_fd); /* where there was no descriptor, this ends it */
	base_closep(&p->host_mounts_fd);
	base_closep(&p->own_mounts_fd); /* it keeps the mounts alive */
}

void backend_prestart_hand_over(struct backend_prestart *p, pid_t *ret_pid, int *ret_pid_fd, int *ret_control_fd)
{
	backend_prestart_enter(p, BACKEND_PRESTART_TAKEN);
	*ret_pid = p->pid;
	*ret_pid_fd = TAKE_FD(p->pid_fd);
	*ret_control_fd = TAKE_FD(p->control_fd);
	p->pid = 0;
	base_closep(&p->host_mounts_fd);
	base_closep(&p->own_mounts_fd); /* it would keep the mounts of the run alive */
}

void backend_prestart_free(struct backend_prestart *p)
{
	if (!p)
		return;
	backend_prestart_drop(p);
	siginfo_t info;
	while (p->pid > 0 && waitid(P_PID, (id_t)p->pid, &info, WEXITED) < 0 && errno == EINTR)
		;
	base_closep(&p->pid_fd);
	if (p->shared.holder_fd > 0)
		base_closep(&p->shared.holder_fd);
	free(p->key);
	free(p);
}

/* READY with the table of its mounts is all that a sandbox for a plan says. Anything else means that it is of no use; silence is
 * fine. */
static bool read_news(struct backend_prestart *p)
{
	struct pass_received in;
	long rc = pass_receive(p->control_fd, PASS_NO_WAIT, &in);
	if (rc <= 0)
		return rc == -EAGAIN || rc == -EINTR;
	bool is_ready = in.m.type == CHILD_READY && in.n_fds == 1 && p->stage == BACKEND_PRESTART_NAMESPACES;
	if (is_ready) {
		p->own_mounts_fd = pass_take_fd(&in, 0);
		backend_prestart_enter(p, BACKEND_PRESTART_MOUNTED);
	}
	pass_close(&in);
	return is_ready;
}

/* A poll takes the news of a mount table away, so the sandbox is dropped at once. */
bool backend_prestart_look(struct backend_prestart *p)
{
	if (!backend_prestart_is_usable(p))
		return false;
	struct pollfd fds[] = {{p->host_mounts_fd, POLLPRI, 0}, {p->own_mounts_fd, POLLPRI, 0}};
	if (!read_news(p) || poll(fds, AL_ARRAY_LEN(fds), 0) != 0)
		backend_prestart_drop(p);
	return backend_prestart_is_usable(p);
}
