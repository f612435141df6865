/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* diff(1), by absolute path, without an environment, on copies in memory: what it says depends on nothing but the two
 * contents, and it sees no name that somebody else made up. It has a deadline: lines can be made to take it for ever. */
#include "change/diff/diff_parts.h"

#include "fs/io.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#define DEADLINE_MS 20000
#define FIRST_FD 10 /* beyond those that the child gets, so that none is in the way of another */

static const char *const programs[] = {"/usr/bin/diff", "/bin/diff", "/usr/local/bin/diff",
				       "/run/current-system/sw/bin/diff"};

/* In the order of their numbers in the child. */
enum { IN, OUT, ERR, BEFORE, AFTER, N_FDS };

static void close_all(int *fds)
{
	for (int i = 0; i < N_FDS; i++)
		base_closep(&fds[i]);
}

/* Out of the way of the numbers it will get. Takes fd, which may be -errno. */
static int lift(int fd)
{
	_cleanup_close_ int owned = fd;
	if (owned < 0)
		return owned;
	int lifted = fcntl(owned, F_DUPFD_CLOEXEC, FIRST_FD);
	return lifted < 0 ? -errno : lifted;
}

static int open_null(int flags)
{
	int fd = open("/dev/null", flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int open_copy(const struct buf *content)
{
	_cleanup_close_ int fd = memfd_create("content", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	int rc = fs_write_all(fd, content->data, content->len);
	return rc < 0 ? rc : TAKE_FD(fd);
}

static int open_fds(const struct buf *before, const struct buf *after, int *fds, int *ret_output)
{
	int pipe_fds[2];
	for (int i = 0; i < N_FDS; i++)
		fds[i] = -EBADF;
	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return -errno;
	*ret_output = pipe_fds[0];
	fds[OUT] = lift(pipe_fds[1]);
	fds[IN] = lift(open_null(O_RDONLY));
	fds[ERR] = lift(open_null(O_WRONLY));
	fds[BEFORE] = lift(open_copy(before));
	fds[AFTER] = lift(open_copy(after));
	for (int i = 0; i < N_FDS; i++)
		if (fds[i] < 0)
			return fds[i];
	return 0;
}

/* ── The child ── */

static int prepare(posix_spawn_file_actions_t *actions, posix_spawnattr_t *attr, const int *fds)
{
	sigset_t none, all;
	int rc = 0;
	for (int i = 0; rc == 0 && i < N_FDS; i++)
		rc = posix_spawn_file_actions_adddup2(actions, fds[i], i);
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_setsigmask(attr, &none);
	posix_spawnattr_setsigdefault(attr, &all);
	posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	return rc;
}

static int spawn_first(const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attr, pid_t *ret_pid)
{
	static const char *const argv[] = {"diff", "-a",    "-u",	 "-L",	      "before",
					   "-L",   "after", "/dev/fd/3", "/dev/fd/4", NULL};
	static const char *const environment[] = {"LC_ALL=C", NULL};
	int rc = ENOENT;
	for (size_t i = 0; rc == ENOENT && i < AL_ARRAY_LEN(programs); i++)
		rc = posix_spawn(ret_pid, programs[i], actions, attr, (char *const *)argv, (char *const *)environment);
	return -rc;
}

static int spawn_diff(const int *fds, pid_t *ret_pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	if (posix_spawn_file_actions_init(&actions) != 0)
		return -ENOMEM;
	if (posix_spawnattr_init(&attr) != 0) {
		posix_spawn_file_actions_destroy(&actions);
		return -ENOMEM;
	}
	int rc = prepare(&actions, &attr, fds);
	rc = rc ? -rc : spawn_first(&actions, &attr, ret_pid);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	return rc;
}

/* ── Its output ── */

static int64_t now_ms(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int read_output(int fd, struct buf *ret)
{
	char chunk[65536];
	for (int64_t end = now_ms() + DEADLINE_MS, left;;) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		left = end - now_ms();
		if (left <= 0)
			return -ETIMEDOUT;
		int ready = poll(&p, 1, (int)left);
		ssize_t n = ready > 0 ? read(fd, chunk, sizeof chunk) : -1;
		if (n == 0)
			return ret->failed ? -ENOMEM : 0;
		if (n > 0)
			buf_add(ret, chunk, (size_t)n);
		else if (ready != 0 && errno != EINTR)
			return -errno;
	}
}

/* A caller that ignores SIGCHLD, or waits for every child, gets there before us: then the output must do. */
static bool ended_well(pid_t pid, const struct buf *output)
{
	int status;
	pid_t got;
	do
		got = waitpid(pid, &status, 0);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return output->len > 0;
	return WIFEXITED(status) && WEXITSTATUS(status) <= 1;
}

/* The two lines with names are ours to write. */
static void cut_header(struct buf *output)
{
	size_t n = 0;
	for (int i = 0; i < 2; i++) {
		const char *newline = n < output->len ? memchr(output->data + n, '\n', output->len - n) : NULL;
		n = newline ? (size_t)(newline - output->data) + 1 : output->len;
	}
	if (n > 0)
		memmove(output->data, output->data + n, output->len - n + 1);
	output->len -= n;
}

static int collect(pid_t pid, int output, struct buf *hunks, struct airlock_error *err)
{
	int rc = read_output(output, hunks);
	if (rc < 0)
		(void)kill(pid, SIGKILL);
	bool well = ended_well(pid, hunks);
	if (rc == -ETIMEDOUT)
		return base_error(err, AIRLOCK_ERR_TIMEOUT, "diff", NULL, "diff did not end in time");
	if (rc < 0)
		return rc == -ENOMEM ? base_oom(err) : base_errno(err, AIRLOCK_ERR_IO, rc, "read", "diff");
	if (!well)
		return base_error(err, AIRLOCK_ERR_IO, "diff", NULL, "diff failed");
	cut_header(hunks);
	return 0;
}

int diff_run(const struct buf *before, const struct buf *after, struct buf *hunks, struct airlock_error *err)
{
	int fds[N_FDS];
	_cleanup_close_ int output = -EBADF;
	pid_t pid = 0;
	buf_reset(hunks);
	int rc = open_fds(before, after, fds, &output);
	rc = rc < 0 ? rc : spawn_diff(fds, &pid);
	close_all(fds);
	if (rc == -ENOENT) {
		(void)base_error(err, AIRLOCK_ERR_UNAVAILABLE, "exec", programs[0],
				 "the program diff is not installed");
		(void)base_hint(err, "install the package diffutils");
		return AIRLOCK_ERR_UNAVAILABLE;
	}
	if (rc < 0)
		return base_errno(err, AIRLOCK_ERR_IO, rc, "spawn", programs[0]);
	return collect(pid, output, hunks, err);
}
