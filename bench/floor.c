/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the kernel takes for the isolation that is asked of everybody, without anything that a launcher does besides: no
 * options, no policy, no system call filter, no loopback, no records, no signals passed on. Nobody can be much faster.
 *   floor PROJECT PROGRAM [ARGUMENT...]
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int check(const char *what, long rc)
{
	if (rc < 0) {
		perror(what);
		_exit(125);
	}
	return (int)rc;
}

static void write_file(const char *path, const char *text)
{
	int fd = check(path, open(path, O_WRONLY | O_CLOEXEC));
	check(path, write(fd, text, strlen(text)));
	close(fd);
}

static void map_ids(unsigned uid, unsigned gid)
{
	char text[64];
	write_file("/proc/self/setgroups", "deny");
	snprintf(text, sizeof text, "%u %u 1", uid, uid);
	write_file("/proc/self/uid_map", text);
	snprintf(text, sizeof text, "%u %u 1", gid, gid);
	write_file("/proc/self/gid_map", text);
}

static int new_fs(const char *type, const char *mode)
{
	int fs = check(type, syscall(SYS_fsopen, type, FSOPEN_CLOEXEC));
	if (mode)
		check(type, syscall(SYS_fsconfig, fs, FSCONFIG_SET_STRING, "mode", mode, 0));
	check(type, syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0));
	int mount_fd = check(type, syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID));
	close(fs);
	return mount_fd;
}

static int tree(const char *path, unsigned flags)
{
	return check(path, syscall(SYS_open_tree, AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | flags));
}

static void attach(int mount_fd, int at, const char *path)
{
	check(path, syscall(SYS_move_mount, mount_fd, "", at, path, MOVE_MOUNT_F_EMPTY_PATH));
}

static void make_dev(int root)
{
	static const char *const names[] = {"null", "zero", "full", "random", "urandom", "tty"};
	int dev = new_fs("tmpfs", "755");
	attach(dev, root, "dev");
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char path[32];
		snprintf(path, sizeof path, "/dev/%s", names[i]);
		check(path, mknodat(dev, names[i], S_IFREG | 0444, 0));
		attach(tree(path, 0), dev, names[i]);
	}
	check("shm", mkdirat(dev, "shm", 01777));
	check("pts", mkdirat(dev, "pts", 0755));
}

static void make_view(const char *project)
{
	struct mount_attr private = {.propagation = MS_PRIVATE},
			  read_only = {.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID, .propagation = MS_PRIVATE};
	check("private", syscall(SYS_mount_setattr, AT_FDCWD, "/", AT_RECURSIVE, &private, sizeof private));
	int root = tree("/", AT_RECURSIVE), own = tree(project, 0);
	check("read-only",
	      syscall(SYS_mount_setattr, root, "", AT_EMPTY_PATH | AT_RECURSIVE, &read_only, sizeof read_only));
	attach(root, AT_FDCWD, "/");
	make_dev(root);
	attach(new_fs("proc", NULL), root, "proc");
	attach(new_fs("tmpfs", "1777"), root, "tmp");
	attach(own, root, project + 1);
	check("chdir", fchdir(root));
	check("pivot_root", syscall(SYS_pivot_root, ".", "."));
	check("umount", umount2(".", MNT_DETACH));
	check("chdir", chdir(project));
}

static int wait_for(pid_t pid)
{
	int status;
	pid_t ended;
	while ((ended = wait(&status)) != pid)
		check("wait", ended);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
	struct clone_args args = {.flags = CLONE_VM | CLONE_VFORK | CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID |
					   CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP,
				  .exit_signal = SIGCHLD};
	if (argc < 3 || argv[1][0] != '/') {
		fprintf(stderr, "usage: floor PROJECT PROGRAM [ARGUMENT...]\n");
		return 2;
	}
	unsigned uid = geteuid(), gid = getegid();
	pid_t pid = check("clone3", syscall(SYS_clone3, &args, sizeof args));
	if (pid == 0) {
		map_ids(uid, gid);
		make_view(argv[1]);
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		pid_t command = vfork();
		if (command == 0) {
			execvp(argv[2], argv + 2);
			_exit(127);
		}
		_exit(wait_for(command));
	}
	return wait_for(pid);
}
