/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Questions of agents' runs, which a person answers elsewhere: in another terminal, or in a program of yours.
 *
 *   struct airlock_questions *waiting = NULL;
 *
 *   if (airlock_questions_open(s, &waiting, &err) < 0)
 *           return err.code;
 *   for (size_t i = 0; i < airlock_questions_count(waiting); i++)
 *           printf("%s\n%s\n", airlock_questions_at(waiting, i)->id, airlock_questions_at(waiting, i)->text);
 *   airlock_questions_free(waiting);
 *
 * A program that runs agents' commands asks like this, and loses no time over it:
 *
 *   struct airlock_asking *asking = NULL;
 *   enum airlock_answer answer;
 *
 *   if (airlock_job_ask(job, &asking, &err) == 1) {
 *           struct pollfd p = {.fd = airlock_asking_fd(asking), .events = POLLIN};
 *           while (airlock_asking_poll(asking, &answer) == 1) // or poll it in your own loop
 *                   poll(&p, 1, -1);
 *           airlock_asking_free(asking);
 *   }
 *   airlock_run_start(job, NULL, &run, &err); // the job knows the answer
 *
 * Questions are files in the state directory of this user, which no sandbox shows. What an object hands out lives as long as the
 * object.
 */
#ifndef AIRLOCK_QUESTIONS_H
#define AIRLOCK_QUESTIONS_H

#include <stddef.h>
#include <stdint.h>

#include <airlock/airlock.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/* ── Answering ── */

struct airlock_pending_question {
	const char *id;		  /* what airlock_questions_answer takes */
	const char *text;	  /* inert: safe to print; its last line is the question itself */
	const char *command;	  /* as one shell line; not inert */
	const char *project;	  /* "": none */
	const char *working_dir;  /* "": none */
	const char *session;	  /* NULL: none */
	const char *asked_by;	  /* "hook:claude", "mcp: name of the client" */
	const char *host;	  /* of AIRLOCK_ASK_HOST; NULL otherwise */
	int port;		  /* of the host; 0: none */
	unsigned connections;	  /* how many connections to the host wait for the answer */
	const char *const *paths; /* as in struct airlock_question; ends with NULL */
	const enum airlock_question_reason *reasons;
	size_t n_reasons;
	const enum airlock_answer *choices; /* what may be answered */
	size_t n_choices;
	int is_optional;  /* the run goes on after a no */
	int64_t asked_ns; /* since 1970 */
	int64_t wait_ms;  /* how long it waits in all; -1: until it is answered */
};

/* Those of all this user's runs that wait now, oldest first. */
struct airlock_questions;
int airlock_questions_open(const struct airlock_settings *s, struct airlock_questions **ret, struct airlock_error *err);
size_t airlock_questions_count(const struct airlock_questions *l);
const struct airlock_pending_question *airlock_questions_at(const struct airlock_questions *l, size_t i);
/* The JSON that `airlock questions --json` prints. NULL: out of memory. */
const char *airlock_questions_json(struct airlock_questions *l);
/* One of them as an object on one line. The caller's: airlock_free. NULL: out of memory. */
char *airlock_pending_question_json(const struct airlock_pending_question *q);
void airlock_questions_free(struct airlock_questions *l);

/* Returns a descriptor that becomes readable when the list may have changed; the bytes have no meaning. The caller
 * closes it. */
int airlock_questions_watch(const struct airlock_settings *s, int *ret_fd, struct airlock_error *err);

/* Decides a question, once. AIRLOCK_ERR_NOT_FOUND: there is none of this id; AIRLOCK_ERR_CONFLICT: it was decided already, or
 * nobody answered in time; AIRLOCK_ERR_INVALID: not one of its choices; AIRLOCK_ERR_DENIED: the settings are an agent's. */
int airlock_questions_answer(const struct airlock_settings *s, const char *id, enum airlock_answer answer,
			     struct airlock_error *err);

/* ── Asking ── */

struct airlock_asking;

/* Puts the question of an agent's job where a person finds it, for as long as [permission] wait in the configuration says.
 * 1: it waits, and the job gets the answer from airlock_asking_poll; the job must live as long as the question. 0: there is
 * nothing to ask, or the run is a person's: airlock_run_start asks with its callback. */
int airlock_job_ask(struct airlock_job *job, struct airlock_asking **ret, struct airlock_error *err);
/* The same for a question about changes (airlock_changes_question), which is borrowed until this returns. Returns 0. */
int airlock_question_ask(const struct airlock_settings *s, const struct airlock_question *q,
			 struct airlock_asking **ret, struct airlock_error *err);

/* Readable when there is news. Owned by the object. */
int airlock_asking_fd(const struct airlock_asking *a);
const char *airlock_asking_id(const struct airlock_asking *a);
/* 1: no answer yet; 0: decided. A question that nobody answers in time is denied. */
int airlock_asking_poll(struct airlock_asking *a, enum airlock_answer *ret_answer);
/* Was it denied because nobody answered? */
int airlock_asking_is_ignored(const struct airlock_asking *a);
/* Withdraws the question if it is not decided: nobody can answer it any more. */
void airlock_asking_free(struct airlock_asking *a);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
