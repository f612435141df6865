/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The side that asks. The descriptor it gives out is an epoll of two others: inotify on the directory, which tells of every
 * new answer file, and a timer for the end of the waiting time. Without inotify (a user has only so many) the timer looks
 * several times a second. */
#include "question/question_files.h"

#include "base/path.h"
#include "base/text.h"
#include "fs/io.h"
#include "store/store.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <time.h>

#define LOOK_MS 200		   /* how often to look without inotify */
#define LOOK_ANYWAY_MS 5000	   /* and with it: a file system may tell nothing */
#define KEEP_ANSWERS_S (24 * 3600) /* how long a second answer is told that it comes too late */
#define KEEP_PARTS_S 60		   /* nobody takes so long to write one line */
#define IGNORED_S (8 * 3600)	   /* how long nobody's answer to an optional question counts */
#define TRIES 20

struct question {
	char *state_dir;
	int dir_fd, file_fd; /* file_fd has the lock */
	int epoll_fd, inotify_fd, timer_fd;
	int64_t deadline_ms; /* of the monotonic clock; TEXT_NONE: none */
	char id[16];
	char nonce[QUESTION_NONCE_SIZE];
	enum airlock_answer choices[QUESTION_MAX_CHOICES];
	size_t n_choices;
	bool is_decided;
	struct question_decision decision;
};

