/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "child/mounts.h"

#include "child/raw_calls.h"
#include "sys/raw_overlay.h"

#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/mman.h>
#include <linux/mount.h>

struct mounts_progress mounts_progress;

long mounts_check(enum child_op op, long rc)
{
	if (rc >= 0)
		return rc;
	if (mounts_progress.silent)
		r_exit(1);
	struct child_message m = {.type = CHILD_FAILED,
				  .a = (int32_t)mounts_progress.stage,
				  .b = (int32_t)-rc,
				  .op = op,
				  .subject = mounts_progress.subject};
	(void)r_write(CHILD_FD_CONTROL, &m, sizeof m);
	r_exit(1);
}

void *mounts_map_file(int fd)
{
	struct {
		uint32_t magic, size;
	} head;
	if (r_read(fd, &head, sizeof head) != (long)sizeof head || head.magic != CHILD_JOB_MAGIC)
		(void)mounts_check(CHILD_OP_READ_JOB, -EINVAL);
	long p = raw_call6(__NR_mmap, 0, (long)head.size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	(void)mounts_check(CHILD_OP_READ_JOB, p < 0 && p > -4096 ? p : 0);
	(void)r_close(fd);
	return (void *)p;
}

void mounts_write_file(int dir_fd, const char *path, const char *text, size_t len)
{
	long fd = mounts_check(CHILD_OP_MAP, raw_call4(__NR_openat, dir_fd, path, O_WRONLY | O_CLOEXEC, 0));
	mounts_check(CHILD_OP_MAP, r_write((int)fd, text, len));
	(void)r_close((int)fd);
}

static size_t put_number(char *out, uint64_t v, unsigned radix)
{
	char digits[24];
	size_t n = 0, at = 0;
	do
		digits[n++] = (char)('0' + v % radix);
	while (v /= radix);
	while (n)
		out[at++] = digits[--n];
	return at;
}

/* "1000 1000 1" */
static void write_map(int proc_fd, const char *path, uint32_t id)
{
	char text[40];
	size_t n = put_number(text, id, 10);
	text[n++] = ' ';
	n += put_number(text + n, id, 10);
	text[n++] = ' ';
	text[n++] = '1';
	mounts_write_file(proc_fd, path, text, n);
}

void mounts_map_user(int proc_fd, uint32_t uid, uint32_t gid)
{
	mounts_write_file(proc_fd, "self/setgroups", "deny", 4);
	write_map(proc_fd, "self/uid_map", uid);
	write_map(proc_fd, "self/gid_map", gid);
}

void mounts_make_private(void)
{
	mounts_check(CHILD_OP_PRIVATE, raw_call5(__NR_mount, 0, "/", 0, MS_REC | MS_PRIVATE, 0));
}

int mounts_open_directory(enum child_op op, const char *path)
{
	return (int)mounts_check(op, r_open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

int mounts_open_fs(const char *type)
{
	return (int)mounts_check(CHILD_OP_FSOPEN, raw_call2(__NR_fsopen, type, FSOPEN_CLOEXEC));
}

long mounts_set_string(int fs_fd, const char *key, const char *value)
{
	return raw_call5(__NR_fsconfig, fs_fd, FSCONFIG_SET_STRING, key, value, 0);
}

int mounts_fs(int fs_fd, unsigned attributes)
{
	mounts_check(CHILD_OP_CREATE, raw_call5(__NR_fsconfig, fs_fd, FSCONFIG_CMD_CREATE, 0, 0, 0));
	long mount = mounts_check(CHILD_OP_CREATE, raw_call3(__NR_fsmount, fs_fd, FSMOUNT_CLOEXEC, attributes));
	(void)r_close(fs_fd);
	return (int)mount;
}

/* ── Empty file systems ── */

/* Those that nearly every plan asks for. Whose plan asks for others has made some for nothing. */
static struct {
	int64_t size;
	unsigned mode;
	int mount; /* 0: none */
} spare[] = {{CHILD_SMALL_TMPFS, 0755, 0}, {CHILD_SMALL_TMPFS, 0755, 0},  {CHILD_SMALL_TMPFS, 0755, 0},
	     {CHILD_SMALL_TMPFS, 0755, 0}, {INT64_C(2) << 30, 01777, 0},  {INT64_C(2) << 30, 01777, 0},
	     {INT64_C(2) << 30, 0755, 0},  {INT64_C(256) << 20, 01777, 0}};
#define SPARES (sizeof spare / sizeof *spare)

static int new_tmpfs(int64_t size, unsigned mode)
{
	char size_text[24], mode_text[24];
	size_text[put_number(size_text, (uint64_t)size, 10)] = '\0';
	mode_text[put_number(mode_text, mode, 8)] = '\0';
	int fs = mounts_open_fs("tmpfs");
	mounts_check(CHILD_OP_OPTION, mounts_set_string(fs, "size", size_text));
	mounts_check(CHILD_OP_OPTION, mounts_set_string(fs, "mode", mode_text));
	return mounts_fs(fs, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
}

void mounts_make_spare(void)
{
	for (size_t i = 0; i < SPARES; i++)
		spare[i].mount = new_tmpfs(spare[i].size, spare[i].mode);
}

void mounts_drop_spare(void)
{
	for (size_t i = 0; i < SPARES; i++)
		if (spare[i].mount)
			(void)r_close(spare[i].mount);
}

int mounts_tmpfs(int64_t size, unsigned mode)
{
	for (size_t i = 0; i < SPARES; i++)
		if (spare[i].mount && spare[i].size == size && spare[i].mode == mode) {
			int mount = spare[i].mount;
			spare[i].mount = 0;
			return mount;
		}
	return new_tmpfs(size, mode);
}

/* ── Overlays ── */

/* A layer that is a whole copy of the root: it is mounted itself, and nothing is below it. */
static int bind_copy(const char *copy)
{
	long tree =
		raw_call3(__NR_open_tree, AT_FDCWD, copy, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW);
	mounts_check(CHILD_OP_OPEN_UPPER, tree);
	mounts_check(CHILD_OP_RESTRICT, mounts_restrict((int)tree, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, 1));
	return (int)tree;
}

int mounts_overlay(int lower_fd, const char *upper, const char *work)
{
	if (!*work)
		return bind_copy(upper);

	static const enum child_op ops[] = {[RAW_OVERLAY_OPEN] = CHILD_OP_FSOPEN,
					    [RAW_OVERLAY_OPTION] = CHILD_OP_OPTION,
					    [RAW_OVERLAY_CREATE] = CHILD_OP_CREATE,
					    [RAW_OVERLAY_MOUNT] = CHILD_OP_CREATE,
					    [RAW_OVERLAY_WORKDIR] = CHILD_OP_OPTION};
	struct raw_overlay o = {.lower = &lower_fd,
				.n_lower = 1,
				.upper = mounts_open_directory(CHILD_OP_OPEN_UPPER, upper),
				.work = mounts_open_directory(CHILD_OP_OPEN_WORK, work),
				.attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV};
	enum raw_overlay_step step = RAW_OVERLAY_OPEN;
	long mount = raw_overlay_mount(&o, &step);
	mounts_check(ops[step], mount);
	(void)r_close(o.work);
	(void)r_close(o.upper);
	return (int)mount;
}

long mounts_try_attach(int mount_fd, int place_fd)
{
	return raw_call5(__NR_move_mount, mount_fd, "", place_fd, "",
			 MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
}

void mounts_attach(int mount_fd, int place_fd)
{
	mounts_check(CHILD_OP_MOUNT, mounts_try_attach(mount_fd, place_fd));
}

long mounts_restrict(int mount_fd, unsigned attributes, int with_everything_below)
{
	struct mount_attr attr = {.attr_set = attributes};
	return raw_call5(__NR_mount_setattr, mount_fd, "", AT_EMPTY_PATH | (with_everything_below ? AT_RECURSIVE : 0),
			 &attr, sizeof attr);
}

void mounts_leave_some_to_the_user(int proc)
{
	long fd = raw_call4(__NR_openat, proc, "sys/user/max_inotify_instances", O_WRONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return; /* a kernel without inotify */
	(void)r_write((int)fd, "64", 2);
	(void)r_close((int)fd);
}
