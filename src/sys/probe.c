/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Probes of namespaces, Landlock, seccomp and single system calls. The try_* functions run in the child: raw system
 * calls only. With CLONE_NEWUSER they hold all capabilities of the new namespace and none outside; root and working
 * directory are the caller's; with CLONE_NEWNS mounts are a private copy. */
#include "sys/probe.h"

#include "sys/probe_child.h"

#include "base/macros.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif
#ifndef MFD_CLOEXEC
#define MFD_CLOEXEC 0x0001U
#endif

/* Ubuntu's AppArmor rule lets us make the namespace and then removes every capability in it: only using one shows
 * that. */
static int try_userns(const void *arg, struct probe_report *r)
{
	if (probe_write_id_maps(arg, r) < 0)
		return -1;
	long rc = raw_call1(__NR_unshare, CLONE_NEWUTS);
	if (rc < 0)
		return probe_stop(r, "unshare(CLONE_NEWUTS) inside", rc);
	rc = raw_call2(__NR_sethostname, "probe", 5);
	return rc < 0 ? probe_stop(r, "sethostname inside", rc) : 0;
}

static int try_nothing(const void *arg, struct probe_report *r)
{
	return 0;
}

bool sys_may_make_userns(void)
{
	struct probe_report r;
	struct sys_probe made;
	probe_try(CLONE_NEWUSER, try_nothing, NULL, &r);
	probe_conclude(&made, &r, "created one");
	return made.works;
}

void sys_probe_userns(struct sys_probe *ret)
{
	struct probe_id_maps maps = probe_id_maps();
	struct probe_report r;
	probe_try(CLONE_NEWUSER, try_userns, &maps, &r);
	probe_conclude(ret, &r, "created one, mapped the user's ids, used a capability in it");
}

