/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/inherited.h"

#include "base/macros.h"

#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#define SELF "/proc/thread-self/"
#define FILE_BYTES 8192
#define IOPRIO_WHO_PROCESS 1

/* Reads at most FILE_BYTES of a kernel file. -errno on failure. */
static int read_text(const char *path, char out[FILE_BYTES])
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, out, FILE_BYTES - 1);
	out[n < 0 ? 0 : n] = '\0';
	return n < 0 ? -errno : 0;
}

/* The lines of /proc/self/status that a child shares with its parent. */
static bool is_inherited(const char *line)
{
	static const char *const names[] = {"Umask:",	    "Uid:",	     "Gid:",	     "Groups:",
					    "Cap",	    "NoNewPrivs:",   "Seccomp",	     "Speculation",
					    "THP_enabled:", "Cpus_allowed:", "Mems_allowed:"};
	for (size_t i = 0; i < AL_ARRAY_LEN(names); i++)
		if (strncmp(line, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

static int add_status(struct buf *out)
{
	char text[FILE_BYTES];
	int rc = read_text(SELF "status", text);
	for (const char *line = text; rc == 0 && *line;) {
		size_t len = strcspn(line, "\n");
		len += line[len] == '\n';
		if (is_inherited(line))
			buf_add(out, line, len);
		line += len;
	}
	return rc;
}

/* A missing file, as on other kernels, counts as empty. */
static void add_files(struct buf *out)
{
	static const char *const names[] = {SELF "cgroup", SELF "attr/current", "/proc/self/oom_score_adj"};
	char text[FILE_BYTES];
	for (size_t i = 0; i < AL_ARRAY_LEN(names); i++) {
		(void)read_text(names[i], text);
		buf_printf(out, "%s\n", text);
	}
}

static int add_namespaces(struct buf *out)
{
	static const char *const names[] = {"cgroup", "ipc", "mnt", "net", "pid_for_children", "time_for_children",
					    "user",   "uts"};
	for (size_t i = 0; i < AL_ARRAY_LEN(names); i++) {
		char path[64], target[64];
		(void)snprintf(path, sizeof path, SELF "ns/%s", names[i]);
		ssize_t n = readlink(path, target, sizeof target);
		if (n < 0 && errno != ENOENT) /* a kernel without it */
			return -errno;
		buf_add(out, target, n < 0 ? 0 : (size_t)n);
	}
	return 0;
}

static void add_limits(struct buf *out)
{
	for (int i = 0; i < RLIM_NLIMITS; i++) {
		struct rlimit l = {0};
		(void)getrlimit((__rlimit_resource_t)i, &l);
		buf_add(out, &l, sizeof l);
	}
}

/* A process that changed its root sees other files under the same names. */
static int add_root(struct buf *out)
{
	struct statx st;
	if (statx(AT_FDCWD, "/", 0, STATX_INO | STATX_MNT_ID, &st) < 0)
		return -errno;
	buf_printf(out, "root %u:%u %llu %llu\n", st.stx_dev_major, st.stx_dev_minor, (unsigned long long)st.stx_ino,
		   (unsigned long long)st.stx_mnt_id);
	return 0;
}

int sys_inherited(struct buf *out)
{
	struct utsname host = {0};
	(void)uname(&host);
	int rc = add_status(out);
	if (rc == 0)
		rc = add_namespaces(out);
	if (rc == 0)
		rc = add_root(out);
	if (rc < 0)
		return rc;
	add_files(out);
	add_limits(out);
	buf_printf(out, "%s %s\n%d %d\n", host.nodename, host.domainname, (int)getsid(0), (int)getpgrp());
	buf_printf(out, "%d %d %ld %x\n", getpriority(PRIO_PROCESS, 0), sched_getscheduler(0),
		   syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, 0), (unsigned)personality(0xffffffff));
	return out->failed ? -ENOMEM : 0;
}
