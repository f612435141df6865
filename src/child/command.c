/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* | namespaces | uid          | capabilities | root, cwd                           |
 * | the plan's | the caller's | none         | the sandbox's; the command's at last |
 */
#include "child/command.h"

#include "child/confine.h"
#include "child/pass.h"
#include "child/raw_calls.h"

#include <asm/ioctls.h>
#include <asm/signal.h>
#include <linux/close_range.h>
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/limits.h>
#include <linux/prctl.h>

void *memcpy(void *d, const void *s, size_t n); /* init.c */

static size_t length(const char *s)
{
	size_t n = 0;
	while (s[n])
		n++;
	return n;
}

static int has_slash(const char *s)
{
	for (; *s; s++)
		if (*s == '/')
			return 1;
	return 0;
}

/* Every shell and execvp(3) run a file of unknown format as a shell script. */
static long exec_file(const char *file, char **argv, char **envp)
{
	long rc = raw_call3(__NR_execve, file, argv, envp);
	if (rc != -ENOEXEC)
		return rc;
	/* The slot before argv[0] belongs to the job: the supervisor leaves one free for the shell's name. */
	argv[0] = (char *)file;
	argv[-1] = (char *)"/bin/sh";
	return raw_call3(__NR_execve, "/bin/sh", argv - 1, envp);
}

/* execvpe(3) without libc. Reports the most informative error: not permitted beats not found. */
static long exec_search(const struct child_job *job, char **argv, char **envp)
{
	const char *name = argv[0];
	if (has_slash(name) || !*name)
		return *name ? exec_file(name, argv, envp) : -ENOENT;
	const char *p = job->path ? (const char *)job + job->path : "/usr/local/bin:/usr/bin:/bin";
	long verdict = -ENOENT;
	size_t name_len = length(name);
	char file[PATH_MAX];
	for (;;) {
		size_t n = 0;
		while (p[n] && p[n] != ':')
			n++;
		if (n + 1 + name_len < sizeof file) {
			memcpy(file, p, n);
			size_t at = n;
			if (n)
				file[at++] = '/';
			memcpy(file + at, name, name_len + 1);
			long rc = exec_file(file, argv, envp);
			if (rc != -ENOENT && rc != -ENOTDIR)
				verdict = rc;
			if (rc != -ENOENT && rc != -ENOTDIR && rc != -EACCES && rc != -ELOOP && rc != -ENAMETOOLONG)
				return rc;
		}
		if (!p[n])
			return verdict;
		p += n + 1;
	}
}

__attribute__((noreturn)) static void fail_start(int error_fd, int stage, long rc)
{
	struct command_failure f = {stage, (int32_t)-rc};
	(void)r_write(error_fd, &f, sizeof f);
	r_exit(127);
}

/* If the kernel cannot do it, the message has no descriptor: then the overlay alone handles renames. */
static long confine_and_hand_over(const struct child_job *job, int socket)
{
	long listener = confine_listened(job);
	if (listener >= 0) {
		long rc = pass_send_fd(socket, CHILD_STARTED, (int)listener);
		(void)r_close((int)listener);
		return rc < 0 ? rc : 0; /* nobody would answer: the command could not open a file */
	}
	struct child_message why = {.type = CHILD_FAILED, .b = (int32_t)-listener};
	(void)r_write(socket, &why, sizeof why);
	return confine_calls(job);
}

/* As a shell starts a job: its own process group, in the foreground of the session. SIGTTOU is blocked, so that the
 * kernel lets a background group do this. */
static long join_session(int tty)
{
	long rc = raw_call2(__NR_setpgid, 0, 0);
	int group = (int)r_getpid();
	return rc < 0 ? rc : r_ioctl(tty, TIOCSPGRP, &group);
}

static void take_terminal(const struct child_command *c)
{
	long rc = c->joins_session ? join_session(c->tty) : raw_call3(__NR_ioctl, c->tty, TIOCSCTTY, 0);
	for (int fd = 0; fd < 3 && rc >= 0; fd++)
		rc = r_dup3(c->tty, fd, 0);
	if (rc < 0)
		fail_start(c->error_fd, CHILD_STAGE_TTY, rc);
}

/* Opened in here and not by the supervisor: through a descriptor of the host's /dev/null, root could change that
 * file's mode. */
static void take_null_input(const struct child_command *c)
{
	long null = r_open("/dev/null", O_RDONLY | O_CLOEXEC);
	long rc = null < 0 ? null : r_dup3((int)null, 0, 0);
	if (rc < 0)
		fail_start(c->error_fd, CHILD_STAGE_INPUT, rc);
}

void command_become(const struct child_command *c)
{
	const struct child_job *job = c->job;
	long rc = job->flags & CHILD_NEW_SESSION && !c->joins_session ? raw_call0(__NR_setsid) : 0;
	if (rc < 0)
		fail_start(c->error_fd, CHILD_STAGE_SETUP, rc);
	if (c->tty >= 0)
		take_terminal(c);
	else if (job->flags & CHILD_NULL_INPUT)
		take_null_input(c);
	rc = raw_call1(__NR_chdir, (const char *)job + job->cwd.at);
	if (rc < 0)
		fail_start(c->error_fd, CHILD_STAGE_CHDIR, rc);
	uint64_t none = 0;
	(void)raw_call4(__NR_rt_sigprocmask, SIG_SETMASK, &none, 0, sizeof none);
	rc = raw_call3(__NR_close_range, 3, ~0u, CLOSE_RANGE_CLOEXEC);
	if (rc < 0)
		fail_start(c->error_fd, CHILD_STAGE_SETUP, rc);
	rc = confine_files(job);
	if (rc == 0)
		rc = c->notify_socket >= 0 ? confine_and_hand_over(job, c->notify_socket) : confine_calls(job);
	if (rc < 0)
		fail_start(c->error_fd, CHILD_STAGE_FILTER, rc);
	rc = exec_search(job, c->argv, c->envp);
	fail_start(c->error_fd, CHILD_STAGE_EXEC, rc);
}
