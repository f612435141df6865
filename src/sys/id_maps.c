/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/id_maps.h"

#include "base/macros.h"
#include "sys/probe.h"
#include "sys/probe_child.h"
#include "sys/probe_exec.h"
#include "sys/raw.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define HELPER_MS 10000
#define MAX_GROUPS 16

/* Returns 1 if one line of our own namespace's id map covers all of these ids, which is all the kernel requires; 0 if not; -errno. */
static int has_ids(const char *map, uint32_t first, uint32_t count)
{
	char text[4096];
	int rc = sys_read_small(map, text, sizeof text);
	if (rc < 0)
		return rc == -ENOENT ? 0 : rc; /* ENOENT: without /proc we cannot write a map either */
	for (const char *line = text; *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : "") {
		unsigned long inside = 0, outside = 0, n = 0;
		/* NOLINTNEXTLINE(cert-err34-c): the kernel's numbers have 32 bits */
		if (sscanf(line, "%lu %lu %lu", &inside, &outside, &n) == 3 && first >= inside &&
		    (uint64_t)first + count <= (uint64_t)inside + n)
			return 1;
	}
	return 0;
}

static bool has_capabilities(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct caps[2] = {{0}};
	const uint32_t wanted = 1u << CAP_SETUID | 1u << CAP_SETGID | 1u << CAP_CHOWN;
	return raw_call2(__NR_capget, &head, caps) == 0 && (caps[0].effective & wanted) == wanted;
}

int sys_may_map_ids(uint32_t first, uint32_t count)
{
	int rc = has_capabilities();
	rc = rc > 0 ? has_ids("/proc/self/uid_map", first, count) : rc;
	return rc > 0 ? has_ids("/proc/self/gid_map", first, count) : rc;
}

/* ── Groups by newgidmap ──
 *
 * The namespace is made by a child, which keeps it until newgidmap has written the map and we have a descriptor of it. The kernel
 * lets nobody without privileges map more than one group, and newgidmap wants a process of ours that is in the namespace.
 */

struct keeper {
	int wait_fd, ready_fd;
	struct probe_id_maps maps;
};

/* Runs in a copy of this process: system calls only. */
static int keep(const void *arg, struct probe_report *r)
{
	const struct keeper *k = arg;
	char byte = 0;
	long rc = raw_call1(__NR_unshare, CLONE_NEWUSER);
	if (rc < 0)
		return probe_stop(r, "unshare", rc);
	/* Keeps the groups as they are: otherwise a process could leave a group that is denied something. */
	rc = probe_put("/proc/self/setgroups", "deny");
	rc = rc < 0 ? rc : probe_put("/proc/self/uid_map", k->maps.uid);
	if (rc < 0)
		return probe_stop(r, "uid_map", rc);
	rc = raw_call3(__NR_dup3, k->ready_fd, 1, 0);
	rc = rc < 0 ? rc : raw_call3(__NR_dup3, k->wait_fd, 0, 0);
	if (rc < 0)
		return probe_stop(r, "dup3", rc);
	(void)raw_call3(__NR_close_range, 2, ~0U, 0); /* Otherwise it would keep the pipes of other runs open. */
	(void)raw_call3(__NR_write, 1, &byte, 1);
	while (raw_call3(__NR_read, 0, &byte, 1) > 0)
		;
	for (;;)
		(void)raw_call1(__NR_exit_group, 0);
}

static const char *find_helper(void)
{
	static const char *const places[] = {"/usr/bin/newgidmap", "/run/wrappers/bin/newgidmap"};
	struct stat st;
	for (size_t i = 0; i < AL_ARRAY_LEN(places); i++)
		if (stat(places[i], &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == 0)
			return places[i];
	return NULL;
}

static bool map_groups(pid_t pid, const uint32_t *groups, size_t n, struct sys_ids_failure *ret)
{
	char texts[MAX_GROUPS + 2][16];
	const char *argv[3 * (MAX_GROUPS + 1) + 3] = {"newgidmap", texts[0]};
	struct sys_exec x;
	size_t at = 2;
	(void)snprintf(texts[0], sizeof texts[0], "%d", (int)pid);
	for (size_t i = 0; i <= n; i++) {
		(void)snprintf(texts[i + 1], sizeof texts[0], "%u", i == 0 ? (unsigned)getegid() : groups[i - 1]);
		argv[at++] = texts[i + 1];
		argv[at++] = texts[i + 1];
		argv[at++] = "1";
	}
	const char *helper = find_helper();
	ret->obstacle = helper ? SYS_IDS_REFUSED : SYS_IDS_NO_HELPER;
	if (!helper)
		return false;
	sys_probe_exec(helper, argv, HELPER_MS, &x);
	if (!x.errnum && !x.timed_out && x.exit_code == 0)
		return true;
	x.err[x.errnum ? 0 : strcspn(x.err, "\n")] = '\0';
	(void)snprintf(ret->said, sizeof ret->said, "%s",
		       x.errnum	     ? strerror(x.errnum)
		       : x.timed_out ? "it did not end"
		       : x.err[0]    ? x.err
				     : "it failed");
	return false;
}

static int open_user_ns(pid_t pid, struct sys_ids_failure *ret)
{
	char path[40];
	(void)snprintf(path, sizeof path, "/proc/%d/ns/user", (int)pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		*ret = (struct sys_ids_failure){.obstacle = SYS_IDS_NO_NAMESPACE, .errnum = errno};
	return fd;
}

static bool wait_until_ready(int fd)
{
	struct pollfd p = {fd, POLLIN, 0};
	char byte;
	return poll(&p, 1, HELPER_MS) == 1 && read(fd, &byte, 1) == 1;
}

int sys_make_user_ns(const uint32_t *groups, size_t n, struct sys_ids_failure *ret)
{
	int wait[2], ready[2], fd = -EBADF;
	struct probe_child c;
	struct probe_report report = {0};
	*ret = (struct sys_ids_failure){.obstacle = SYS_IDS_NO_NAMESPACE, .errnum = EMFILE};
	if (n > MAX_GROUPS || probe_pipe(wait) < 0)
		return -EBADF;
	_cleanup_close_ int wait_end = wait[0], hold_end = wait[1];
	if (probe_pipe(ready) < 0)
		return -EBADF;
	_cleanup_close_ int ready_end = ready[0], told_end = ready[1];
	const struct keeper k = {.wait_fd = wait_end, .ready_fd = told_end, .maps = probe_id_maps()};
	int rc = probe_start(keep, &k, &c);
	if (rc < 0) {
		ret->errnum = -rc;
		return -EBADF;
	}
	base_closep(&told_end); /* So that its end is noticed if it fails. */
	bool is_ready = wait_until_ready(ready_end);
	if (is_ready && map_groups(c.pid, groups, n, ret))
		fd = open_user_ns(c.pid, ret);
	base_closep(&hold_end);
	probe_finish(&c, 1000, &report);
	if (!is_ready)
		ret->errnum = report.errnum;
	if (fd >= 0)
		ret->obstacle = SYS_IDS_NONE;
	return fd;
}
