/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Live events: one stream for each open page. Without an open page the server watches nothing.
 *
 *   questions   all that wait now; when the page connects, and whenever they change
 *   changed     a run began or ended, somebody decided, a session changed: the page asks for the list again
 *   output      bytes of the run that the page shows, from where it has them
 */
#include "ui_state.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <airlock/history.h>
#include <airlock/questions.h>

#include "http_options.h"

#define LISTENERS_MAX 64
#define SETTLE_MS 80 /* several things happen at the end of a run: one event for all */
#define LOOK_MS 1000 /* the end of an asker is no news on every file system */
#define OUTPUT_MS 120
#define ALIVE_MS 15000 /* a line now and then: both ends learn that the other one is there */
#define OUTPUT_PIECE 49152
#define BEHIND_MAX ((size_t)1 << 20) /* a page that reads so slowly gets no more until it has */

struct followed {
	int fd; /* -1: there is no file yet */
	uint64_t at;
};

struct listener {
	struct ui_listeners *all;
	struct listener *next, *previous;
	struct http_request *request;
	char *run; /* NULL: none */
	struct followed streams[2];
	unsigned ticks;
};

struct ui_listeners {
	struct http_loop *loop;
	struct airlock_settings *settings;
	struct listener *first;
	size_t n;
	char *questions; /* as they were sent last */
	struct http_watch news, asked, output;
	int64_t alive_ms;
	bool is_changed;
};

/* ── Questions and news ── */

static void tell(const struct ui_listeners *l, const char *event, const char *data)
{
	for (struct listener *at = l->first; at; at = at->next)
		if (http_stream_size(at->request) < BEHIND_MAX)
			http_stream_event(at->request, event, data, strlen(data));
}

/* *ret_new: they are not what they were. */
static const char *read_questions(struct ui_listeners *l, bool *ret_new)
{
	struct airlock_questions *list = NULL;
	const char *json = airlock_questions_open(l->settings, &list, NULL) < 0 ? NULL : airlock_questions_json(list);
	*ret_new = json && (!l->questions || strcmp(json, l->questions) != 0);
	if (*ret_new) {
		free(l->questions);
		l->questions = strdup(json);
	}
	airlock_questions_free(list);
	return l->questions;
}

static void look_at_questions(struct ui_listeners *l)
{
	bool is_new = false;
	const char *json = l->first ? read_questions(l, &is_new) : NULL;
	if (json && is_new)
		tell(l, "questions", json);
}

static void drain(int fd)
{
	char bytes[4096];
	while (read(fd, bytes, sizeof bytes) > 0)
		continue;
}

static void keep_alive(struct ui_listeners *l)
{
	if (http_now_ms() < l->alive_ms)
		return;
	l->alive_ms = http_now_ms() + ALIVE_MS;
	for (struct listener *at = l->first; at; at = at->next)
		http_stream_send(at->request, ": \n\n", 4);
}

static void asked(void *data, short revents)
{
	struct ui_listeners *l = data;
	if (revents)
		drain(l->asked.fd);
	look_at_questions(l);
	keep_alive(l);
	l->asked.wake_ms = l->first ? http_now_ms() + LOOK_MS : 0;
}

static void news(void *data, short revents)
{
	struct ui_listeners *l = data;
	if (revents) {
		drain(l->news.fd);
		l->news.wake_ms = http_now_ms() + SETTLE_MS;
		return;
	}
	tell(l, "changed", "{}");
}

/* ── Output ── */

static void reopen(const struct listener *at, int i)
{
	struct stat st;
	int fd = -1;
	if (airlock_output_open(at->all->settings, at->run, i, &fd, NULL) < 0)
		return;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		((struct listener *)at)->streams[i].fd = fd;
	else
		(void)close(fd);
}

static void send_output(struct listener *at, int i)
{
	char bytes[OUTPUT_PIECE];
	struct followed *f = &at->streams[i];
	ssize_t n = pread(f->fd, bytes, sizeof bytes, (off_t)f->at);
	char *base64 = n > 0 ? airlock_text_base64(bytes, (size_t)n) : NULL;
	char *run = base64 ? airlock_text_json(at->run, strlen(at->run)) : NULL, *text = NULL;
	int len = run ? asprintf(&text, "{\"run\":%s,\"stream\":\"%s\",\"from\":%llu,\"base64\":\"%s\"}", run,
				 i ? "stderr" : "stdout", (unsigned long long)f->at, base64)
		      : -1;
	if (len >= 0) {
		http_stream_event(at->request, "output", text, (size_t)len);
		f->at += (uint64_t)n;
		free(text);
	}
	airlock_free(run);
	airlock_free(base64);
}

