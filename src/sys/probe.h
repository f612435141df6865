/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What this machine really lets us do: every answer comes from trying it, in a child where it could do harm.
 *
 *   struct sys_probe p;
 *   sys_probe_userns(&p);
 *   if (!p.works) …p.detail says which step failed and why, p.errnum is its errno…
 *
 * No answer is remembered here, nothing is changed on the machine, no probe takes longer than about five seconds.
 * Safe in a program with threads, with SIGCHLD ignored or handled, with descriptors 0–2 closed.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sys_probe {
	bool works;
	int errnum;	  /* of the step that failed, else 0 */
	bool at_clone;	  /* that step was clone itself */
	char detail[256]; /* "writing uid_map: Operation not permitted", or what was done */
};

/* ── Namespaces, as the calling user ── */
void sys_probe_userns(struct sys_probe *ret);  /* with ids mapped, and capabilities in it that count */
void sys_probe_mountns(struct sys_probe *ret); /* and a tmpfs mounted in it */
void sys_probe_procfs(struct sys_probe *ret);  /* a fresh /proc in a new pid namespace */
void sys_probe_netns(struct sys_probe *ret);   /* and its loopback brought up */

/* ── Kernel features ── */
void sys_probe_landlock(struct sys_probe *ret, int *ret_abi); /* a ruleset in force; ABI version, 0 when none */
void sys_probe_seccomp(struct sys_probe *ret);		      /* a filter in force */
void sys_probe_listener(struct sys_probe *ret);		      /* being told of calls before they are made */
void sys_probe_pidfd_open(struct sys_probe *ret);
void sys_probe_close_range(struct sys_probe *ret);
void sys_probe_openat2(struct sys_probe *ret);
void sys_probe_memfd_exec(struct sys_probe *ret); /* a memfd may be executed (vm.memfd_noexec) */

/* ── Overlay ── */
/* An overlay mounted as a run does it, its layers in a temporary directory made in dir and removed again: changes a lower file,
 * removes one, removes a directory, looks at what lies in the upper directory. Then one over `over`, unless that is NULL. */
void sys_probe_overlay(const char *dir, const char *over, struct sys_probe *ret);

/* ── The sandbox around us ── */
/* True inside a sandbox of airlock in which no other can be made. What proves it is the first process of the pid namespace, which
 * no command can choose. */
bool sys_is_inside(void);
/* Can a user namespace be made at all, whatever can be done in it? */
bool sys_may_make_userns(void);

/* ── Control groups ── */
enum sys_cgroup_kind { SYS_CGROUP_NONE, SYS_CGROUP_V1, SYS_CGROUP_V2 };

/* Where this process is in the hierarchies; directories, "" when there is none. Nothing is tried yet. */
struct sys_cgroup_places {
	char v2[PATH_MAX];	  /* own group of the unified hierarchy */
	char v2_parent[PATH_MAX]; /* the group above it, "" at the top */
	char v1_memory[PATH_MAX];
	char v1_pids[PATH_MAX];
};
/* Pure: from the text of /proc/self/cgroup and /proc/self/mountinfo. */
void sys_cgroup_parse(const char *cgroup, const char *mountinfo, struct sys_cgroup_places *ret);
int sys_cgroup_locate(struct sys_cgroup_places *ret); /* of this process; 0 or -errno */
/* The same for another process, by the text of its /proc/PID/cgroup. */
int sys_cgroup_locate_of(const char *cgroup, struct sys_cgroup_places *ret);

struct sys_cgroup {
	enum sys_cgroup_kind kind;
	bool memory, pids;	   /* a limit set on a group of ours is accepted, and a process can be moved into it */
	char memory_dir[PATH_MAX]; /* the directory a group can be made in, "" when not; with v2 both are the same */
	char pids_dir[PATH_MAX];
	struct sys_probe probe; /* works: memory and pids both */
};
/* Makes a group, sets its limits to what they are anyway, moves a child into it, removes it. */
void sys_probe_cgroup(struct sys_cgroup *ret);

/* ── The place we run in ── */
struct sys_environment {
	bool flatpak;	    /* /.flatpak-info or FLATPAK_ID */
	bool container;	    /* docker, podman, lxc, nspawn, … */
	bool wsl;	    /* Windows Subsystem for Linux */
	bool in_userns;	    /* not in the machine's first user namespace */
	bool in_chroot;	    /* the kernel refuses user namespaces there */
	bool under_seccomp; /* a filter is on us already */
	char container_name[32];
};
/* root is "" but in tests, which bring their own /proc/1/cgroup and so on; flatpak_id is the variable's value or NULL. */
void sys_environment_examine(const char *root, const char *flatpak_id, struct sys_environment *ret);
void sys_environment_describe(const struct sys_environment *e, char *ret, size_t size); /* "" when nothing special */

struct sys_kernel {
	char release[65];
	/* Settings that decide whether user namespaces can be had; -1 when the kernel has no such file. */
	int64_t apparmor_restrict_userns; /* kernel.apparmor_restrict_unprivileged_userns */
	int64_t unprivileged_userns;	  /* kernel.unprivileged_userns_clone */
	int64_t max_user_namespaces;	  /* user.max_user_namespaces */
};
void sys_kernel_examine(struct sys_kernel *ret);

/* Why sys_probe_userns failed, as far as it can be told. */
enum sys_userns_obstacle {
	SYS_USERNS_FREE,	  /* it did not fail */
	SYS_USERNS_APPARMOR,	  /* kernel.apparmor_restrict_unprivileged_userns=1 */
	SYS_USERNS_CLONE_SYSCTL,  /* kernel.unprivileged_userns_clone=0 */
	SYS_USERNS_MAX_ZERO,	  /* user.max_user_namespaces=0 */
	SYS_USERNS_MAX_REACHED,	  /* that many are in use, or they are nested too deep */
	SYS_USERNS_NOT_IN_KERNEL, /* CONFIG_USER_NS is off */
	SYS_USERNS_CHROOT,	  /* never inside a chroot */
	SYS_USERNS_CONTAINER,	  /* the container's seccomp filter or missing CAP_SYS_ADMIN */
	SYS_USERNS_SECCOMP,	  /* a filter on us that is not a container's: a service, another sandbox */
	SYS_USERNS_OTHER,
};
enum sys_userns_obstacle sys_userns_obstacle(const struct sys_probe *userns);

/* The first size-1 bytes of a small file (of /proc, mostly), NUL-terminated. Length or -errno. */
int sys_read_small(const char *path, char *ret, size_t size);

/* ── Directories ── */
struct sys_fs {
	int errnum; /* statfs failed; nothing else is set */
	char type[24];
	bool network, fuse, overlay, read_only;
	uint64_t free_bytes, free_inodes; /* for an ordinary user; UINT64_MAX inodes where they are not counted */
};
void sys_fs_examine(const char *dir, struct sys_fs *ret);
void sys_probe_writable(const char *dir, struct sys_probe *ret); /* makes and removes a file in it */
