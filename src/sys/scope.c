/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/scope.h"

#include "sys/probe_child.h"
#include "sys/probe_exec.h"

#include "base/macros.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define BUSCTL "/usr/bin/busctl"
#define CALL_MS 10000
#define FIRST_PID_NAMESPACE 0xEFFFFFFCU /* PROC_PID_INIT_INO of the kernel */
#define ARRIVES_MS 10000
#define SYSTEMD "org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager"

/* ── The keeper ── */

/* A copy of this process that closes everything but its pipe; otherwise it would keep the pipes of other runs open. */
static int keep(const void *arg, struct probe_report *r)
{
	char byte;
	long rc = raw_call3(__NR_dup3, *(const int *)arg, 0, 0);
	if (rc < 0)
		return probe_stop(r, "dup3", rc);
	(void)raw_call3(__NR_close_range, 1, ~0U, 0);
	while (raw_call3(__NR_read, 0, &byte, 1) > 0)
		;
	for (;;)
		(void)raw_call1(__NR_exit_group, 0);
}

static int start_keeper(struct sys_scope *s)
{
	int fds[2];
	struct probe_child c;
	int rc = probe_pipe(fds);
	if (rc < 0)
		return rc;
	/* Our end must not be open in it, or it would never see the end of file. Descriptors are copies, so it closes
	 * its own. */
	rc = probe_start(keep, &fds[0], &c);
	(void)close(fds[0]);
	if (rc < 0) {
		(void)close(fds[1]);
		return rc;
	}
	s->keeper_fd = fds[1];
	s->keeper = c.pid;
	s->keeper_pidfd = c.pidfd;
	s->keeper_report = c.report_fd;
	return 0;
}

static void end_keeper(struct sys_scope *s)
{
	struct probe_child c = {.pid = s->keeper, .pidfd = s->keeper_pidfd, .report_fd = s->keeper_report};
	struct probe_report unused;
	(void)close(s->keeper_fd);
	probe_finish(&c, 1000, &unused);
}

/* ── The bus ── */

static int call(const char *const *argv)
{
	struct sys_exec x;
	sys_probe_exec(BUSCTL, argv, CALL_MS, &x);
	return x.errnum ? -x.errnum : x.timed_out ? -ETIMEDOUT : x.exit_code ? -EPERM : 0;
}

static int ask_for_scope(const struct sys_scope *s)
{
	char keeper[16];
	(void)snprintf(keeper, sizeof keeper, "%d", (int)s->keeper);
	const char *const argv[] = {"busctl",
				    s->address,
				    "--quiet",
				    "call",
				    SYSTEMD,
				    "StartTransientUnit",
				    "ssa(sv)a(sa(sv))",
				    s->name,
				    "fail",
				    "2",
				    "PIDs",
				    "au",
				    "1",
				    keeper,
				    "Delegate",
				    "b",
				    "true",
				    "0",
				    NULL};
	return call(argv);
}

/* systemd reads our pids as its own: from a container with the host's bus they would name other processes. */
static bool has_first_pid_namespace(void)
{
	struct stat st;
	return stat("/proc/self/ns/pid", &st) == 0 && st.st_ino == FIRST_PID_NAMESPACE;
}

/* Always /run/user/UID: XDG_RUNTIME_DIR could make us talk to someone else. */
static int find_bus(struct sys_scope *s)
{
	struct stat st;
	char path[64];
	if (!has_first_pid_namespace())
		return -ENOENT;
	(void)snprintf(path, sizeof path, "/run/user/%u/bus", (unsigned)geteuid());
	if (lstat(path, &st) < 0)
		return -errno;
	if (!S_ISSOCK(st.st_mode) || st.st_uid != geteuid())
		return -ENOENT;
	(void)snprintf(s->address, sizeof s->address, "--address=unix:path=%s", path);
	return access(BUSCTL, X_OK) < 0 ? -errno : 0;
}

/* ── The groups ── */

/* systemd answers when it has begun; the scope is ready only when the keeper is in it. */
static int find_directory(struct sys_scope *s)
{
	char path[64], group[PATH_MAX];
	struct sys_cgroup_places own;
	long deadline = probe_now_ms() + ARRIVES_MS;
	(void)snprintf(path, sizeof path, "/proc/%d/cgroup", (int)s->keeper);
	do {
		int n = sys_read_small(path, group, sizeof group);
		if (n < 0)
			return n;
		if (strstr(group, s->name) && sys_cgroup_locate_of(group, &own) == 0 && *own.v2) {
			int len = snprintf(s->dir, sizeof s->dir, "%s", own.v2);
			len = len < (int)sizeof s->dir ? snprintf(s->box, sizeof s->box, "%s/box", own.v2) : len;
			return len < (int)sizeof s->box ? 0 : -ENAMETOOLONG;
		}
		(void)poll(NULL, 0, 2);
	} while (probe_left_ms(deadline) > 0);
	return -ETIMEDOUT;
}

static int put(const char *dir, const char *file, const char *text)
{
	char path[PATH_MAX + 64];
	(void)snprintf(path, sizeof path, "%s/%s", dir, file);
	return (int)probe_put(path, text);
}

/* A group that contains processes passes on no controllers, so the keeper gets its own group. */
static int divide(const struct sys_scope *s)
{
	char keeper[16], keep_dir[PATH_MAX + 8];
	(void)snprintf(keeper, sizeof keeper, "%d", (int)s->keeper);
	(void)snprintf(keep_dir, sizeof keep_dir, "%s/keep", s->dir);
	if (mkdir(keep_dir, 0755) < 0 || mkdir(s->box, 0755) < 0)
		return -errno;
	int rc = put(keep_dir, "cgroup.procs", keeper);
	return rc < 0 ? rc : put(s->dir, "cgroup.subtree_control", "+memory +pids");
}

int sys_scope_open(const char *name, struct sys_scope *ret)
{
	*ret = (struct sys_scope){.keeper_fd = -EBADF};
	int n = snprintf(ret->name, sizeof ret->name, "airlock-%s.scope", name);
	int rc = n < (int)sizeof ret->name ? find_bus(ret) : -ENAMETOOLONG;
	if (rc < 0 || (rc = start_keeper(ret)) < 0)
		return rc;
	rc = ask_for_scope(ret);
	rc = rc < 0 ? rc : find_directory(ret);
	rc = rc < 0 ? rc : divide(ret);
	if (rc < 0)
		end_keeper(ret); /* and so does the scope */
	return rc;
}

int sys_scope_attach(const struct sys_scope *s, pid_t pid)
{
	char number[16];
	(void)snprintf(number, sizeof number, "%d", (int)pid);
	const char *const argv[] = {"busctl", s->address, "--quiet", "call", SYSTEMD, "AttachProcessesToUnit",
				    "ssau",   s->name,	  "/box",    "1",    number,  NULL};
	return call(argv);
}

void sys_scope_close(struct sys_scope *s)
{
	if (s->keeper_fd < 0)
		return;
	end_keeper(s);
	s->keeper_fd = -EBADF;
}
