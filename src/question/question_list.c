/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The side that answers. */
#include "question/question_files.h"

#include "base/array.h"
#include "base/path.h"
#include "base/text.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>

/* ── The list ── */

static int by_time(const void *a, const void *b)
{
	const struct question_entry *x = *(struct question_entry *const *)a, *y = *(struct question_entry *const *)b;
	return x->asked_ns != y->asked_ns ? (x->asked_ns > y->asked_ns) - (x->asked_ns < y->asked_ns)
					  : strcmp(x->id, y->id);
}

static bool is_decided(int dir_fd, const char *id)
{
	struct stat st;
	return fstatat(dir_fd, question_name(id, ".answer").text, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* 1: it waits, and entry is filled. A file that is none of ours is left alone. */
static int read_waiting(int dir_fd, const char *id, struct question_entry *entry)
{
	_cleanup_close_ int fd = question_read(dir_fd, id, entry, NULL);
	if (fd < 0)
		return fd == -ENOMEM ? fd : 0;
	if (question_is_alive(fd))
		return !is_decided(dir_fd, id);
	(void)unlinkat(dir_fd, question_name(id, ".question").text, 0);
	return 0;
}

static int add_waiting(int dir_fd, const char *name, struct question_list *l)
{
	char id[16];
	size_t len = strcspn(name, ".");
	if (strcmp(name + len, ".question") != 0 || len >= sizeof id)
		return 0;
	(void)snprintf(id, sizeof id, "%.*s", (int)len, name);
	struct question_entry *e = question_is_id(id) ? calloc(1, sizeof *e) : NULL;
	int rc = e ? read_waiting(dir_fd, id, e) : 0;
	if (rc == 1 && !ARRAY_ROOM(l->v, l->n, l->cap, 8))
		rc = -ENOMEM;
	if (rc == 1)
		l->v[l->n++] = e;
	else
		question_entry_free(e);
	return rc < 0 ? rc : 0;
}

int question_list(const char *state_dir, struct question_list *ret, struct airlock_error *err)
{
	struct airlock_error why = {0};
	_cleanup_close_ int dir_fd = question_dir_open(state_dir, false, NULL, &why);
	*ret = (struct question_list){0};
	if (dir_fd < 0)
		return dir_fd == AIRLOCK_ERR_NOT_FOUND ? 0 : base_pass(err, &why);
	int copy = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = copy >= 0 ? fdopendir(copy) : NULL;
	if (!entries) {
		int errnum = errno;
		base_closep(&copy);
		return base_errno(err, AIRLOCK_ERR_IO, errnum, "read", "the questions");
	}
	int rc = 0;
	for (struct dirent *e; rc == 0 && (e = readdir(entries));)
		rc = add_waiting(dir_fd, e->d_name, ret);
	(void)closedir(entries);
	if (rc < 0) {
		question_list_done(ret);
		return base_oom(err);
	}
	if (ret->n > 1)
		qsort(ret->v, ret->n, sizeof *ret->v, by_time);
	return 0;
}

void question_list_done(struct question_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		question_entry_free(l->v[i]);
	free(l->v);
	*l = (struct question_list){0};
}

/* The asker closes its file when it ends, however it ends. Readers open it for reading only, so that looking at the list is no
 * news. */
int question_watch(const char *state_dir, int *ret_fd, struct airlock_error *err)
{
	_cleanup_free_ char *dir = NULL;
	_cleanup_close_ int dir_fd = question_dir_open(state_dir, true, &dir, err);
	if (dir_fd < 0)
		return dir_fd;
	_cleanup_close_ int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (fd < 0 || inotify_add_watch(fd, dir, IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_CLOSE_WRITE) < 0)
		return base_errno(err, AIRLOCK_ERR_IO, errno, "watch", dir);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* ── The answer ── */

static int unknown(const char *id, struct airlock_error *err)
{
	_cleanup_buf_ struct buf shown = BUF_INIT;
	text_add_escaped(&shown, id, AL_MIN(strlen(id), (size_t)100));
	base_error(err, AIRLOCK_ERR_NOT_FOUND, "answer", buf_str(&shown), "there is no question %s", buf_str(&shown));
	return base_hint(err, "airlock questions lists those that wait");
}

static int decided(int dir_fd, const char *id, struct airlock_error *err)
{
	static const char *const why[] = {[QUESTION_VERDICT_PERSON] = "it was answered",
					  [QUESTION_VERDICT_TIME_OVER] = "nobody answered in time",
					  [QUESTION_VERDICT_WITHDRAWN] = "it was withdrawn"};
	struct question_result r = {.verdict = QUESTION_VERDICT_PERSON, .answer = AIRLOCK_DENY};
	bool is_read = question_read_result(dir_fd, id, &r) == 0;
	return base_error(err, AIRLOCK_ERR_CONFLICT, "answer", id, "question %s is decided already: %s%s%s%s", id,
			  is_read ? why[r.verdict] : "it was answered", is_read ? " (" : "",
			  is_read ? airlock_answer_name(r.answer) : "", is_read ? ")" : "");
}

static int check_choice(const struct question_entry *e, enum airlock_answer answer, struct airlock_error *err)
{
	for (size_t i = 0; i < e->ask.n_choices; i++)
		if (e->choices[i] == answer)
			return 0;
	return base_error(err, AIRLOCK_ERR_INVALID, "answer", e->id, "question %s cannot be answered with %s", e->id,
			  airlock_answer_name(answer));
}

/* Its asker may have died at any moment, even after the answer was written: then nobody has read it. */
static int write_answer(int dir_fd, int file_fd, const char *id, const struct question_result *r,
			struct airlock_error *err)
{
	struct stat st;
	int rc = question_decide(dir_fd, id, r);
	if (rc == -EEXIST)
		return decided(dir_fd, id, err);
	if (rc < 0)
		return base_errno(err, AIRLOCK_ERR_IO, rc, "write", "the answer");
	if (question_is_alive(file_fd) ||
	    fstatat(dir_fd, question_name(id, ".question").text, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	(void)unlinkat(dir_fd, question_name(id, ".question").text, 0);
	return unknown(id, err);
}

int question_answer(const char *state_dir, const char *id, enum airlock_answer answer, struct airlock_error *err)
{
	struct airlock_error why = {0};
	struct question_result r = {.answer = answer, .verdict = QUESTION_VERDICT_PERSON};
	if (!question_is_id(id))
		return unknown(id, err);
	_cleanup_close_ int dir_fd = question_dir_open(state_dir, false, NULL, &why);
	if (dir_fd < 0)
		return dir_fd == AIRLOCK_ERR_NOT_FOUND ? unknown(id, err) : base_pass(err, &why);
	if (is_decided(dir_fd, id))
		return decided(dir_fd, id, err);
	struct question_entry *e = calloc(1, sizeof *e);
	if (!e)
		return base_oom(err);
	_cleanup_close_ int fd = question_read(dir_fd, id, e, r.nonce);
	int rc = fd >= 0 && question_is_alive(fd) ? check_choice(e, answer, err)
		 : is_decided(dir_fd, id)	  ? decided(dir_fd, id, err)
						  : unknown(id, err);
	if (rc == 0)
		rc = write_answer(dir_fd, fd, id, &r, err);
	question_entry_free(e);
	return rc;
}
