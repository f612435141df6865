/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "session/holder.h"

#include "base/hash.h"
#include "base/path.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define END_MS 20000
#define LOOK_MS 50
#define TEXT_SIZE 64

void session_holder_done(struct session_holder *h)
{
	base_closep(&h->pid_fd);
}

static int open_at(int dir_fd, const char *name, int flags)
{
	int fd = openat(dir_fd, name, flags | O_NOFOLLOW | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : fd;
}

static int open_file(const char *session_dir, const char *name, int flags)
{
	_cleanup_free_ char *path = path_join(session_dir, name);
	if (!path)
		return -ENOMEM;
	return open_at(AT_FDCWD, path, flags);
}

/* Asked for, not taken: somebody who asks at the same moment must not see our lock. */
static bool is_locked(int fd)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

static bool read_text(int fd, char text[TEXT_SIZE])
{
	ssize_t n = pread(fd, text, TEXT_SIZE - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* While the lock is held and the file says the same before and after, the pid is that of the process it speaks of. */
int session_pid_read(int dir_fd, const char *name, struct session_holder *ret)
{
	char before[TEXT_SIZE], after[TEXT_SIZE];
	int pid = 0;
	_cleanup_close_ int fd = open_at(dir_fd, name, O_RDWR);
	if (fd < 0)
		return fd;
	/* NOLINTNEXTLINE(cert-err34-c): we wrote it, and a wrong number is no process that has the lock */
	if (!is_locked(fd) || !read_text(fd, before) || sscanf(before, "%d %x", &pid, &ret->traits) != 2 || pid <= 0)
		return -ENOENT;
	_cleanup_close_ int pid_fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pid_fd < 0 || !is_locked(fd) || !read_text(fd, after) || strcmp(before, after) != 0)
		return -ENOENT;
	ret->pid = pid;
	ret->pid_fd = TAKE_FD(pid_fd);
	return 0;
}

int session_holder_find(const char *session_dir, struct session_holder *ret)
{
	_cleanup_free_ char *path = path_join(session_dir, "holder");
	return path ? session_pid_read(AT_FDCWD, path, ret) : -ENOMEM;
}

int session_pid_lock(int dir_fd, const char *name)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	_cleanup_close_ int fd = open_at(dir_fd, name, O_RDWR | O_CREAT);
	if (fd < 0)
		return fd;
	if (fcntl(fd, F_OFD_SETLK, &lock) < 0)
		return errno == EAGAIN || errno == EACCES ? -EBUSY : -errno;
	return ftruncate(fd, 0) < 0 ? -errno : TAKE_FD(fd);
}

int session_holder_lock(const char *session_dir)
{
	_cleanup_free_ char *path = path_join(session_dir, "holder");
	return path ? session_pid_lock(AT_FDCWD, path) : -ENOMEM;
}

int session_holder_record(int lock_fd, pid_t pid, unsigned traits)
{
	char text[TEXT_SIZE];
	int n = snprintf(text, sizeof text, "%d %x\n", (int)pid, traits);
	return pwrite(lock_fd, text, (size_t)n, 0) == n ? 0 : errno ? -errno : -EIO;
}

int session_holder_open_busy(const char *session_dir)
{
	return open_file(session_dir, "busy", O_RDWR | O_CREAT);
}

int session_keepers_open(const char *session_dir)
{
	return open_file(session_dir, "keepers", O_RDWR | O_CREAT);
}

void session_holder_touch(int busy_fd)
{
	(void)futimens(busy_fd, NULL);
}

int session_holder_busy(const char *session_dir)
{
	_cleanup_close_ int fd = session_holder_open_busy(session_dir);
	if (fd < 0)
		return fd;
	session_holder_touch(fd);
	return flock(fd, LOCK_SH) < 0 ? -errno : TAKE_FD(fd);
}

/* A process 1 ends when everything in its namespace is dead and waited for. What a program outside has started there and does not
 * wait for keeps it from that, but is dead all the same. */
static int end_one(const struct session_holder *h)
{
	ino_t namespace = session_holder_namespace(h);
	if (syscall(SYS_pidfd_send_signal, h->pid_fd, SIGKILL, NULL, 0) < 0)
		return errno == ESRCH ? 0 : -errno;
	for (int waited = 0; waited < END_MS; waited += LOOK_MS) {
		struct pollfd dead = {h->pid_fd, POLLIN, 0};
		int rc = poll(&dead, 1, LOOK_MS);
		if (rc > 0 || (namespace && !session_namespace_lives(namespace)))
			return 0;
	}
	return -ETIMEDOUT;
}

static int end_own(const char *session_dir)
{
	struct session_own_list own = {NULL};
	struct session_holder h = SESSION_HOLDER_INIT;
	int rc = 0;
	while (rc == 0 && session_own_next(&own, session_dir, &h) > 0) {
		rc = end_one(&h);
		session_holder_done(&h);
	}
	session_own_done(&own);
	return rc;
}

int session_holder_end(const char *session_dir)
{
	_cleanup_holder_ struct session_holder h = SESSION_HOLDER_INIT;
	int rc = session_holder_find(session_dir, &h), own;
	if (rc == 0)
		rc = end_one(&h);
	own = end_own(session_dir);
	return rc == 0 || rc == -ENOENT ? own : rc;
}

void session_group_name(const char *session_dir, char ret[SESSION_GROUP_SIZE])
{
	char sum[65];
	hash_sha256_hex(session_dir, strlen(session_dir), sum);
	(void)snprintf(ret, SESSION_GROUP_SIZE, "s%.16s", sum);
}
