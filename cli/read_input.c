/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "read_input.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

ssize_t input_take(int fd, void *to, size_t size)
{
	for (;;) {
		ssize_t n = read(fd, to, size);
		if (n >= 0 || (errno != EINTR && errno != EAGAIN))
			return n;
		struct pollfd p = {.fd = fd, .events = POLLIN};
		if (errno == EAGAIN)
			(void)poll(&p, 1, -1);
	}
}
