/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "layer/open.h"

#include "base/macros.h"

#include <fcntl.h>

int open_known_at(int dirfd, const char *name, const struct stat *known)
{
	struct stat now;
	if (!S_ISREG(known->st_mode))
		return -EINVAL;
	_cleanup_close_ int fd = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &now) < 0)
		return -errno;
	return now.st_dev == known->st_dev && now.st_ino == known->st_ino ? TAKE_FD(fd) : -ESTALE;
}

int open_regular_at(int dirfd, const char *name)
{
	struct stat st;
	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	return open_known_at(dirfd, name, &st);
}
