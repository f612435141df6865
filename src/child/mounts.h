/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Mounts and maps, as both the stage and the native backend make them. Freestanding.
 *
 * Whatever fails ends the process: CHILD_FAILED goes to the supervisor with what was being done (enum child_op), to what
 * (the number of the layer or of the plan's mount) and the error.
 */
#pragma once

#include "child/child_job.h"

#include <stddef.h>

/* The current operation and path, for the message if it fails. */
struct mounts_progress {
	enum child_stage stage;
	uint32_t subject;
	uint32_t silent; /* failures are not reported */
};
extern struct mounts_progress mounts_progress;

/* Returns rc if it is not negative. */
long mounts_check(enum child_op op, long rc);

/* Maps the memory file of that descriptor, which starts with magic and size, and closes it. */
void *mounts_map_file(int fd);

/* Maps one id to itself. proc_fd: a directory of a proc file system. */
void mounts_map_user(int proc_fd, uint32_t uid, uint32_t gid);
/* Enters root's user namespace: 0 is 0 there, and ids 1 to n - 1 are those after first. Needs CAP_SETUID and
 * CAP_SETGID outside. */
void mounts_enter_user_with(int proc_fd, uint32_t first, uint32_t n);
/* In our own user namespace, whose limits apply to those within it too. A user has 128 inotify instances, mostly for
 * the desktop: without a limit a command could take them all. */
void mounts_leave_some_to_the_user(int proc_fd);
void mounts_write_file(int dir_fd, const char *path, const char *text, size_t len);

/* From here on no mount propagates to the host. */
void mounts_make_private(void);

/* Detached mounts: descriptors for mounts_attach. Size in bytes. */
int mounts_tmpfs(int64_t size, unsigned mode);
/* An empty directory that holds mount points or hides what is below it. All of them are in one small file system: another one takes
 * five times as long to make and to drop. */
int mounts_room(void);
/* Makes some that most plans ask for while a prestarted sandbox waits for its plan; drops those that the plan did not use. */
void mounts_make_spare(void);
void mounts_drop_spare(void);
/* Layers between the lower directory and the upper one, the topmost first: offsets of their paths from base. */
struct mounts_lowers {
	const char *base;
	const uint64_t *at;
	uint64_t n;
};
int mounts_overlay(int lower_fd, const struct mounts_lowers *lowers, const char *upper, const char *work);
/* An overlay of the directory and nothing: the same files, but its sockets and FIFOs lead nowhere. -errno if the
 * kernel makes none of it. */
long mounts_screen(const char *dir);
/* Mounts it where nobody sees it (CHILD_ASIDE), for kernels that copy only what is mounted. 0 or -errno. */
long mounts_set_aside(int mount);
/* Closes a mount that is not used. To close one that is mounted nowhere, the kernel waits until no processor looks at it any more; what
 * is set aside goes together with the old root, and the kernel waits once. */
void mounts_drop(int mount);
/* A directory is shown without its screen. Recorded, and reported to the supervisor before HELLO, if it may contain
 * sockets that this user could reach. */
void mounts_note_exposed(const char *dir, long rc);
void mounts_tell_exposed(void);
int mounts_fs(int fs_fd, unsigned attributes); /* a file system whose options are set; closes fs_fd */
int mounts_open_fs(const char *type);
long mounts_set_string(int fs_fd, const char *key, const char *value);

int mounts_open_directory(enum child_op op, const char *path);
void mounts_attach(int mount_fd, int place_fd);
long mounts_try_attach(int mount_fd, int place_fd); /* -ENOENT: the target was replaced in the meantime */
/* attributes: MOUNT_ATTR_…, added to the existing ones. */
long mounts_restrict(int mount_fd, unsigned attributes, int with_everything_below);
