/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is told of output that could not be passed on. */
#include "tests.h"

#include "base/macros.h"
#include "supervise/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

static int failing; /* errno of the next writes; 0: they work */

ssize_t __real_pwritev64v2(int fd, const struct iovec *v, int n, off_t at, int flags);
ssize_t __wrap_pwritev64v2(int fd, const struct iovec *v, int n, off_t at, int flags);

ssize_t __wrap_pwritev64v2(int fd, const struct iovec *v, int n, off_t at, int flags)
{
	if (!failing)
		return __real_pwritev64v2(fd, v, n, at, flags);
	errno = failing;
	return -1;
}

/* Which error is remembered when the write into fd fails with errnum. */
static int remembered(int fd, int errnum)
{
	struct relay r;
	assert_int_equal(relay_init(&r, fd), 0);
	failing = errnum;
	relay_put(&r, "x", 1);
	failing = 0;
	assert_true(r.broken && !relay_is_full(&r));
	int told = r.errnum;
	relay_done(&r);
	return told;
}

static void a_reader_that_went_is_no_error(void **state)
{
	int fds[2], sockets[2];
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
	assert_int_equal(remembered(fds[1], EPIPE), 0);
	assert_int_equal(remembered(sockets[1], EPIPE), 0);
	assert_int_equal(remembered(sockets[1], ECONNRESET), 0);
	for (int i = 0; i < 2; i++) {
		(void)close(fds[i]);
		(void)close(sockets[i]);
	}
}

/* The last bytes of a command that has succeeded would be missing without a word. */
static void a_pipe_that_cannot_take_it_is_one(void **state)
{
	static const int errors[] = {ENOMEM, EIO, ENOBUFS};
	int fds[2];
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	for (size_t i = 0; i < AL_ARRAY_LEN(errors); i++)
		assert_int_equal(remembered(fds[1], errors[i]), errors[i]);
	(void)close(fds[0]);
	(void)close(fds[1]);
}

static void a_full_file_is_one(void **state)
{
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(remembered(fd, 0), ENOSPC);
	(void)close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reader_that_went_is_no_error),
		cmocka_unit_test(a_pipe_that_cannot_take_it_is_one),
		cmocka_unit_test(a_full_file_is_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