static void follow(struct listener *at)
{
	bool may_open = at->ticks++ % 4 == 0;
	for (int i = 0; i < 2; i++) {
		if (at->streams[i].fd < 0 && may_open)
			reopen(at, i);
		if (at->streams[i].fd >= 0 && http_stream_size(at->request) < BEHIND_MAX)
			send_output(at, i);
	}
}

static void output(void *data, short revents)
{
	struct ui_listeners *l = data;
	bool is_followed = false;
	(void)revents;
	for (struct listener *at = l->first; at; at = at->next)
		if (at->run) {
			follow(at);
			is_followed = true;
		}
	l->output.wake_ms = is_followed ? http_now_ms() + OUTPUT_MS : 0;
}

/* ── Pages that listen ── */

static void release(void *state)
{
	struct listener *at = state;
	struct ui_listeners *l = at->all;
	if (at->next)
		at->next->previous = at->previous;
	if (at->previous)
		at->previous->next = at->next;
	else
		l->first = at->next;
	l->n--;
	for (int i = 0; i < 2; i++)
		if (at->streams[i].fd >= 0)
			(void)close(at->streams[i].fd);
	free(at->run);
	free(at);
}

static void gone(struct http_request *r)
{
	http_stream_end(r);
}

static uint64_t place(const struct http_request *r, const char *name)
{
	char *text = http_query(r, name);
	uint64_t n = text ? strtoull(text, NULL, 10) : 0;
	free(text);
	return n;
}

static void listen_to(struct http_request *r)
{
	struct ui *ui = http_data(r);
	struct ui_listeners *l = ui->listeners;
	struct listener *at = l->n < LISTENERS_MAX ? calloc(1, sizeof *at) : NULL;
	bool is_new = false;
	if (!at) {
		http_reply_error(r, 429, "limit", "too many pages are open");
		return;
	}
	*at = (struct listener){.all = l, .request = r, .run = http_query(r, "run"), .next = l->first};
	for (int i = 0; i < 2; i++)
		at->streams[i] = (struct followed){-1, place(r, i ? "stderr" : "stdout")};
	if (l->first)
		l->first->previous = at;
	l->first = at;
	l->n++;
	http_keep(r, at, release, gone);
	http_stream_start(r, 200, "text/event-stream", NULL);
	const char *questions = read_questions(l, &is_new);
	if (questions && is_new)
		tell(l, "questions", questions); /* to the others, too: they may not know yet */
	else if (questions)
		http_stream_event(r, "questions", questions, strlen(questions));
	l->asked.wake_ms = http_now_ms() + LOOK_MS;
	if (at->run)
		l->output.wake_ms = http_now_ms() + 1;
}

struct ui_listeners *ui_listeners_new(struct http_loop *loop, struct airlock_error *err)
{
	struct ui_listeners *l = calloc(1, sizeof *l);
	if (!l) {
		(void)http_fail(err, AIRLOCK_ERR_INTERNAL, "ui", "out of memory");
		return NULL;
	}
	*l = (struct ui_listeners){.loop = loop,
				   .settings = airlock_settings_new(),
				   .news = {.fd = -1, .events = POLLIN, .ready = news, .data = l},
				   .asked = {.fd = -1, .events = POLLIN, .ready = asked, .data = l},
				   .output = {.fd = -1, .ready = output, .data = l}};
	if (!l->settings || airlock_settings_set_environ(l->settings, environ, err) < 0 ||
	    airlock_log_watch(l->settings, &l->news.fd, err) < 0 ||
	    airlock_questions_watch(l->settings, &l->asked.fd, err) < 0) {
		ui_listeners_free(l);
		return NULL;
	}
	http_loop_add(loop, &l->news);
	http_loop_add(loop, &l->asked);
	http_loop_add(loop, &l->output);
	return l;
}

void ui_listeners_free(struct ui_listeners *l)
{
	if (!l)
		return;
	struct http_watch *all[] = {&l->news, &l->asked, &l->output};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		http_loop_remove(l->loop, all[i]);
		if (all[i]->fd >= 0)
			(void)close(all[i]->fd);
	}
	airlock_settings_free(l->settings);
	free(l->questions);
	free(l);
}

const struct http_route ui_event_routes[] = {
	{"GET", "/ui/events", listen_to},
	{0},
};