static int make_mounts_private(struct probe_report *r)
{
	long rc = raw_call5(__NR_mount, NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
	return rc < 0 ? probe_stop(r, "making / private", rc) : 0;
}

static int try_mountns(const void *arg, struct probe_report *r)
{
	if (probe_write_id_maps(arg, r) < 0 || make_mounts_private(r) < 0)
		return -1;
	long rc = raw_call5(__NR_mount, "tmpfs", "/", "tmpfs", MS_NOSUID | MS_NODEV, "size=64k,mode=0700");
	return rc < 0 ? probe_stop(r, "mounting a tmpfs", rc) : 0;
}

void sys_probe_mountns(struct sys_probe *ret)
{
	struct probe_id_maps maps = probe_id_maps();
	struct probe_report r;
	probe_try(CLONE_NEWUSER | CLONE_NEWNS, try_mountns, &maps, &r);
	probe_conclude(ret, &r, "created one and mounted a tmpfs in it");
}

/* The child is pid 1 of the new namespace, so the /proc of that namespace calls it "1". */
static int try_procfs(const void *arg, struct probe_report *r)
{
	if (probe_write_id_maps(arg, r) < 0 || make_mounts_private(r) < 0)
		return -1;
	long rc = raw_call5(__NR_mount, "proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
	if (rc < 0)
		return probe_stop(r, "mounting a fresh /proc", rc);
	char self[8] = "";
	rc = raw_call4(__NR_readlinkat, AT_FDCWD, "/proc/self", self, sizeof self);
	if (rc < 0)
		return probe_stop(r, "reading the fresh /proc", rc);
	return rc == 1 && self[0] == '1' ? 0 : probe_stop(r, "the fresh /proc shows another namespace", -ESTALE);
}

void sys_probe_procfs(struct sys_probe *ret)
{
	struct probe_id_maps maps = probe_id_maps();
	struct probe_report r;
	probe_try(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID, try_procfs, &maps, &r);
	probe_conclude(ret, &r, "created a pid namespace and mounted its own /proc");
}

static int try_netns(const void *arg, struct probe_report *r)
{
	if (probe_write_id_maps(arg, r) < 0)
		return -1;
	long fd = raw_call3(__NR_socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return probe_stop(r, "opening a socket inside", fd);
	struct ifreq req = {.ifr_name = "lo"};
	long rc = raw_call3(__NR_ioctl, fd, SIOCGIFFLAGS, &req);
	if (rc < 0)
		return probe_stop(r, "looking for the loopback inside", rc);
	req.ifr_flags |= IFF_UP;
	rc = raw_call3(__NR_ioctl, fd, SIOCSIFFLAGS, &req);
	return rc < 0 ? probe_stop(r, "bringing the loopback up inside", rc) : 0;
}

void sys_probe_netns(struct sys_probe *ret)
{
	struct probe_id_maps maps = probe_id_maps();
	struct probe_report r;
	probe_try(CLONE_NEWUSER | CLONE_NEWNET, try_netns, &maps, &r);
	probe_conclude(ret, &r, "created one and brought its loopback up");
}

/* linux/landlock.h on the build machine may be older than the kernel; these three never change. */
#define LANDLOCK_VERSION_FLAG 1U
#define LANDLOCK_READ_DIR (1ULL << 3)
struct landlock_fs_attr {
	uint64_t handled_access_fs;
};

static int try_landlock(const void *arg, struct probe_report *r)
{
	long rc = raw_call3(__NR_landlock_create_ruleset, NULL, 0, LANDLOCK_VERSION_FLAG);
	if (rc < 0)
		return probe_stop(r, "landlock_create_ruleset", rc);
	r->value = (int)rc;
	struct landlock_fs_attr attr = {LANDLOCK_READ_DIR};
	long fd = raw_call3(__NR_landlock_create_ruleset, &attr, sizeof attr, 0);
	if (fd < 0)
		return probe_stop(r, "landlock_create_ruleset", fd);
	rc = raw_call5(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (rc == 0)
		rc = raw_call2(__NR_landlock_restrict_self, fd, 0);
	if (rc < 0)
		return probe_stop(r, "landlock_restrict_self", rc);
	rc = raw_call4(__NR_openat, AT_FDCWD, "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	return rc == -EACCES ? 0 : probe_stop(r, "a forbidden directory could be read", -EIO);
}

void sys_probe_landlock(struct sys_probe *ret, int *ret_abi)
{
	struct probe_report r;
	char what[64];
	probe_try(0, try_landlock, NULL, &r);
	*ret_abi = r.step ? 0 : r.value;
	(void)snprintf(what, sizeof what, "ABI %d; a ruleset forbade what it should", r.value);
	probe_conclude(ret, &r, what);
}

static int try_seccomp(const void *arg, struct probe_report *r)
{
	long rc = raw_call5(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (rc < 0)
		return probe_stop(r, "prctl(PR_SET_NO_NEW_PRIVS)", rc);
	rc = raw_call5(__NR_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, arg, 0, 0);
	if (rc < 0)
		return probe_stop(r, "prctl(PR_SET_SECCOMP)", rc);
	rc = raw_call0(__NR_getppid);
	return rc == -EXDEV ? 0 : probe_stop(r, "a forbidden call went through", -EIO);
}

void sys_probe_seccomp(struct sys_probe *ret)
{
	/* An errno that getppid never returns by itself. */
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EXDEV),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {.len = AL_ARRAY_LEN(code), .filter = code};
	struct probe_report r;
	probe_try(0, try_seccomp, &prog, &r);
	probe_conclude(ret, &r, "installed a filter; it refused what it should");
}

static int try_listener(const void *arg, struct probe_report *r)
{
	long rc = raw_call5(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (rc == 0)
		rc = raw_call3(__NR_seccomp, SECCOMP_SET_MODE_FILTER,
			       SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, arg);
	return rc < 0 ? probe_stop(r, "seccomp(SECCOMP_FILTER_FLAG_NEW_LISTENER)", rc) : 0;
}

void sys_probe_listener(struct sys_probe *ret)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {.len = AL_ARRAY_LEN(code), .filter = code};
	struct probe_report r;
	probe_try(0, try_listener, &prog, &r);
	probe_conclude(ret, &r, "calls can be listened to");
}

/* Probes of single calls. Each runs in a child, because a filter that does not know the call may kill instead of
 * refusing. */
static int try_pidfd_open(const void *arg, struct probe_report *r)
{
	long rc = raw_call2(__NR_pidfd_open, raw_call0(__NR_getpid), 0);
	return rc < 0 ? probe_stop(r, "pidfd_open", rc) : 0;
}

static int try_close_range(const void *arg, struct probe_report *r)
{
	long rc = raw_call3(__NR_close_range, ~0U, ~0U, 0);
	return rc < 0 ? probe_stop(r, "close_range", rc) : 0;
}

static int try_openat2(const void *arg, struct probe_report *r)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
	long root = raw_call4(__NR_openat, AT_FDCWD, "/", O_PATH | O_CLOEXEC, 0);
	long rc = raw_call4(__NR_openat2, root, "..", &how, sizeof how);
	if (rc == -EXDEV)
		return 0;
	return probe_stop(r, rc < 0 ? "openat2" : "openat2 left the root it was given", rc < 0 ? rc : -EIO);
}

/* A file that is not a program: ENOEXEC proves that executing it would have been allowed. */
static int try_memfd_exec(const void *arg, struct probe_report *r)
{
	char *none[] = {NULL};
	long fd = raw_call2(__NR_memfd_create, "probe", MFD_CLOEXEC | MFD_EXEC);
	if (fd == -EINVAL) /* Before 6.3 there was neither the flag nor the restriction. */
		fd = raw_call2(__NR_memfd_create, "probe", MFD_CLOEXEC);
	if (fd < 0)
		return probe_stop(r, "memfd_create", fd);
	(void)raw_call3(__NR_write, fd, "\177NOT", 4);
	(void)raw_call2(__NR_fchmod, fd, 0700);
	long rc = raw_call5(__NR_execveat, fd, "", none, none, AT_EMPTY_PATH);
	return rc == -ENOEXEC ? 0 : probe_stop(r, "executing a memfd", rc);
}

static void try_call(probe_fn fn, const char *what, struct sys_probe *ret)
{
	struct probe_report r;
	probe_try(0, fn, NULL, &r);
	probe_conclude(ret, &r, what);
}

void sys_probe_pidfd_open(struct sys_probe *ret)
{
	try_call(try_pidfd_open, "pidfd_open works", ret);
}

void sys_probe_close_range(struct sys_probe *ret)
{
	try_call(try_close_range, "close_range works", ret);
}

void sys_probe_openat2(struct sys_probe *ret)
{
	try_call(try_openat2, "openat2 works", ret);
}

void sys_probe_memfd_exec(struct sys_probe *ret)
{
	try_call(try_memfd_exec, "a memfd can be executed", ret);
}
