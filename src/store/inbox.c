/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/inbox.h"

#include "base/hash.h"
#include "base/path.h"
#include "fs/fs.h"
#include "store/inbox_file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <time.h>

char *inbox_path(const char *state_dir)
{
	return path_join(state_dir, INBOX_FILE);
}

int inbox_error(struct airlock_error *err, int errnum, const char *op, const char *file)
{
	switch (errnum < 0 ? -errnum : errnum) {
	case ENOMEM:
		return base_oom(err);
	case EWOULDBLOCK:
		base_error(err, AIRLOCK_ERR_BUSY, op, file, "%s is locked by another airlock that does not finish",
			   file);
		return base_hint(err, "try again"), AIRLOCK_ERR_BUSY;
	case ELOOP:
	case EISDIR:
	case ENXIO:
	case EINVAL:
		base_error(err, AIRLOCK_ERR_IO, op, file, "%s is not a file", file);
		return base_hint(err, "move it away; a new one is made"), AIRLOCK_ERR_IO;
	default:
		return base_errno(err, AIRLOCK_ERR_IO, errnum, op, file);
	}
}

/* ── Lines ── */

static size_t begin_line(struct buf *news, const char *kind)
{
	buf_addc(news, '\n');
	size_t at = news->len;
	buf_adds(news, kind);
	return at;
}

static void end_line(struct buf *news, size_t at)
{
	if (!news->failed)
		fields_add_number(news, hash_checksum(news->data + at, news->len - at));
	buf_addc(news, '\n');
}

void inbox_add_run(struct buf *news, const struct store_run *run)
{
	size_t at = begin_line(news, INBOX_RUN);
	fields_add_string(news, run->id);
	fields_add_string(news, run->project);
	fields_add_string(news, run->command);
	fields_add_string(news, run->asked_by);
	fields_add_string(news, run->working_dir);
	fields_add_signed(news, run->started);
	fields_add_string(news, run->status);
	fields_add_signed(news, run->exit_code);
	fields_add_string(news, run->changes_state);
	fields_add_signed(news, run->changes_count);
	fields_add_string(news, run->detail);
	end_line(news, at);
}

void inbox_add_changes(struct buf *news, const char *run, const char *state, int64_t count)
{
	size_t at = begin_line(news, INBOX_CHANGES);
	fields_add_string(news, run);
	fields_add_string(news, state);
	fields_add_signed(news, count);
	end_line(news, at);
}

void inbox_add_audit_end(struct buf *news, int64_t number, const char *hash)
{
	size_t at = begin_line(news, INBOX_AUDIT);
	fields_add_signed(news, number);
	fields_add_string(news, hash);
	end_line(news, at);
}

bool inbox_read_line(const char *line, size_t len, struct fields *ret)
{
	const char *space = memrchr(line, ' ', len);
	if (!space)
		return false;
	size_t said = (size_t)(space - line);
	struct fields f = fields_of(space + 1, len - said - 1);
	uint64_t sum = 0;
	if (fields_take_number(&f, &sum) < 0 || sum != hash_checksum(line, said))
		return false;
	*ret = fields_of(line, said);
	return true;
}

/* ── The file ── */

int inbox_lock(int fd, int operation, int wait_ms)
{
	struct timespec pause = {.tv_nsec = 50000};
	int64_t waited = 0;
	while (flock(fd, operation | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		if (waited >= (int64_t)wait_ms * 1000000)
			return -EWOULDBLOCK;
		(void)nanosleep(&pause, NULL);
		waited += pause.tv_nsec;
		if (pause.tv_nsec < 5000000)
			pause.tv_nsec *= 2;
	}
	return 0;
}

static int open_to_append(const char *file)
{
	int fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : fd;
}

static int open_or_make(const char *state_dir, const char *file, struct airlock_error *err)
{
	int fd = open_to_append(file);
	if (fd == -ENOENT) {
		int rc = fs_make_private_dir(state_dir, err);
		if (rc < 0)
			return rc;
		fd = open_to_append(file);
	}
	return fd < 0 ? inbox_error(err, fd, "open", file) : fd;
}

/* Writes everything in one call, or nothing. */
static int append(int fd, const struct buf *news, off_t size)
{
	ssize_t n = write(fd, news->data, news->len);
	if (n == (ssize_t)news->len)
		return 0;
	int errnum = n < 0 ? errno : ENOSPC;
	if (n > 0)
		(void)ftruncate(fd, size); /* what remains is half a line, which counts as none */
	return -errnum;
}

static int full(const char *file, struct airlock_error *err)
{
	base_error(err, AIRLOCK_ERR_LIMIT, "write", file, "%s is full, because the database could not take it over",
		   file);
	return base_hint(err, "`airlock log` says why"), AIRLOCK_ERR_LIMIT;
}

static int put_locked(int fd, const char *file, const struct buf *news, struct airlock_error *err)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return inbox_error(err, errno, "fstat", file);
	if (!S_ISREG(st.st_mode))
		return inbox_error(err, EINVAL, "open", file);
	if (st.st_size == 0)
		(void)fchmod(fd, 0600); /* whatever the umask is */
	if (st.st_size >= INBOX_MAX)
		return full(file, err);
	int rc = append(fd, news, st.st_size);
	if (rc < 0)
		return inbox_error(err, rc, "write", file);
	return st.st_size + (off_t)news->len >= INBOX_LARGE;
}

int inbox_put(const char *state_dir, const struct buf *news, int wait_ms, struct airlock_error *err)
{
	_cleanup_free_ char *file = inbox_path(state_dir);
	if (!file || news->failed)
		return base_oom(err);
	_cleanup_close_ int fd = open_or_make(state_dir, file, err);
	if (fd < 0)
		return fd;
	int rc = inbox_lock(fd, LOCK_EX, wait_ms);
	if (rc < 0)
		return inbox_error(err, rc, "flock", file);
	rc = put_locked(fd, file, news, err);
	/* Closing is not enough: another thread may have forked in the meantime, and its child would keep the lock. */
	(void)flock(fd, LOCK_UN);
	return rc;
}

int inbox_watch(const char *state_dir, int *ret_fd, struct airlock_error *err)
{
	_cleanup_free_ char *file = inbox_path(state_dir);
	if (!file)
		return base_oom(err);
	_cleanup_close_ int made = open_or_make(state_dir, file, err);
	if (made < 0)
		return made;
	_cleanup_close_ int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (fd < 0 || inotify_add_watch(fd, file, IN_MODIFY) < 0)
		return inbox_error(err, errno, "watch", file);
	*ret_fd = TAKE_FD(fd);
	return 0;
}
