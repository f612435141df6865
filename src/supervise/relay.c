/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "supervise/relay.h"

#include "base/macros.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>

/* A terminal does not support RWF_NOWAIT. Opened again, it has its own file description, which may be non-blocking. */
static int reopen_terminal(int fd)
{
	char path[40];
	(void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

int relay_unblock(int fd)
{
	int flags = fcntl(fd, F_GETFL);
	return flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ? -errno : 0;
}

int relay_init(struct relay *r, int fd)
{
	*r = (struct relay){.fd = -EBADF};
	struct stat st;
	if (fd < 0)
		return 0;
	if (fstat(fd, &st) < 0)
		return errno == EBADF ? 0 : -errno; /* closed: the command runs anyway */
	r->terminal = isatty(fd);
	if (r->terminal)
		r->fd = reopen_terminal(fd);
	if (r->fd < 0) {
		r->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
		r->small = r->terminal;
	}
	r->plain = !S_ISFIFO(st.st_mode) && !S_ISSOCK(st.st_mode) && !r->terminal;
	r->data = malloc(RELAY_BUFFER);
	return r->fd < 0 ? -errno : r->data ? 0 : -ENOMEM;
}

void relay_done(struct relay *r)
{
	base_closep(&r->fd);
	base_freep(&r->data);
}

bool relay_is_full(const struct relay *r)
{
	return r->len > 0;
}

void relay_put(struct relay *r, const char *data, size_t len)
{
	if (r->fd < 0 || r->broken)
		return;
	memcpy(r->data, data, len);
	r->at = 0;
	r->len = len;
	relay_flush(r);
}

static ssize_t write_some(struct relay *r)
{
	const char *p = r->data + r->at;
	if (r->plain)
		return write(r->fd, p, r->len);
	if (!r->small) {
		struct iovec iov = {(char *)p, r->len};
		ssize_t n = pwritev2(r->fd, &iov, 1, -1, RWF_NOWAIT);
		if (n >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL))
			return n;
		if (fcntl(r->fd, F_GETFL) & O_NONBLOCK)
			return write(r->fd, p, r->len);
		r->small = true;
		errno = EAGAIN; /* wait until poll promises room for PIPE_BUF bytes */
		return -1;
	}
	return write(r->fd, p, AL_MIN(r->len, (size_t)PIPE_BUF));
}

/* A reader that closed its end did so on purpose. */
static bool is_reader_gone(const struct relay *r, int errnum)
{
	return !r->plain && (errnum == EPIPE || errnum == ECONNRESET || (errnum == EIO && r->terminal));
}

void relay_flush(struct relay *r)
{
	while (r->len > 0 && !r->broken) {
		ssize_t n = write_some(r);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0) {
			r->broken = true;
			r->errnum = is_reader_gone(r, errno) ? 0 : errno;
			r->len = 0;
			return;
		}
		r->at += (size_t)n;
		r->len -= (size_t)n;
		if (r->small && r->len > 0)
			return;
	}
}
