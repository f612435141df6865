/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Uses three processes: ourselves, a child that never executes anything, and the program as its child. The middle one
 * exists for the program's exit status: exec resets a process's exit signal to SIGCHLD, and then the calling program's
 * SIG_IGN or wait(-1) can consume the status. The middle process reports it through a pipe. */
#include "sys/probe_exec.h"

#include "sys/probe_child.h"

#include "base/macros.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC 4U
#endif
#define KERNEL_SIGSET_SIZE 8

struct exec_arg {
	const char *path;
	const char *const *argv;
	int out_fd, err_fd; /* both above 2 */
};

/* The middle process. A kernel struct sigaction of all zeros is SIG_DFL on every architecture. */
static void default_signals(void)
{
	long zero[8] = {0};
	for (int s = 1; s <= 64; s++)
		(void)raw_call4(__NR_rt_sigaction, s, zero, NULL, KERNEL_SIGSET_SIZE);
}

/* The program's process, until it calls exec. */
static long become_program(const struct exec_arg *a)
{
	static const char *const no_environment[] = {NULL};
	uint64_t none = 0;
	long null = raw_call4(__NR_openat, AT_FDCWD, "/dev/null", O_RDWR | O_CLOEXEC, 0), rc = null;
	if (rc == 0)
		rc = raw_call3(__NR_fcntl, 0, F_SETFD, 0); /* 0 was closed, so it is in place already. */
	else if (rc > 0)
		rc = raw_call3(__NR_dup3, null, 0, 0);
	if (rc >= 0)
		rc = raw_call3(__NR_dup3, a->out_fd, 1, 0);
	if (rc >= 0)
		rc = raw_call3(__NR_dup3, a->err_fd, 2, 0);
	if (rc >= 0)
		rc = raw_call1(__NR_chdir, "/");
	if (rc < 0)
		return rc;
	(void)raw_call3(__NR_close_range, 3, ~0U, CLOSE_RANGE_CLOEXEC);
	/* It does not die with us and need not: it ends by itself. Killing bwrap half-way would leave a child that
	 * waits for it forever. */
	(void)raw_call4(__NR_rt_sigprocmask, SIG_SETMASK, &none, NULL, KERNEL_SIGSET_SIZE);
	return raw_call3(__NR_execve, a->path, a->argv, no_environment);
}

_Noreturn static void program(const struct exec_arg *a, struct probe_report *r)
{
	(void)probe_stop(r, "exec", become_program(a));
	probe_send(r);
	for (;;)
		(void)raw_call1(__NR_exit_group, 127);
}

static int supervise_program(const void *arg, struct probe_report *r)
{
	(void)raw_call0(__NR_setsid);
	(void)raw_call5(__NR_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	default_signals();
	long pid = raw_call3(__NR_clone, SIGCHLD, 0, NULL);
	if (pid < 0)
		return probe_stop(r, probe_clone, pid);
	if (pid == 0)
		program(arg, r);
	long rc = raw_call4(__NR_wait4, pid, &r->value, 0, NULL);
	return rc < 0 ? probe_stop(r, "wait4", rc) : 0;
}

/* One stream of the program. */
struct output_stream {
	int fd;
	char *text;
	size_t len, size;
};

/* Reads what is available, keeps what fits, and closes at the end of the stream. */
static void drain(struct output_stream *s)
{
	char chunk[1024];
	while (s->fd >= 0) {
		ssize_t n = read(s->fd, chunk, sizeof chunk);
		if (n < 0)
			return;
		size_t kept = AL_MIN((size_t)n, s->size - 1 - s->len);
		memcpy(s->text + s->len, chunk, kept);
		s->len += kept;
		s->text[s->len] = '\0';
		if (n == 0)
			base_closep(&s->fd);
	}
}

/* Reads both streams until the report arrives, the middle process dies, or the time is up. */
static void relay(const struct probe_child *c, struct output_stream streams[2], long deadline)
{
	for (;;) {
		struct pollfd p[] = {{.fd = c->report_fd, .events = POLLIN},
				     {.fd = c->pidfd, .events = POLLIN},
				     {.fd = streams[0].fd, .events = POLLIN},
				     {.fd = streams[1].fd, .events = POLLIN}};
		int n = poll(p, AL_ARRAY_LEN(p), probe_left_ms(deadline));
		drain(&streams[0]);
		drain(&streams[1]);
		if (n > 0 && (p[0].revents || p[1].revents))
			return;
		if ((n < 0 && errno != EINTR) || probe_left_ms(deadline) == 0)
			return;
	}
}

static void conclude(const struct probe_report *r, struct sys_exec *ret)
{
	ret->timed_out = r->step && r->errnum == ETIMEDOUT;
	ret->errnum = r->step && !ret->timed_out ? r->errnum : 0;
	ret->exit_code = r->step ? -1 : WIFSIGNALED(r->value) ? 128 + WTERMSIG(r->value) : WEXITSTATUS(r->value);
}

static void watch(struct probe_child *c, struct output_stream streams[2], int timeout_ms, struct sys_exec *ret)
{
	struct probe_report r;
	long deadline = probe_now_ms() + timeout_ms;
	relay(c, streams, deadline);
	/* Before the middle process is reaped: until then its process group id cannot be reused. A program that ended
	 * normally may have left others in the group; kill them too. The middle one may be killed as well, but its
	 * report is in the pipe already. */
	struct pollfd ready = {.fd = c->report_fd, .events = POLLIN};
	bool reported = poll(&ready, 1, 0) == 1;
	(void)kill(-c->pid, SIGKILL);
	probe_finish(c, reported ? 1000 : probe_left_ms(deadline), &r);
	if (r.step && probe_left_ms(deadline) == 0)
		r.errnum = ETIMEDOUT;
	drain(&streams[0]);
	drain(&streams[1]);
	conclude(&r, ret);
}

void sys_probe_exec(const char *path, const char *const *argv, int timeout_ms, struct sys_exec *ret)
{
	*ret = (struct sys_exec){0};
	int out[2] = {-EBADF, -EBADF}, err[2] = {-EBADF, -EBADF};
	struct probe_child c;
	int rc = probe_pipe(out);
	if (rc == 0)
		rc = probe_pipe(err);
	struct exec_arg arg = {.path = path, .argv = argv, .out_fd = out[1], .err_fd = err[1]};
	if (rc == 0)
		rc = probe_start(supervise_program, &arg, &c);
	base_closep(&out[1]);
	base_closep(&err[1]);
	struct output_stream streams[2] = {{out[0], ret->out, 0, sizeof ret->out},
					   {err[0], ret->err, 0, sizeof ret->err}};
	if (rc == 0) {
		(void)fcntl(out[0], F_SETFL, O_NONBLOCK);
		(void)fcntl(err[0], F_SETFL, O_NONBLOCK);
		watch(&c, streams, timeout_ms, ret);
	} else {
		ret->errnum = -rc;
	}
	base_closep(&streams[0].fd);
	base_closep(&streams[1].fd);
}
