/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/beneath.h"

#include "base/macros.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>

#define CHUNK_MAX (PATH_MAX - 256) /* Leaves room for one component. */

/* One call, for a path that is short enough. */
static int open_stretch(int dir_fd, const char *path, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)(flags | O_CLOEXEC | O_NOFOLLOW),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
	};
	int fd;
	do /* EAGAIN: a rename raced with the resolution of "..". */
		fd = (int)syscall(SYS_openat2, dir_fd, path, &how, sizeof how);
	while (fd < 0 && (errno == EINTR || errno == EAGAIN));
	return fd < 0 ? -errno : fd;
}

/* How many bytes of a long path to open in the next call: whole components only. */
static size_t stretch_length(const char *path)
{
	size_t len = strnlen(path, CHUNK_MAX + 1);
	if (len <= CHUNK_MAX)
		return len;
	len = CHUNK_MAX;
	while (len > 0 && path[len] != '/')
		len--;
	return len;
}

int fs_open_beneath(int root_fd, const char *path, int flags)
{
	if (*path == '\0')
		return open_stretch(root_fd, ".", flags);
	_cleanup_close_ int at = -EBADF;
	for (;;) {
		size_t len = stretch_length(path);
		if (path[len] == '\0')
			return open_stretch(at >= 0 ? at : root_fd, path, flags);
		if (len == 0)
			return -ENAMETOOLONG;
		char part[CHUNK_MAX + 1];
		memcpy(part, path, len);
		part[len] = '\0';
		int next = open_stretch(at >= 0 ? at : root_fd, part, O_PATH | O_DIRECTORY);
		if (next < 0)
			return next;
		base_closep(&at);
		at = next;
		path += len + 1;
	}
}

int fs_open_parent(int root_fd, const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	*ret_name = slash ? slash + 1 : path;
	if (!slash)
		return fs_open_beneath(root_fd, "", O_PATH | O_DIRECTORY);
	_cleanup_free_ char *dir = strndup(path, (size_t)(slash - path));
	return dir ? fs_open_beneath(root_fd, dir, O_PATH | O_DIRECTORY) : -ENOMEM;
}

int fs_stat_beneath(int root_fd, const char *path, struct stat *ret)
{
	const char *name;
	if (*path == '\0')
		return fstat(root_fd, ret) < 0 ? -errno : 0;
	_cleanup_close_ int dir = fs_open_parent(root_fd, path, &name);
	if (dir < 0)
		return dir;
	return fstatat(dir, name, ret, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}
