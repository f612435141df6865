/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From clone to the sandbox's own program, in memory that is the caller's: makes system calls only and writes nothing but its
 * own stack and *l. Shares the memory of its parent, which may be a starter (launch.c).
 *
 * | namespaces | uid          | capabilities                        | root, cwd    |
 * | new        | the caller's | all in the new user namespace; made | the caller's |
 * |            |              | ambient, or exec would drop them    |              |
 */
#include "child/child_exec.h"

#include "sys/raw_overlay.h"

#include <linux/capability.h>
#include <linux/fcntl.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <stddef.h>

#define LAST_SIGNAL 64
#define KERNEL_SIGSET_BYTES 8

static int child_call(struct launch *l, const char *name, long rc)
{
	if (rc < 0)
		l->failed_call = name;
	return (int)rc;
}

static int write_text(struct launch *l, const char *path, const char *text, size_t len)
{
	long fd = raw_call4(__NR_openat, AT_FDCWD, path, O_WRONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return child_call(l, path, fd);
	long rc = raw_call3(__NR_write, fd, text, len);
	(void)raw_call1(__NR_close, fd);
	return child_call(l, path, rc);
}

static size_t put_number(char *out, uint32_t v)
{
	char digits[12];
	size_t n = 0, at = 0;
	do
		digits[n++] = (char)('0' + v % 10);
	while (v /= 10);
	while (n)
		out[at++] = digits[--n];
	return at;
}

/* "1000 1000 1" */
static int write_map(struct launch *l, const char *path, uint32_t id)
{
	char text[40];
	size_t n = put_number(text, id);
	text[n++] = ' ';
	n += put_number(text + n, id);
	text[n++] = ' ';
	text[n++] = '1';
	return write_text(l, path, text, n);
}

/* Capabilities survive the execution of a program by somebody who is not root only when they are ambient. */
static int keep_capabilities(struct launch *l)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct caps[2];
	int rc = child_call(l, "capget", raw_call2(__NR_capget, &head, caps));
	if (rc < 0)
		return rc;
	caps[0].inheritable = caps[0].permitted;
	caps[1].inheritable = caps[1].permitted;
	rc = child_call(l, "capset", raw_call2(__NR_capset, &head, caps));
	for (unsigned cap = 0; rc >= 0 && cap < 64; cap++)
		if (caps[cap / 32].permitted & 1u << cap % 32)
			rc = child_call(l, "prctl",
					raw_call5(__NR_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0));
	return rc;
}

int child_map_ids(struct launch *l)
{
	int rc = write_text(l, "/proc/self/setgroups", "deny", 4);
	if (rc >= 0)
		rc = write_map(l, "/proc/self/uid_map", l->uid);
	if (rc >= 0)
		rc = write_map(l, "/proc/self/gid_map", l->gid);
	return rc;
}

/* Handlers go with exec; what the caller ignores would stay ignored. */
static void reset_signals(void)
{
	struct {
		void *handler;
		unsigned long flags;
		void *restorer;
		uint64_t mask;
	} by_default = {0};
	for (int sig = 1; sig <= LAST_SIGNAL; sig++)
		(void)raw_call4(__NR_rt_sigaction, sig, &by_default, 0, KERNEL_SIGSET_BYTES);
}

int child_exec(struct launch *l)
{
	static const char *const no_environment[] = {NULL};
	int rc = 0;
	reset_signals();
	if (l->new_session)
		(void)raw_call0(__NR_setsid);
	if (l->namespaces & CLONE_NEWUSER)
		rc = child_map_ids(l);
	if (rc >= 0 && (l->namespaces & CLONE_NEWUSER || l->user_ns_fd || l->join & CLONE_NEWUSER))
		rc = keep_capabilities(l);
	for (int i = 0; rc >= 0 && i < LAUNCH_FDS; i++)
		if (l->fds[i] >= 0)
			rc = child_call(l, "dup3", raw_call3(__NR_dup3, l->fds[i], i, 0));
	if (rc < 0)
		return rc;
	return child_call(l, "execveat",
			  raw_call5(__NR_execveat, l->program_fd, "", l->argv, no_environment, AT_EMPTY_PATH));
}

int child_is_privileged(void)
{
	return raw_may_mount();
}
