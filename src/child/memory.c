/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "child/memory.h"

#include "sys/raw.h"

#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/memfd.h>

static long write_all(long fd, const char *data, size_t len)
{
	while (len > 0) {
		long n = raw_call3(__NR_write, fd, data, len);
		if (n == -EINTR)
			continue;
		if (n < 0)
			return n;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

int memory_sealed(const char *name, unsigned flag, const void *data, size_t len)
{
	long fd = raw_call2(__NR_memfd_create, name, MFD_CLOEXEC | MFD_ALLOW_SEALING | flag);
	if (fd == -EINVAL)
		fd = raw_call2(__NR_memfd_create, name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return (int)fd;
	long rc = write_all(fd, data, len);
	if (rc >= 0)
		rc = raw_call3(__NR_fcntl, fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
	if (rc >= 0)
		rc = raw_call3(__NR_lseek, fd, 0, 0);
	if (rc >= 0)
		return (int)fd;
	(void)raw_call1(__NR_close, fd);
	return (int)rc;
}
