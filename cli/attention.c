/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "attention.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <airlock/questions.h>

#include "output.h"

#define QUIET_MS 30	 /* so long the agent must have written nothing; spinners write about every 80 ms */
#define PATIENCE_MS 3000 /* an agent that never stops writing is interrupted then */
#define AGAIN_MS 2000	 /* agents write titles of their own: ours is written again as long as the question waits */

/* xterm's stack of titles, which tmux and all terminals of today have; others ignore it and keep our title. */
#define SAVE_TITLE "\033[22;2t"
#define RESTORE_TITLE "\033[23;2t"

static void write_terminal(const char *text)
{
	(void)output_write(STDOUT_FILENO, text, strlen(text));
}

void attention_begin(struct attention *a, const struct airlock_settings *settings, const char *session)
{
	struct airlock_error ignored = {0};
	*a = (struct attention)ATTENTION_INIT;
	a->settings = settings;
	a->session = session;
	if (isatty(STDOUT_FILENO) && session && airlock_questions_watch(settings, &a->watch_fd, &ignored) < 0)
		a->watch_fd = -1;
	a->has_news = a->watch_fd >= 0;
}

static bool is_ours(const struct attention *a, const struct airlock_pending_question *q)
{
	return q->session && strcmp(q->session, a->session) == 0;
}

/* Its text is inert; the host's name, which the agent chose, is in it. */
static void make_title(struct attention *a, const struct airlock_pending_question *q, size_t n)
{
	const char *last = strrchr(q->text, '\n'), *line = last ? last + 1 : q->text;
	char more[48] = "";
	if (n > 1)
		(void)snprintf(more, sizeof more, " (and %zu more)", n - 1);
	if (q->host)
		(void)snprintf(a->title, sizeof a->title, "airlock questions: connect to %.80s:%d?%s", q->host, q->port,
			       more);
	else
		(void)snprintf(a->title, sizeof a->title, "airlock questions: %.80s%s", line, more);
	for (char *c = a->title; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 127)
			*c = ' ';
}

static void read_questions(struct attention *a, int64_t now_ms)
{
	struct airlock_questions *all = NULL;
	struct airlock_error ignored = {0};
	const struct airlock_pending_question *newest = NULL;
	size_t n = 0;
	a->has_news = false;
	if (airlock_questions_open(a->settings, &all, &ignored) < 0)
		return;
	for (size_t i = 0; i < airlock_questions_count(all); i++) {
		const struct airlock_pending_question *q = airlock_questions_at(all, i);
		if (is_ours(a, q)) {
			newest = q;
			n++;
		}
	}
	if (newest && strcmp(newest->id, a->last) != 0) {
		(void)snprintf(a->last, sizeof a->last, "%s", newest->id);
		make_title(a, newest, n);
		a->since_ms = now_ms;
		a->is_due = true;
	} else if (!newest) {
		a->last[0] = '\0';
		a->is_due = false;
	}
	airlock_questions_free(all);
}

static void show_title(struct attention *a, int64_t now_ms)
{
	char text[256];
	(void)snprintf(text, sizeof text, "%s\033]2;%s\007%s", a->is_shown ? "" : SAVE_TITLE, a->title,
		       a->is_due ? "\007" : "");
	write_terminal(text);
	a->is_due = false;
	a->is_shown = true;
	a->since_ms = now_ms;
}

static void restore(struct attention *a)
{
	if (a->is_shown)
		write_terminal(RESTORE_TITLE);
	a->is_shown = false;
}

void attention_update(struct attention *a, bool is_quiet, int64_t now_ms)
{
	char drop[256];
	if (a->watch_fd < 0)
		return;
	while (read(a->watch_fd, drop, sizeof drop) > 0)
		a->has_news = true;
	if (a->has_news)
		read_questions(a, now_ms);
	int64_t since = now_ms - a->since_ms;
	if (a->is_due ? is_quiet || since > PATIENCE_MS : a->is_shown && a->last[0] && is_quiet && since > AGAIN_MS)
		show_title(a, now_ms);
	else if (!a->last[0] && is_quiet)
		restore(a);
}

int attention_wait_ms(const struct attention *a)
{
	return a->watch_fd >= 0 && (a->is_due || a->is_shown) ? QUIET_MS : -1;
}

void attention_end(struct attention *a)
{
	restore(a);
	if (a->watch_fd >= 0)
		(void)close(a->watch_fd);
	a->watch_fd = -1;
}
