/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "change/apply/lock.h"

#include "base/hash.h"
#include "fs/fs.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>

#define STEP_MS 10

static int busy(struct airlock_error *err, const char *root)
{
	(void)base_error(err, AIRLOCK_ERR_BUSY, "flock", root, "another airlock is applying changes to %s", root);
	(void)base_hint(err, "try again when it has finished");
	return AIRLOCK_ERR_BUSY;
}

/* Poll: a blocking flock could only be interrupted by a signal, and signal handlers belong to our caller. */
static int wait_for(int fd, unsigned *wait_ms)
{
	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		if (*wait_ms < STEP_MS)
			return -EWOULDBLOCK;
		struct timespec step = {.tv_nsec = STEP_MS * 1000000L};
		(void)nanosleep(&step, NULL);
		*wait_ms -= STEP_MS;
	}
	return 0;
}

static int lock_one(int dirfd, const char *root, unsigned *wait_ms, struct airlock_error *err)
{
	char name[65];
	hash_sha256_hex(root, strlen(root), name);
	_cleanup_close_ int fd = openat(dirfd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return base_errno(err, AIRLOCK_ERR_IO, errno, "open", name);
	(void)fchmod(fd, 0600); /* whatever the caller's umask is: the next process must be able to open it */
	int rc = wait_for(fd, wait_ms);
	if (rc == -EWOULDBLOCK)
		return busy(err, root);
	return rc < 0 ? base_errno(err, AIRLOCK_ERR_IO, rc, "flock", root) : TAKE_FD(fd);
}

static int compare_roots(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int lock_sorted(struct lock *l, int dirfd, const char *const *sorted, size_t n, unsigned wait_ms,
		       struct airlock_error *err)
{
	for (size_t i = 0; i < n; i++) {
		if (i > 0 && strcmp(sorted[i - 1], sorted[i]) == 0)
			continue;
		int fd = lock_one(dirfd, sorted[i], &wait_ms, err);
		if (fd < 0)
			return fd;
		l->fds[l->n++] = fd;
	}
	return 0;
}

int lock_roots(struct lock *l, const char *lock_dir, const char *const *roots, size_t n, unsigned wait_ms,
	       struct airlock_error *err)
{
	_cleanup_free_ const char **sorted = calloc(n + 1, sizeof *sorted);
	l->fds = calloc(n + 1, sizeof *l->fds);
	if (!sorted || !l->fds)
		return base_oom(err);
	int rc = fs_make_private_dir(lock_dir, err);
	if (rc < 0)
		return rc;
	_cleanup_close_ int dirfd = open(lock_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dirfd < 0)
		return base_errno(err, AIRLOCK_ERR_IO, errno, "open", lock_dir);
	for (size_t i = 0; i < n; i++)
		sorted[i] = roots[i];
	qsort(sorted, n, sizeof *sorted, compare_roots);
	rc = lock_sorted(l, dirfd, sorted, n, wait_ms, err);
	if (rc < 0)
		lock_release(l);
	return rc;
}

void lock_release(struct lock *l)
{
	for (size_t i = 0; i < l->n; i++)
		base_closep(&l->fds[i]);
	base_freep(&l->fds);
	l->n = 0;
}
