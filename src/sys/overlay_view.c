/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/overlay_view.h"

#include "sys/probe_child.h"
#include "sys/raw_overlay.h"

#include "base/macros.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#define CHILD_STACK 65536

struct view_maker {
	const char *const *dirs;
	size_t n;
	int lower[SYS_OVERLAY_VIEW_MAX];
	bool new_user;
	int user_ns; /* to enter; negative: none */
	struct probe_id_maps maps;
	const char *upper, *work; /* not a view: is this in use? */
	long mount;		  /* or -errno */
};

/* Opened by path: the kernel takes only directories of the mount namespace that it mounts in. */
static long mount_view(struct view_maker *m)
{
	const struct raw_overlay overlay = {.lower = m->lower,
					    .n_lower = m->n,
					    .upper = -1,
					    .work = -1,
					    .attributes = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV};
	enum raw_overlay_step step;
	size_t opened = 0;
	long rc = 0;
	while (rc >= 0 && opened < m->n) {
		rc = raw_call4(__NR_openat, AT_FDCWD, m->dirs[opened], O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
			       0);
		if (rc >= 0)
			m->lower[opened++] = (int)rc;
	}
	rc = rc < 0 ? rc : raw_overlay_mount(&overlay, &step);
	while (opened > 0)
		(void)raw_call1(__NR_close, m->lower[--opened]);
	return rc;
}

static long open_dir(const char *path)
{
	return raw_call4(__NR_openat, AT_FDCWD, path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
}

/* Never mounts anything: of what could be created only the refusal is of interest. */
static long try_to_create(const struct view_maker *m)
{
	long upper = open_dir(m->upper), work = open_dir(m->work);
	long fs = upper < 0 ? upper : work < 0 ? work : raw_call2(__NR_fsopen, "overlay", RAW_FSOPEN_CLOEXEC);
	long rc = fs < 0 ? fs : raw_overlay_set(fs, "source", "airlock");
	rc = rc < 0 ? rc : raw_call5(__NR_fsconfig, fs, RAW_FSCONFIG_FLAG, "userxattr", 0, 0);
	rc = rc < 0 ? rc : raw_overlay_set(fs, "index", "on");
	rc = rc < 0 ? rc : raw_overlay_set(fs, "lowerdir", "/proc/self");
	rc = rc < 0 ? rc : raw_overlay_set_directory(fs, "upperdir", (int)upper);
	rc = rc < 0 ? rc : raw_overlay_set_directory(fs, "workdir", (int)work);
	rc = rc < 0 ? rc : raw_call5(__NR_fsconfig, fs, RAW_FSCONFIG_CREATE, 0, 0, 0);
	const long opened[] = {fs, work, upper};
	for (size_t i = 0; i < AL_ARRAY_LEN(opened); i++)
		if (opened[i] >= 0)
			(void)raw_call1(__NR_close, opened[i]);
	return rc < 0 ? rc : 0;
}

/* In the child, which shares memory and descriptors with the caller: what it opens the caller has, too. Raw system calls only. */
static int make_view(void *arg)
{
	struct view_maker *m = arg;
	struct probe_report r = {0};
	if (m->user_ns >= 0) {
		long rc = raw_call2(__NR_setns, m->user_ns, CLONE_NEWUSER);
		rc = rc < 0 ? rc : raw_call1(__NR_unshare, CLONE_NEWNS);
		m->mount = rc;
		if (rc < 0)
			return 1;
	}
	if (m->new_user && probe_write_id_maps(&m->maps, &r) < 0)
		m->mount = -r.errnum;
	else
		m->mount = m->upper ? try_to_create(m) : mount_view(m);
	return 0;
}

/* The caller waits until the child has ended (CLONE_VFORK), so the stack and the maker outlive it. No signal handler of the
 * program may run in the child, and nobody is told of its end. */
static int run_maker(struct view_maker *m)
{
	_cleanup_free_ char *stack = malloc(CHILD_STACK);
	sigset_t all, before;
	if (!stack)
		return -ENOMEM;
	int flags = CLONE_VM | CLONE_VFORK | CLONE_FILES | (m->new_user ? CLONE_NEWUSER | CLONE_NEWNS : 0);
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	int pid = clone(make_view, stack + CHILD_STACK, flags, m);
	int rc = pid < 0 ? -errno : 0;
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	while (pid > 0 && waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
		;
	return rc < 0 ? rc : (int)m->mount;
}

static struct view_maker maker(int user_ns)
{
	bool may_mount = raw_may_mount();
	return (struct view_maker){.new_user = !may_mount && user_ns < 0,
				   .user_ns = may_mount ? -EBADF : user_ns,
				   .maps = probe_id_maps(),
				   .mount = -EIO};
}

int sys_overlay_view(const char *const *dirs, size_t n, int user_ns)
{
	if (n == 1) {
		int fd = open(dirs[0], O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		return fd < 0 ? -errno : fd;
	}
	if (n > SYS_OVERLAY_VIEW_MAX)
		return -E2BIG;
	struct view_maker m = maker(user_ns);
	m.dirs = dirs;
	m.n = n;
	return run_maker(&m);
}

int sys_overlay_is_in_use(const char *upper, const char *work, int user_ns)
{
	struct view_maker m = maker(user_ns);
	m.upper = upper;
	m.work = work;
	int rc = run_maker(&m);
	return rc == -EBUSY ? 1 : rc == -EPERM || rc == -ENOMEM || rc == -ENODEV || rc == -EIO ? rc : 0;
}
