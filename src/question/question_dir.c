/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "question/question_files.h"

#include "base/path.h"
#include "base/text.h"
#include "fs/fs.h"
#include "fs/io.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>

#define DIR_NAME "questions"
#define ID_DIGITS 8
#define RESULT_MAX 256

/* ── Names ── */

struct question_name question_name(const char *id, const char *ending)
{
	struct question_name name;
	(void)snprintf(name.text, sizeof name.text, "%.16s%.14s", id, ending);
	return name;
}

/* A name of ours never leaves the directory: no slash, no dot. */
bool question_is_id(const char *id)
{
	return strlen(id) == ID_DIGITS && strspn(id, "0123456789abcdef") == ID_DIGITS;
}

int question_random(char *ret, size_t size)
{
	unsigned char bytes[32];
	size_t n = (size - 1) / 2;
	if (getrandom(bytes, n, 0) != (ssize_t)n)
		return -EIO;
	for (size_t i = 0; i < n; i++)
		(void)snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

/* ── The directory ── */

int question_dir_open(const char *state_dir, bool make, char **ret_path, struct airlock_error *err)
{
	_cleanup_free_ char *path = path_join(state_dir, DIR_NAME);
	if (!path)
		return base_oom(err);
	int rc = make ? fs_make_private_dir(path, err) : 0;
	if (rc < 0)
		return rc;
	_cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return base_errno(err, errno == ENOENT ? AIRLOCK_ERR_NOT_FOUND : AIRLOCK_ERR_IO, errno, "open", path);
	/* Whoever else could write here could answer. */
	rc = fs_check_private(path, err);
	if (rc < 0)
		return rc;
	if (ret_path)
		*ret_path = TAKE_PTR(path);
	return TAKE_FD(fd);
}

/* Not every file system has hard links, and not every one can rename without replacing. */
int question_publish(int dir_fd, const char *part, const char *name)
{
	int rc = linkat(dir_fd, part, dir_fd, name, 0) < 0 ? -errno : 0;
	if (rc == -EPERM || rc == -EOPNOTSUPP || rc == -ENOSYS || rc == -EMLINK)
		rc = renameat2(dir_fd, part, dir_fd, name, RENAME_NOREPLACE) < 0 ? -errno : 0;
	(void)unlinkat(dir_fd, part, 0);
	return rc;
}

/* Ours means: a file of this user that nobody else may write. */
static bool is_ours(int fd)
{
	struct stat st;
	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() && (st.st_mode & 022) == 0;
}

static int open_ours(int dir_fd, const char *name)
{
	_cleanup_close_ int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return errno == ELOOP ? -EINVAL : -errno;
	return is_ours(fd) ? TAKE_FD(fd) : -EINVAL;
}

/* The asker has an exclusive lock; a shared one is refused as long as it lives. */
int question_is_alive(int fd)
{
	if (flock(fd, LOCK_SH | LOCK_NB) < 0)
		return 1;
	(void)flock(fd, LOCK_UN);
	return 0;
}

int question_read(int dir_fd, const char *id, struct question_entry *entry, char nonce[QUESTION_NONCE_SIZE])
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	_cleanup_close_ int fd = open_ours(dir_fd, question_name(id, ".question").text);
	if (fd < 0)
		return fd;
	int rc = fs_read_all(fd, (size_t)16 << 20, &text);
	if (rc == 0)
		rc = question_read_text(buf_str(&text), text.len, entry, nonce);
	if (rc < 0)
		return rc;
	(void)snprintf(entry->id, sizeof entry->id, "%s", id);
	return TAKE_FD(fd);
}

/* ── Answers ── */

static const char *const verdicts[] = {[QUESTION_VERDICT_PERSON] = "person",
				       [QUESTION_VERDICT_TIME_OVER] = "time-over",
				       [QUESTION_VERDICT_WITHDRAWN] = "withdrawn"};

int question_decide(int dir_fd, const char *id, const struct question_result *result)
{
	char mark[17], text[RESULT_MAX];
	int rc = question_random(mark, sizeof mark);
	if (rc < 0)
		return rc;
	struct question_name part = question_name(mark, ".part"), name = question_name(id, ".answer");
	int len = snprintf(text, sizeof text, "%s %s %s\n", result->nonce, airlock_answer_name(result->answer),
			   verdicts[result->verdict]);
	_cleanup_close_ int fd = openat(dir_fd, part.text, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	rc = fs_write_all(fd, text, (size_t)len);
	if (rc == 0)
		return question_publish(dir_fd, part.text, name.text);
	(void)unlinkat(dir_fd, part.text, 0);
	return rc;
}

/* "<nonce> allow_once person\n", and nothing else. */
static int parse_result(const char *text, struct question_result *ret)
{
	char answer[32], verdict[32], end = 0;
	/* NOLINTNEXTLINE(cert-err34-c): words, no numbers */
	if (sscanf(text, "%32[0-9a-f] %31[a-z_] %31[a-z-]%c", ret->nonce, answer, verdict, &end) != 4 || end != '\n' ||
	    airlock_answer_parse(answer, &ret->answer) < 0)
		return -EINVAL;
	for (size_t i = 0; i < AL_ARRAY_LEN(verdicts); i++)
		if (strcmp(verdicts[i], verdict) == 0) {
			ret->verdict = (enum question_verdict)i;
			return 0;
		}
	return -EINVAL;
}

int question_read_result(int dir_fd, const char *id, struct question_result *ret)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	_cleanup_close_ int fd = open_ours(dir_fd, question_name(id, ".answer").text);
	if (fd < 0)
		return fd;
	int rc = fs_read_all(fd, RESULT_MAX, &text);
	return rc < 0 ? -EINVAL : parse_result(buf_str(&text), ret);
}
