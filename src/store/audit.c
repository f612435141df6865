/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/audit.h"

#include "base/hash.h"
#include "base/path.h"
#include "fs/fs.h"
#include "store/audit_file.h"
#include "store/inbox.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#define ROTATE_AT ((int64_t)16 << 20)
#define TAIL 4096 /* the last line is usually shorter */

/* ── The end of the file ── */

struct end {
	int64_t number; /* of the last line, 0 when there is none */
	char hash[65];	/* of the last line */
	off_t size;
};

static int read_at(int fd, off_t at, size_t len, struct buf *out)
{
	char chunk[4096];
	while (len > 0) {
		ssize_t n = pread(fd, chunk, AL_MIN(len, sizeof chunk), at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		buf_add(out, chunk, (size_t)n);
		at += n;
		len -= (size_t)n;
	}
	return out->failed ? -ENOMEM : 0;
}

/* Where the last line begins in the tail, or -1 if it begins before. A last byte that is not a newline also ends it. */
static ssize_t last_line(const struct buf *tail, bool whole_file, size_t *ret_len)
{
	size_t end = tail->len;
	if (end > 0 && tail->data[end - 1] == '\n')
		end--;
	for (size_t i = end; i > 0; i--) {
		if (tail->data[i - 1] == '\n') {
			*ret_len = end - i;
			return (ssize_t)i;
		}
	}
	*ret_len = end;
	return whole_file ? 0 : -1;
}

static int find_end(int fd, struct end *ret)
{
	_cleanup_buf_ struct buf tail = BUF_INIT;
	struct stat st;
	if (fstat(fd, &st) < 0)
		return -errno;
	*ret = (struct end){.size = st.st_size};
	audit_first_hash(ret->hash);
	for (off_t want = TAIL; st.st_size > 0; want *= 8) {
		off_t from = st.st_size > want ? st.st_size - want : 0;
		size_t len;
		buf_reset(&tail);
		int rc = read_at(fd, from, (size_t)(st.st_size - from), &tail);
		if (rc < 0)
			return rc;
		ssize_t at = last_line(&tail, from == 0, &len);
		if (at < 0)
			continue;
		struct audit_line line;
		hash_sha256_hex(tail.data + at, len, ret->hash);
		ret->number = audit_read_line(tail.data + at, len, &line) ? line.number : 0;
		return 0;
	}
	return 0;
}

/* ── Opening and rotating ── */

static int open_locked(int dir_fd)
{
	for (int tries = 0; tries < 100; tries++) {
		struct stat ours, there;
		_cleanup_close_ int fd =
			openat(dir_fd, AUDIT_FILE, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd < 0)
			return -errno;
		while (flock(fd, LOCK_EX) < 0)
			if (errno != EINTR)
				return -errno;
		/* Renamed while we waited: that file is closed for good. */
		if (fstat(fd, &ours) == 0 && fstatat(dir_fd, AUDIT_FILE, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
		    ours.st_ino == there.st_ino && ours.st_dev == there.st_dev) {
			if (ours.st_size == 0)
				(void)fchmod(fd, 0600);
			return TAKE_FD(fd);
		}
	}
	return -EAGAIN;
}

/* The end of the newest archived file: the chain of an empty file begins there. */
static int end_before(const char *dir, int dir_fd, struct end *ret)
{
	_cleanup_strs_ struct strs names = STRS_INIT;
	int rc = audit_list(dir, &names);
	size_t n = names.n > 0 && strcmp(names.v[names.n - 1], AUDIT_FILE) == 0 ? names.n - 1 : names.n;
	if (rc < 0 || n == 0)
		return rc;
	_cleanup_close_ int fd = openat(dir_fd, names.v[n - 1], O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = find_end(fd, ret);
	ret->size = 0;
	return rc;
}

static int rotate(int dir_fd, int64_t last_number)
{
	char name[64];
	(void)snprintf(name, sizeof name, "audit-%012" PRId64 ".jsonl", last_number);
	return renameat2(dir_fd, AUDIT_FILE, dir_fd, name, RENAME_NOREPLACE) < 0 ? -errno : 0;
}

/* The file to write to, locked, and the end of the chain. */
static int open_end(const char *dir, int dir_fd, int64_t rotate_at, struct end *ret)
{
	_cleanup_close_ int fd = open_locked(dir_fd);
	if (fd < 0)
		return fd;
	int rc = find_end(fd, ret);
	if (rc == 0 && ret->size >= rotate_at && rotate(dir_fd, ret->number) == 0) {
		_cleanup_close_ int next = open_locked(dir_fd);
		if (next < 0)
			return next;
		base_closep(&fd);
		fd = TAKE_FD(next);
		rc = find_end(fd, ret);
	}
	if (rc == 0 && ret->size == 0)
		rc = end_before(dir, dir_fd, ret);
	return rc < 0 ? rc : TAKE_FD(fd);
}

/* ── Appending ── */

/* Writes everything in one call, or nothing. */
static int write_line(int fd, const struct buf *line, off_t size)
{
	ssize_t n = write(fd, line->data, line->len);
	if (n == (ssize_t)line->len)
		return 0;
	int errnum = n < 0 ? errno : ENOSPC;
	if (n > 0 && ftruncate(fd, size) < 0)
		return -errno;
	return -errnum;
}

/* True if the file ends with a whole line. -errno if that is unknown: one line too many would look like tampering. */
static int ends_whole(int fd, off_t size)
{
	_cleanup_buf_ struct buf last = BUF_INIT;
	int rc = size == 0 ? 0 : read_at(fd, size - 1, 1, &last);
	return rc < 0 ? rc : size == 0 || strcmp(buf_str(&last), "\n") == 0;
}

static int append(int fd, const struct end *end, const char *members, struct buf *news, struct airlock_error *err)
{
	_cleanup_buf_ struct buf line = BUF_INIT;
	char hash[65];
	int whole = ends_whole(fd, end->size);
	if (whole < 0)
		return base_errno(err, AIRLOCK_ERR_IO, whole, "read", AUDIT_FILE);
	size_t skip = whole ? 0 : 1; /* a power cut left half a line: it stays, and shows that */
	if (skip)
		buf_addc(&line, '\n');
	buf_printf(&line, "{\"number\":%" PRId64 ",\"previous\":\"%s\",", end->number + 1, end->hash);
	buf_adds(&line, members);
	buf_addc(&line, '}');
	if (line.failed)
		return base_oom(err);
	hash_sha256_hex(line.data + skip, line.len - skip, hash);
	buf_addc(&line, '\n');
	if (line.failed)
		return base_oom(err);
	int rc = write_line(fd, &line, end->size);
	if (rc < 0)
		return base_errno(err, AIRLOCK_ERR_IO, rc, "write", AUDIT_FILE);
	inbox_add_audit_end(news, end->number + 1, hash);
	return 0;
}

int audit_append_rotating(const char *state_dir, const char *members, struct buf *news, int64_t rotate_at,
			  struct airlock_error *err)
{
	struct end end = {0};
	_cleanup_free_ char *dir = path_join(state_dir, "audit");
	if (!dir)
		return base_oom(err);
	int rc = fs_make_private_dir(dir, err);
	if (rc < 0)
		return rc;
	_cleanup_close_ int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir_fd < 0)
		return base_errno(err, AIRLOCK_ERR_IO, errno, "open", dir);
	_cleanup_close_ int fd = open_end(dir, dir_fd, rotate_at, &end);
	if (fd < 0)
		return base_errno(err, AIRLOCK_ERR_IO, fd, "open", dir);
	return append(fd, &end, members, news, err);
}

int audit_append(const char *state_dir, const char *members, struct buf *news, struct airlock_error *err)
{
	return audit_append_rotating(state_dir, members, news, ROTATE_AT, err);
}
