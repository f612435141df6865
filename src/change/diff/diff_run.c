/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* diff(1) and diff3(1), by absolute path, without an environment, on copies in memory: what they say depends on nothing but the
 * contents, and they see no name that somebody else made up. They have a deadline: lines can be made to take them for ever. */
#include "change/diff/diff_parts.h"

#include "fs/io.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#define DEADLINE_MS 20000
#define FIRST_FD 10 /* beyond those that the child gets, so that none is in the way of another */

static const char *const folders[] = {"/usr/bin", "/bin", "/usr/local/bin", "/run/current-system/sw/bin"};

/* In the order of their numbers in the child; the contents follow. */
enum { IN, OUT, ERR, FIRST_CONTENT, MAX_CONTENTS = 3, MAX_FDS = FIRST_CONTENT + MAX_CONTENTS };

struct tool {
	const char *name;
	const char *const *argv; /* without the folder; the contents are /dev/fd/3 and so on */
	const struct buf *contents[MAX_CONTENTS];
	int n;
};

static void close_all(int *fds)
{
	for (int i = 0; i < MAX_FDS; i++)
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

static int open_fds(const struct tool *t, int *fds, int *ret_output)
{
	int pipe_fds[2];
	for (int i = 0; i < MAX_FDS; i++)
		fds[i] = -EBADF;
	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return -errno;
	*ret_output = pipe_fds[0];
	fds[OUT] = lift(pipe_fds[1]);
	fds[IN] = lift(open_null(O_RDONLY));
	fds[ERR] = lift(open_null(O_WRONLY));
	for (int i = 0; i < t->n; i++)
		fds[FIRST_CONTENT + i] = lift(open_copy(t->contents[i]));
	for (int i = 0; i < FIRST_CONTENT + t->n; i++)
		if (fds[i] < 0)
			return fds[i];
	return 0;
}

/* ── The child ── */

static int prepare(posix_spawn_file_actions_t *actions, posix_spawnattr_t *attr, const int *fds)
{
	sigset_t none, all;
	int rc = 0;
	for (int i = 0; rc == 0 && i < MAX_FDS && fds[i] >= 0; i++)
		rc = posix_spawn_file_actions_adddup2(actions, fds[i], i);
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_setsigmask(attr, &none);
	posix_spawnattr_setsigdefault(attr, &all);
	posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	return rc;
}

static int spawn_first(const struct tool *t, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attr,
		       pid_t *ret_pid)
{
	static const char *const environment[] = {"LC_ALL=C",
						  "PATH=/usr/bin:/bin:/usr/local/bin:/run/current-system/sw/bin", NULL};
	char path[64];
	int rc = ENOENT;
	for (size_t i = 0; rc == ENOENT && i < AL_ARRAY_LEN(folders); i++) {
		(void)snprintf(path, sizeof path, "%s/%s", folders[i], t->name);
		rc = posix_spawn(ret_pid, path, actions, attr, (char *const *)t->argv, (char *const *)environment);
	}
	return -rc;
}

static int spawn_tool(const struct tool *t, const int *fds, pid_t *ret_pid)
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
	rc = rc ? -rc : spawn_first(t, &actions, &attr, ret_pid);
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

/* Its exit status, 0 or 1; -1: it failed. A caller that ignores SIGCHLD, or waits for every child, gets there before us: then
 * nobody knows. */
static int wait_for(pid_t pid, bool *ret_known)
{
	int status;
	pid_t got;
	do
		got = waitpid(pid, &status, 0);
	while (got < 0 && errno == EINTR);
	*ret_known = got >= 0;
	return got >= 0 && WIFEXITED(status) && WEXITSTATUS(status) <= 1 ? WEXITSTATUS(status) : -1;
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

static int collect(const struct tool *t, pid_t pid, int output, struct buf *ret, int *ret_status,
		   struct airlock_error *err)
{
	bool known = false;
	int rc = read_output(output, ret);
	if (rc < 0)
		(void)kill(pid, SIGKILL);
	*ret_status = wait_for(pid, &known);
	if (rc == -ETIMEDOUT)
		return base_error(err, AIRLOCK_ERR_TIMEOUT, t->name, NULL, "%s did not end in time", t->name);
	if (rc < 0)
		return rc == -ENOMEM ? base_oom(err) : base_errno(err, AIRLOCK_ERR_IO, rc, "read", t->name);
	if (known && *ret_status < 0)
		return base_error(err, AIRLOCK_ERR_IO, t->name, NULL, "%s failed", t->name);
	return 0;
}

/* ret_status: 0 or 1; -1: not known. */
static int run_tool(const struct tool *t, struct buf *ret, int *ret_status, struct airlock_error *err)
{
	int fds[MAX_FDS];
	_cleanup_close_ int output = -EBADF;
	pid_t pid = 0;
	buf_reset(ret);
	int rc = open_fds(t, fds, &output);
	rc = rc < 0 ? rc : spawn_tool(t, fds, &pid);
	close_all(fds);
	if (rc == -ENOENT) {
		(void)base_error(err, AIRLOCK_ERR_UNAVAILABLE, "exec", t->name, "the program %s is not installed",
				 t->name);
		(void)base_hint(err, "install the package diffutils");
		return AIRLOCK_ERR_UNAVAILABLE;
	}
	if (rc < 0)
		return base_errno(err, AIRLOCK_ERR_IO, rc, "spawn", t->name);
	return collect(t, pid, output, ret, ret_status, err);
}

int diff_run(const struct buf *before, const struct buf *after, struct buf *hunks, struct airlock_error *err)
{
	static const char *const argv[] = {"diff", "-a",    "-u",	 "-L",	      "before",
					   "-L",   "after", "/dev/fd/3", "/dev/fd/4", NULL};
	const struct tool diff = {.name = "diff", .argv = argv, .contents = {before, after}, .n = 2};
	int status = 0, rc = run_tool(&diff, hunks, &status, err);
	if (rc < 0)
		return rc;
	if (status < 0 && hunks->len == 0) /* nobody knows, and it said nothing */
		return base_error(err, AIRLOCK_ERR_IO, "diff", NULL, "diff failed");
	cut_header(hunks);
	return 0;
}

int diff_merge(const struct buf *ours, const struct buf *base, const struct buf *theirs, struct buf *ret,
	       struct airlock_error *err)
{
	static const char *const argv[] = {"diff3", "-a", "-m", "-E", "/dev/fd/3", "/dev/fd/4", "/dev/fd/5", NULL};
	const struct tool diff3 = {.name = "diff3", .argv = argv, .contents = {ours, base, theirs}, .n = 3};
	int status = 0, rc = run_tool(&diff3, ret, &status, err);
	/* Where nobody knows how it ended, the merge may have marks of a conflict in it. */
	return rc < 0 ? rc : status == 0 ? 1 : 0;
}