static int64_t monotonic_ms(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ── Leftovers ── */

static bool has_ending(const char *name, const char *ending)
{
	size_t n = strlen(name), e = strlen(ending);
	return n > e && strcmp(name + n - e, ending) == 0;
}

static bool is_older(int dir_fd, const char *name, int64_t seconds)
{
	struct stat st;
	return fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_mtime + seconds < time(NULL);
}

static bool is_leftover(int dir_fd, const char *name)
{
	if (has_ending(name, ".answer"))
		return is_older(dir_fd, name, KEEP_ANSWERS_S);
	if (has_ending(name, ".ignored"))
		return is_older(dir_fd, name, IGNORED_S);
	return has_ending(name, ".part") && is_older(dir_fd, name, KEEP_PARTS_S);
}

/* Counts the questions there are, dead ones too: question_list removes those. */
static size_t sweep(int dir_fd)
{
	int copy = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = copy >= 0 ? fdopendir(copy) : NULL;
	size_t n = 0;
	for (struct dirent *e; entries && (e = readdir(entries));) {
		if (is_leftover(dir_fd, e->d_name))
			(void)unlinkat(dir_fd, e->d_name, 0);
		n += has_ending(e->d_name, ".question");
	}
	if (entries)
		(void)closedir(entries);
	else
		base_closep(&copy);
	return n;
}

static int make_room(const char *state_dir, int dir_fd, struct airlock_error *err)
{
	if (sweep(dir_fd) < QUESTION_MAX_PENDING)
		return 0;
	_cleanup_question_list_ struct question_list list = {0};
	int rc = question_list(state_dir, &list, err);
	if (rc < 0 || list.n < QUESTION_MAX_PENDING)
		return rc;
	return base_error(err, AIRLOCK_ERR_LIMIT, "ask", "questions", "%zu questions wait for an answer already",
			  list.n);
}

/* ── Opening ── */

/* The lock is there before the name is: nobody ever takes it for one of the dead. */
static int write_locked(struct question *q, const struct buf *text)
{
	char mark[17], id[9];
	struct stat st;
	int rc = question_random(mark, sizeof mark);
	if (rc == 0)
		rc = question_random(id, sizeof id);
	if (rc < 0)
		return rc;
	struct question_name part = question_name(mark, ".part");
	if (fstatat(q->dir_fd, question_name(id, ".answer").text, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return -EEXIST;
	q->file_fd = openat(q->dir_fd, part.text, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (q->file_fd < 0)
		return -errno;
	(void)snprintf(q->id, sizeof q->id, "%s", id);
	rc = flock(q->file_fd, LOCK_EX | LOCK_NB) < 0 ? -errno : fs_write_all(q->file_fd, text->data, text->len);
	if (rc == 0)
		return question_publish(q->dir_fd, part.text, question_name(id, ".question").text);
	(void)unlinkat(q->dir_fd, part.text, 0);
	return rc;
}

static void set_timer(const struct question *q)
{
	int64_t left = LOOK_ANYWAY_MS, now = monotonic_ms();
	if (q->inotify_fd < 0)
		left = LOOK_MS;
	if (q->deadline_ms != TEXT_NONE && q->deadline_ms - now < left)
		left = q->deadline_ms > now ? q->deadline_ms - now : 1;
	const struct itimerspec when = {.it_value = {.tv_sec = left / 1000, .tv_nsec = (left % 1000) * 1000000}};
	(void)timerfd_settime(q->timer_fd, 0, &when, NULL);
}

static int add_to_epoll(const struct question *q, int fd)
{
	struct epoll_event event = {.events = EPOLLIN};
	return epoll_ctl(q->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

/* Before the question has a name, so that no answer is missed. */
static int start_waiting(struct question *q, const char *dir, struct airlock_error *err)
{
	q->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	q->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	q->inotify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (q->epoll_fd < 0 || q->timer_fd < 0 || add_to_epoll(q, q->timer_fd) < 0)
		return base_errno(err, AIRLOCK_ERR_IO, errno, "wait for", "an answer");
	if (q->inotify_fd >= 0 &&
	    (inotify_add_watch(q->inotify_fd, dir, IN_CREATE | IN_MOVED_TO) < 0 || add_to_epoll(q, q->inotify_fd) < 0))
		base_closep(&q->inotify_fd);
	return 0;
}

static void question_freep(struct question **q)
{
	if (!*q)
		return;
	int *fds[] = {&(*q)->dir_fd, &(*q)->file_fd, &(*q)->epoll_fd, &(*q)->inotify_fd, &(*q)->timer_fd};
	for (size_t i = 0; i < AL_ARRAY_LEN(fds); i++)
		base_closep(fds[i]);
	free((*q)->state_dir);
	free(*q);
	*q = NULL;
}

static int write_question(struct question *q, const struct question_ask *ask, struct airlock_error *err)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	int rc = question_random(q->nonce, sizeof q->nonce);
	question_write_text(ask, q->nonce, store_now(), &text);
	if (text.failed)
		return base_oom(err);
	if (rc == 0)
		rc = write_locked(q, &text);
	for (int tries = 1; rc == -EEXIST && tries < TRIES; tries++) { /* another question has that id */
		base_closep(&q->file_fd);
		rc = write_locked(q, &text);
	}
	return rc < 0 ? base_errno(err, AIRLOCK_ERR_IO, rc, "write", "a question") : 0;
}

int question_open(const char *state_dir, const struct question_ask *ask, struct question **ret,
		  struct airlock_error *err)
{
	_cleanup_(question_freep) struct question *q = calloc(1, sizeof *q);
	_cleanup_free_ char *dir = NULL;
	if (!q)
		return base_oom(err);
	*q = (struct question){strdup(state_dir), -EBADF, -EBADF, -EBADF, -EBADF, -EBADF};
	if (!q->state_dir)
		return base_oom(err);
	q->deadline_ms = ask->wait_ms == TEXT_NONE ? TEXT_NONE : monotonic_ms() + ask->wait_ms;
	q->n_choices = AL_MIN(ask->n_choices, (size_t)QUESTION_MAX_CHOICES);
	for (size_t i = 0; i < q->n_choices; i++)
		q->choices[i] = ask->choices[i];
	int rc = q->dir_fd = question_dir_open(state_dir, true, &dir, err);
	if (rc >= 0)
		rc = make_room(state_dir, q->dir_fd, err);
	if (rc >= 0)
		rc = start_waiting(q, dir, err);
	if (rc >= 0)
		rc = write_question(q, ask, err);
	if (rc < 0)
		return rc;
	question_audit(state_dir, QUESTION_ASKED, q->id, ask, NULL);
	set_timer(q);
	*ret = TAKE_PTR(q);
	return 0;
}

const char *question_id(const struct question *q)
{
	return q->id;
}

int question_fd(const struct question *q)
{
	return q->epoll_fd;
}

void question_set_connections(struct question *q, unsigned n)
{
	char digits[QUESTION_COUNT_DIGITS + 1];
	(void)snprintf(digits, sizeof digits, "%0*u", QUESTION_COUNT_DIGITS, n);
	/* The number is for a person's eyes: one that could not be written is an old one. */
	(void)!pwrite(q->file_fd, digits, QUESTION_COUNT_DIGITS, (off_t)strlen(QUESTION_MARK));
}

/* ── Its end ── */

static void drain(const struct question *q)
{
	char bytes[4096] __attribute__((aligned(8)));
	while (q->inotify_fd >= 0 && read(q->inotify_fd, bytes, sizeof bytes) > 0)
		continue;
	(void)!read(q->timer_fd, bytes, sizeof(uint64_t));
}

static bool is_choice(const struct question *q, enum airlock_answer answer)
{
	for (size_t i = 0; i < q->n_choices; i++)
		if (q->choices[i] == answer)
			return true;
	return false;
}

/* The verdict of a file that somebody else wrote is always a person's: only this process ends the waiting. */
static bool is_genuine(const struct question *q, const struct question_result *r)
{
	return strcmp(r->nonce, q->nonce) == 0 && r->verdict == QUESTION_VERDICT_PERSON && is_choice(q, r->answer);
}

static void settle(struct question *q, const struct question_result *r)
{
	bool is_answer = r->verdict == QUESTION_VERDICT_PERSON;
	q->is_decided = true;
	q->decision = (struct question_decision){r->answer, is_answer ? QUESTION_BY_PERSON : QUESTION_BY_NOBODY};
	question_audit(q->state_dir, is_answer ? QUESTION_ANSWERED : QUESTION_DENIED, q->id, NULL, r);
	(void)unlinkat(q->dir_fd, question_name(q->id, ".question").text, 0);
}

/* 1 if there is an answer and it is taken. What is no answer to this question is thrown away. */
static bool take_answer(struct question *q)
{
	struct question_result r;
	int rc = question_read_result(q->dir_fd, q->id, &r);
	if (rc == 0 && is_genuine(q, &r)) {
		settle(q, &r);
		return true;
	}
	if (rc == 0 || rc == -EINVAL) {
		question_audit(q->state_dir, QUESTION_FORGED, q->id, NULL, NULL);
		(void)unlinkat(q->dir_fd, question_name(q->id, ".answer").text, 0);
	}
	return false;
}

/* Denies it, unless a person was faster. */
static void end(struct question *q, enum question_verdict verdict)
{
	struct question_result r = {.answer = AIRLOCK_DENY, .verdict = verdict};
	(void)snprintf(r.nonce, sizeof r.nonce, "%s", q->nonce);
	if (question_decide(q->dir_fd, q->id, &r) == -EEXIST) {
		if (take_answer(q))
			return;
		(void)question_decide(q->dir_fd, q->id, &r); /* what was there was no answer, and is gone */
	}
	settle(q, &r);
}

int question_poll(struct question *q, struct question_decision *ret)
{
	if (!q->is_decided) {
		drain(q);
		if (!take_answer(q) && q->deadline_ms != TEXT_NONE && monotonic_ms() >= q->deadline_ms)
			end(q, QUESTION_VERDICT_TIME_OVER);
		if (!q->is_decided)
			set_timer(q);
	}
	if (q->is_decided)
		*ret = q->decision;
	return !q->is_decided;
}

void question_close(struct question *q)
{
	if (q && !q->is_decided)
		end(q, QUESTION_VERDICT_WITHDRAWN);
	question_freep(&q);
}

/* ── Optional questions that nobody answered ── */

static struct question_name ignored_name(const char *key)
{
	char start[17];
	(void)snprintf(start, sizeof start, "%.16s", key);
	return question_name(start, ".ignored");
}

bool question_was_ignored(const char *state_dir, const char *key)
{
	struct stat st;
	_cleanup_close_ int dir = question_dir_open(state_dir, false, NULL, NULL);
	const struct question_name name = ignored_name(key);
	return dir >= 0 && fstatat(dir, name.text, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       !is_older(dir, name.text, IGNORED_S);
}

void question_set_ignored(const char *state_dir, const char *key)
{
	_cleanup_close_ int dir = question_dir_open(state_dir, true, NULL, NULL);
	_cleanup_close_ int fd = dir < 0 ? -EBADF
					 : openat(dir, ignored_name(key).text,
						  O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0)
		(void)futimens(fd, NULL);
}
