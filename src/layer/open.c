/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "layer/open.h"

#include "base/macros.h"

#include <fcntl.h>
#include <stdio.h>

int open_pin_regular(int dirfd, const char *name, struct stat *ret)
{
	_cleanup_close_ int fd = openat(dirfd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, ret) < 0)
		return -errno;
	return S_ISREG(ret->st_mode) ? TAKE_FD(fd) : -EINVAL;
}

int open_pinned(int fd)
{
	char proc[32];
	(void)snprintf(proc, sizeof proc, "/proc/self/fd/%d", fd);
	int opened = open(proc, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return opened < 0 ? -errno : opened;
}

int open_regular_at(int dirfd, const char *name)
{
	struct stat st;
	_cleanup_close_ int pinned = open_pin_regular(dirfd, name, &st);
	return pinned < 0 ? pinned : open_pinned(pinned);
}
