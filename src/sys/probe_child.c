/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/probe_child.h"

#include "base/macros.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#ifndef CLONE_PIDFD
#define CLONE_PIDFD 0x1000
#endif

const char probe_clone[] = "clone";

long probe_now_ms(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int probe_left_ms(long deadline_ms)
{
	long left = deadline_ms - probe_now_ms();
	return left > 0 ? (int)left : 0;
}

/* Replaces a descriptor below 3 by a copy above 2. */
static int lift(int *fd)
{
	if (*fd > 2)
		return 0;
	int high = fcntl(*fd, F_DUPFD_CLOEXEC, 3);
	if (high < 0)
		return -errno;
	(void)close(*fd);
	*fd = high;
	return 0;
}

int probe_pipe(int ret_fds[2])
{
	int fds[2];
	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	int rc = lift(&fds[0]);
	if (rc == 0)
		rc = lift(&fds[1]);
	if (rc < 0) {
		(void)close(fds[0]);
		(void)close(fds[1]);
		return rc;
	}
	ret_fds[0] = fds[0];
	ret_fds[1] = fds[1];
	return 0;
}

void probe_send(const struct probe_report *r)
{
	(void)raw_call3(__NR_write, r->fd, r, sizeof *r);
}

/* Runs in the child: every signal blocked, memory a snapshot of a program that may have threads. */
_Noreturn static void child_main(int write_fd, probe_fn fn, const void *arg)
{
	struct probe_report r = {.fd = write_fd};
	(void)fn(arg, &r);
	probe_send(&r);
	for (;;)
		(void)raw_call1(__NR_exit_group, 0);
}

/* No exit signal: see the top of probe_child.h. Kernels before 5.2 do not set pidfd; some emulations refuse the flag.
 */
static long clone_child(int *pidfd)
{
	long rc = raw_call3(__NR_clone, CLONE_PIDFD, 0, pidfd);
	if (rc == -EINVAL)
		rc = raw_call3(__NR_clone, 0, 0, NULL);
	return rc;
}

int probe_start(probe_fn fn, const void *arg, struct probe_child *ret)
{
	int fds[2] = {-EBADF, -EBADF}, pidfd = -EBADF;
	int rc = probe_pipe(fds);
	if (rc < 0)
		return rc;
	(void)fcntl(fds[0], F_SETFL, O_NONBLOCK);
	sigset_t all, before;
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	long pid = clone_child(&pidfd);
	if (pid == 0)
		child_main(fds[1], fn, arg);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	(void)close(fds[1]);
	if (pid < 0) {
		(void)close(fds[0]);
		return (int)pid;
	}
	*ret = (struct probe_child){.pid = (pid_t)pid, .pidfd = pidfd, .report_fd = fds[0]};
	return 0;
}

/* Returns 0 with the report; -EIO if the child died without one; -ETIMEDOUT. Also watches the pidfd: a program that
 * forks at the same moment may keep the other end of our pipe open for long. */
static int await_report(struct probe_child *c, long deadline, struct probe_report *ret)
{
	struct pollfd p[2] = {{.fd = c->report_fd, .events = POLLIN}, {.fd = c->pidfd, .events = POLLIN}};
	for (;;) {
		int n = poll(p, 2, probe_left_ms(deadline));
		if (n < 0 && errno != EINTR)
			return -errno;
		/* Read after poll has seen the death, not before: a report written in between still counts. */
		if (n > 0)
			return read(c->report_fd, ret, sizeof *ret) == (ssize_t)sizeof *ret ? 0 : -EIO;
		if (probe_left_ms(deadline) == 0)
			return -ETIMEDOUT;
	}
}

static void kill_child(const struct probe_child *c)
{
	if (c->pidfd < 0 || raw_call4(__NR_pidfd_send_signal, c->pidfd, SIGKILL, NULL, 0) == -ENOSYS)
		(void)kill(c->pid, SIGKILL);
}

/* A child that hangs in the kernel (a dead network file system) cannot be waited for; init will reap it. */
static void reap(struct probe_child *c)
{
	struct pollfd p = {.fd = c->pidfd, .events = POLLIN};
	int flags = __WALL;
	if (c->pidfd >= 0) {
		while (poll(&p, 1, 1000) < 0 && errno == EINTR)
			;
		flags |= WNOHANG;
	}
	while (waitpid(c->pid, NULL, flags) < 0 && errno == EINTR)
		;
}

void probe_finish(struct probe_child *c, int timeout_ms, struct probe_report *ret)
{
	*ret = (struct probe_report){0};
	int rc = await_report(c, probe_now_ms() + timeout_ms, ret);
	if (rc < 0) {
		*ret = (struct probe_report){.step = rc == -ETIMEDOUT ? "timeout" : "child killed", .errnum = -rc};
		kill_child(c);
	}
	(void)reap(c);
	base_closep(&c->pidfd);
	base_closep(&c->report_fd);
}

struct inside {
	unsigned long namespaces;
	probe_fn fn;
	const void *arg;
};

/* Runs in the child, which makes a second child in the namespaces: a filter that answers such a clone with death must
 * not kill the calling program. */
static int try_inside(const void *arg, struct probe_report *r)
{
	const struct inside *in = arg;
	int status = 0;
	long pid = raw_call3(__NR_clone, in->namespaces, 0, NULL);
	if (pid < 0)
		return probe_stop(r, probe_clone, pid);
	if (pid == 0) {
		(void)raw_call5(__NR_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		child_main(r->fd, in->fn, in->arg);
	}
	(void)raw_call4(__NR_wait4, pid, &status, __WALL, NULL);
	if (WIFSIGNALED(status))
		return probe_stop(r, "child killed", -EIO);
	r->fd = -EBADF; /* Already reported. */
	return 0;
}

void probe_try(unsigned long namespaces, probe_fn fn, const void *arg, struct probe_report *ret)
{
	struct inside inside = {namespaces, fn, arg};
	struct probe_child c;
	int rc = namespaces ? probe_start(try_inside, &inside, &c) : probe_start(fn, arg, &c);
	if (rc < 0)
		*ret = (struct probe_report){.step = probe_clone, .errnum = -rc};
	else
		probe_finish(&c, PROBE_TIMEOUT_MS, ret);
}

struct probe_id_maps probe_id_maps(void)
{
	struct probe_id_maps m;
	(void)snprintf(m.uid, sizeof m.uid, "%u %u 1", geteuid(), geteuid());
	(void)snprintf(m.gid, sizeof m.gid, "%u %u 1", getegid(), getegid());
	return m;
}

long probe_put(const char *path, const char *text)
{
	size_t len = 0;
	while (text[len])
		len++;
	long fd = raw_call4(__NR_openat, AT_FDCWD, path, O_WRONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return fd;
	long n = raw_call3(__NR_write, fd, text, len);
	(void)raw_call1(__NR_close, fd);
	return n < 0 ? n : 0;
}

/* If a program made itself undumpable or changed its user, its files below /proc/self belong to root. We do not make
 * the child dumpable: others could then read its copy of the program's memory. */
int probe_write_id_maps(const struct probe_id_maps *maps, struct probe_report *r)
{
	long rc = probe_put("/proc/self/setgroups", "deny");
	if (rc == -EACCES && raw_call5(__NR_prctl, PR_GET_DUMPABLE, 0, 0, 0, 0) != 1)
		return probe_stop(r, "mapping ids, as this program is not dumpable", rc);
	if (rc < 0 && rc != -ENOENT)
		return probe_stop(r, "writing setgroups", rc);
	rc = probe_put("/proc/self/uid_map", maps->uid);
	if (rc < 0)
		return probe_stop(r, "writing uid_map", rc);
	rc = probe_put("/proc/self/gid_map", maps->gid);
	return rc < 0 ? probe_stop(r, "writing gid_map", rc) : 0;
}

void probe_conclude(struct sys_probe *ret, const struct probe_report *r, const char *what)
{
	const char *reason = strerrordesc_np(r->errnum);
	ret->works = r->step == NULL;
	ret->errnum = r->errnum;
	ret->at_clone = r->step == probe_clone;
	if (ret->works)
		(void)snprintf(ret->detail, sizeof ret->detail, "%s", what);
	else
		(void)snprintf(ret->detail, sizeof ret->detail, "%s: %s", r->step, reason ? reason : "unknown error");
}
