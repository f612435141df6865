/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "commands.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <airlock/questions.h>

#include "output.h"
#include "questions_page.h"
#include "questions_watch.h"
#include "screen.h"

#define COMMAND_COLUMNS 100
#define LOOK_MS 2000 /* the end of an asker is no news on every file system */

static int64_t now_ns(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* A command may be a whole script; what is behind it must stay in sight. --json and --watch have all of it. */
static void print_command(const char *command)
{
	char *inert = airlock_text_inert(command, strlen(command));
	size_t len = inert ? strlen(inert) : 0, fit = inert ? airlock_text_fit(inert, len, COMMAND_COLUMNS) : 0;
	(void)printf("%.*s%s", (int)fit, inert ? inert : "", fit < len ? "…" : "");
	airlock_free(inert);
}

/* One line a question; the first word is its id. */
static void print_question(const struct airlock_pending_question *q)
{
	(void)printf("%s  %6s  %-12s  ", q->id, questions_age(now_ns() - q->asked_ns).text, questions_reasons(q).text);
	if (q->host) {
		output_text(stdout, q->host);
		(void)printf(":%d  ", q->port);
	}
	print_command(q->command);
	if (*q->project) {
		(void)fputs("  in ", stdout);
		output_text(stdout, q->project);
	}
	if (q->session) {
		(void)fputs("  session ", stdout);
		output_text(stdout, q->session);
	}
	(void)putchar('\n');
}

static int list(const struct invocation *inv, struct airlock_error *err)
{
	struct airlock_questions *l = NULL;
	int rc = airlock_questions_open(inv->settings, &l, err);
	if (rc >= 0 && inv->json)
		rc = output_json(airlock_questions_json(l), err);
	else if (rc >= 0 && airlock_questions_count(l) == 0)
		output_say("no question waits for an answer");
	for (size_t i = 0; rc >= 0 && !inv->json && i < airlock_questions_count(l); i++)
		print_question(airlock_questions_at(l, i));
	airlock_questions_free(l);
	return rc;
}

/* ── Following, without a terminal ── */

static bool has(const struct airlock_questions *l, const char *id)
{
	for (size_t i = 0; l && i < airlock_questions_count(l); i++)
		if (strcmp(airlock_questions_at(l, i)->id, id) == 0)
			return true;
	return false;
}

static int print_new(const struct invocation *inv, const struct airlock_pending_question *q, struct airlock_error *err)
{
	char *json = inv->json ? airlock_pending_question_json(q) : NULL;
	if (inv->json && !json)
		return output_fail(err, AIRLOCK_ERR_INTERNAL, NULL, "out of memory");
	if (json)
		(void)fputs(json, stdout);
	else
		print_question(q);
	airlock_free(json);
	return 0;
}

/* Prints those that were not there the last time. 1: nobody reads any more. */
static int print_news(const struct invocation *inv, struct airlock_questions **known, struct airlock_error *err)
{
	struct airlock_questions *l = NULL;
	int rc = airlock_questions_open(inv->settings, &l, err);
	for (size_t i = 0; rc >= 0 && i < airlock_questions_count(l); i++)
		if (!has(*known, airlock_questions_at(l, i)->id))
			rc = print_new(inv, airlock_questions_at(l, i), err);
	if (rc < 0) {
		airlock_questions_free(l);
		return rc;
	}
	airlock_questions_free(*known);
	*known = l;
	return fflush(stdout) < 0 ? 1 : 0;
}

/* False: whoever read our output has gone. */
static bool wait_for_news(int fd)
{
	char bytes[4096];
	struct pollfd fds[] = {{.fd = fd, .events = POLLIN}, {.fd = STDOUT_FILENO}};
	int n = poll(fds, 2, LOOK_MS);
	while (read(fd, bytes, sizeof bytes) > 0)
		continue;
	return (n >= 0 || errno == EINTR) && !(fds[1].revents & (POLLERR | POLLNVAL));
}

static int follow(const struct invocation *inv, struct airlock_error *err)
{
	struct airlock_questions *known = NULL;
	int fd = -1;
	int rc = airlock_questions_watch(inv->settings, &fd, err);
	if (rc < 0)
		return rc;
	do
		rc = print_news(inv, &known, err);
	while (rc == 0 && wait_for_news(fd));
	airlock_questions_free(known);
	(void)close(fd);
	return rc < 0 ? rc : 0;
}

/* An agent gets no keys that answer; the library would refuse them. */
static bool can_answer(const struct invocation *inv)
{
	return !inv->json && !airlock_settings_is_agent(inv->settings) && isatty(STDIN_FILENO) &&
	       isatty(STDOUT_FILENO) && screen_is_possible();
}

int cmd_questions(const struct invocation *inv, struct airlock_error *err)
{
	bool is_watching = false;
	int rc = arguments_flag(&inv->args, "watch", &is_watching, err);
	if (rc < 0)
		return rc;
	if (!is_watching)
		return list(inv, err);
	return can_answer(inv) ? questions_watch(inv->settings, err) : follow(inv, err);
}
