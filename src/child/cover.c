/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* | namespaces           | uid          | capabilities | root, cwd     |
 * | the sandbox's mounts | the caller's | the caller's | the sandbox's |
 *
 * The command may be at work: the place is found without a symlink on the way. For root: the first process lets nobody into its
 * namespaces who may not trace it, and it cannot be traced.
 */
#include "child/cover.h"

#include "child/launch.h"
#include "sys/raw.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <sched.h>
#include <stddef.h>
#include <unistd.h>

#define IN_CHILD __attribute__((no_sanitize_address))

struct cover_request {
	int pid_fd, tree; /* tree: what goes over a file, -1: the sandbox's /dev/null */
	const char *target;
	bool is_dir;
	long result;
};

IN_CHILD static long empty_directory(void)
{
	long fs = raw_call2(__NR_fsopen, "tmpfs", FSOPEN_CLOEXEC);
	if (fs < 0)
		return fs;
	long rc = raw_call5(__NR_fsconfig, fs, FSCONFIG_SET_STRING, "mode", "0755", 0);
	if (rc >= 0)
		rc = raw_call5(__NR_fsconfig, fs, FSCONFIG_CMD_CREATE, 0, 0, 0);
	return rc < 0 ? rc : raw_call3(__NR_fsmount, fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
}

IN_CHILD static long cover(const struct cover_request *r)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW | (r->is_dir ? O_DIRECTORY : 0),
			       .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
	struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC};
	long rc = raw_call2(__NR_setns, r->pid_fd, CLONE_NEWNS);
	if (rc < 0)
		return rc;
	long place = raw_call4(__NR_openat2, AT_FDCWD, r->target, &how, sizeof how);
	if (place < 0)
		return place;
	long with = r->is_dir ? empty_directory()
		    : r->tree >= 0
			    ? r->tree
			    : raw_call3(__NR_open_tree, AT_FDCWD, "/dev/null", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (with < 0)
		return with;
	rc = raw_call5(__NR_mount_setattr, with, "", AT_EMPTY_PATH, &attr, sizeof attr);
	return rc < 0 ? rc
		      : raw_call5(__NR_move_mount, with, "", place, "",
				  MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
}

IN_CHILD static void step(void *data)
{
	struct cover_request *r = data;
	r->result = cover(r);
}

int cover_again(int pid_fd, const char *target, bool is_dir, const char *empty_file)
{
	struct cover_request r = {.pid_fd = pid_fd, .target = target, .is_dir = is_dir};
	r.tree =
		is_dir ? -1 : (int)raw_call3(__NR_open_tree, AT_FDCWD, empty_file, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	int rc = launch_step(step, &r);
	if (r.tree >= 0)
		(void)close(r.tree);
	if (rc == 0 && r.result < 0 && r.tree >= 0) { /* our mount does not go into mounts of another user namespace */
		r.tree = -1;
		rc = launch_step(step, &r);
	}
	return rc < 0 ? rc : (int)r.result;
}
