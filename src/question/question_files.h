/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The files of the questions: names, the directory, what is in them. Shared by the files of this module. */
#pragma once

#include "question/question.h"

#define QUESTION_NONCE_SIZE 33 /* 32 digits and NUL */
#define QUESTION_MARK "airlock question 1 "
#define QUESTION_COUNT_DIGITS 10

/* The directory, as a descriptor. It must belong to this user alone. make: creates it when it is missing; otherwise
 * AIRLOCK_ERR_NOT_FOUND. ret_path (may be NULL) is the caller's. */
int question_dir_open(const char *state_dir, bool make, char **ret_path, struct airlock_error *err);

struct question_name {
	char text[32];
};
struct question_name question_name(const char *id, const char *ending); /* ".question", ".answer" */
bool question_is_id(const char *id);
/* Fills ret with hexadecimal digits that nobody can guess, and NUL. 0 or -errno. */
int question_random(char *ret, size_t size);

/* Gives a whole file its name, unless there is one of that name. 0; -EEXIST; another -errno. The old name is gone in any case. */
int question_publish(int dir_fd, const char *part, const char *name);

/* 1: somebody holds its lock, so it waits for an answer; 0: nobody does. */
int question_is_alive(int fd);

/* The text of a question file. */
void question_write_text(const struct question_ask *ask, const char *nonce, int64_t asked_ns, struct buf *out);
/* 0, or -EINVAL: it is not one of ours. entry and nonce (may be NULL) are filled. */
int question_read_text(const char *text, size_t len, struct question_entry *entry, char nonce[QUESTION_NONCE_SIZE]);
void question_entry_free(struct question_entry *e);
/* Opens and reads the file of a question. The descriptor, -ENOENT, or another -errno. */
int question_read(int dir_fd, const char *id, struct question_entry *entry, char nonce[QUESTION_NONCE_SIZE]);

/* What is in an answer file. */
enum question_verdict { QUESTION_VERDICT_PERSON, QUESTION_VERDICT_TIME_OVER, QUESTION_VERDICT_WITHDRAWN };
struct question_result {
	char nonce[QUESTION_NONCE_SIZE];
	enum airlock_answer answer;
	enum question_verdict verdict;
};
/* Decides the question, once. 0; -EEXIST: it was decided already. */
int question_decide(int dir_fd, const char *id, const struct question_result *result);
/* 0; -ENOENT: not decided; -EINVAL: that is no answer of this user. */
int question_read_result(int dir_fd, const char *id, struct question_result *ret);

/* ── The audit file ── */

enum question_event { QUESTION_ASKED, QUESTION_ANSWERED, QUESTION_DENIED, QUESTION_FORGED };
/* ask and answer may be NULL. */
void question_audit(const char *state_dir, enum question_event event, const char *id, const struct question_ask *ask,
		    const struct question_result *result);
