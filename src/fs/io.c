/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/io.h"

#include <poll.h>

#define CHUNK 16384

int fs_read_all(int fd, size_t max, struct buf *ret)
{
	char chunk[CHUNK];
	for (;;) {
		ssize_t n = read(fd, chunk, sizeof chunk);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return ret->failed ? -ENOMEM : 0;
		if (ret->len > max || (size_t)n > max - ret->len)
			return -EFBIG;
		buf_add(ret, chunk, (size_t)n);
		if (ret->failed)
			return -ENOMEM;
	}
}

int fs_write_all(int fd, const void *data, size_t len)
{
	for (const char *at = data; len > 0;) {
		ssize_t n = write(fd, at, len);
		if (n < 0 && errno == EAGAIN) {
			struct pollfd p = {.fd = fd, .events = POLLOUT};
			(void)poll(&p, 1, -1);
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}
