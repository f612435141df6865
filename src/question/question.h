/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Questions of an agent's runs, put where a person finds them and the agent does not: <state>/questions.
 *
 *   rc = question_open(state_dir, &ask, &q, err);       AIRLOCK_ERR_LIMIT: too many wait already
 *   poll question_fd(q);                                readable when question_poll may have news
 *   while (question_poll(q, &decision) == 1) …          1: no answer yet
 *   question_close(q);                                  withdraws it if nobody has answered
 *
 *   question_list(state_dir, &list, err);               what waits now, oldest first
 *   question_answer(state_dir, id, answer, err);        AIRLOCK_ERR_NOT_FOUND, AIRLOCK_ERR_CONFLICT: decided already
 *
 * Nothing here blocks but short writes to the disk. Two files belong to a question:
 *
 *   ID.question   what is asked, and a nonce. The asker holds a lock on it, so a question without a lock has no asker any
 *                 more. The kernel drops the lock when the process ends; the number of a process decides nothing.
 *   ID.answer     the decision, with the nonce of the question. It gets its name by link(2), which succeeds once: for a person,
 *                 or for the asker that has waited long enough or has no use for an answer any more. It stays for a day, so
 *                 that a second answer can be told that it comes too late.
 *
 * The directory is 0700 and hidden inside every sandbox. The asker takes only an answer that belongs to its own user and has
 * the nonce of this very question: an old answer to another question means nothing.
 */
#pragma once

#include "airlock/airlock.h"
#include "base/buf.h"
#include "base/error.h"

#define QUESTION_MAX_REASONS 8
#define QUESTION_MAX_CHOICES 6
#define QUESTION_MAX_PENDING 200 /* of one user: more than a person answers */

/* What is asked. Everything is borrowed; texts may be NULL where it says so. */
struct question_ask {
	const char *text;	 /* inert: safe to print; its last line is the question itself */
	const char *command;	 /* as one shell line */
	const char *working_dir; /* NULL: none */
	const char *project;	 /* NULL: none */
	const char *session;	 /* name of the session it belongs to; NULL: none */
	const char *asked_by;	 /* "hook:claude", "mcp: name of the client"; NULL: unknown */
	const char *host;	 /* the host that a connection waits for; NULL: it is not about one */
	int port;		 /* of the host; 0: none */
	unsigned connections;	 /* how many connections wait for the answer */
	const enum airlock_question_reason *reasons;
	size_t n_reasons;
	const char *const *paths; /* NULL-terminated; NULL: none */
	const enum airlock_answer *choices;
	size_t n_choices;
	bool is_optional; /* what asked goes on after a no */
	int64_t wait_ms;  /* how long it waits; TEXT_NONE: until somebody answers */
};

/* ── Asking ── */

struct question;

/* Writes it down, with a line in the audit file. wait_ms 0 is a question that nobody can answer: it is only recorded. */
int question_open(const char *state_dir, const struct question_ask *ask, struct question **ret,
		  struct airlock_error *err);
const char *question_id(const struct question *q);
/* Readable when question_poll has something to look at. Owned by q. */
int question_fd(const struct question *q);

enum question_by {
	QUESTION_BY_PERSON,
	QUESTION_BY_NOBODY, /* it was denied because the time is over */
};
struct question_decision {
	enum airlock_answer answer;
	enum question_by by;
};
/* 1: no answer yet; 0: decided, now and at every later call. */
int question_poll(struct question *q, struct question_decision *ret);
/* How many connections wait for the answer by now. */
void question_set_connections(struct question *q, unsigned n);
void question_close(struct question *q);

/* The same question was asked a while ago and nobody answered; key is the hash of a question (permission.h). For optional
 * questions, which would hold up every command of an agent otherwise. */
bool question_was_ignored(const char *state_dir, const char *key);
void question_set_ignored(const char *state_dir, const char *key);

/* ── Answering ── */

struct question_entry {
	char id[16];
	int64_t asked_ns;	 /* since 1970 */
	struct question_ask ask; /* points into what follows */
	struct strs texts, paths;
	enum airlock_question_reason reasons[QUESTION_MAX_REASONS];
	enum airlock_answer choices[QUESTION_MAX_CHOICES];
};
struct question_list {
	struct question_entry **v; /* oldest first */
	size_t n, cap;
};
/* Removes what dead processes left. No directory is an empty list. */
int question_list(const char *state_dir, struct question_list *ret, struct airlock_error *err);
void question_list_done(struct question_list *l);
#define _cleanup_question_list_ _cleanup_(question_list_done)

/* A descriptor that can be read when the list may have changed; what is read means nothing. The caller closes it. */
int question_watch(const char *state_dir, int *ret_fd, struct airlock_error *err);

int question_answer(const char *state_dir, const char *id, enum airlock_answer answer, struct airlock_error *err);
