/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The questions on the whole terminal: reads keys and news (screen.c), feeds them to the page (questions_page.c), draws it and
 * carries out the answers. */
#include "questions_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "output.h"
#include "questions_page.h"
#include "screen.h"

#define TICK_MS 1000 /* ages and remaining times go on */

struct watcher {
	const struct airlock_settings *settings;
	struct screen screen;
	struct questions_page page;
	struct airlock_questions *list;
	int news_fd;
};

static int64_t now_ns(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int look(struct watcher *w, struct airlock_error *err)
{
	char bytes[4096];
	struct airlock_questions *list = NULL;
	while (read(w->news_fd, bytes, sizeof bytes) > 0) /* before looking: what comes later is news again */
		continue;
	size_t before = w->list ? airlock_questions_count(w->list) : 0;
	int rc = airlock_questions_open(w->settings, &list, err);
	if (rc < 0)
		return rc;
	questions_page_take(&w->page, list, now_ns());
	airlock_questions_free(w->list);
	w->list = list;
	if (airlock_questions_count(list) > before)
		(void)output_write(w->screen.tty, "\a", 1);
	return 0;
}

static void draw(struct watcher *w)
{
	struct screen_size size = screen_size(&w->screen);
	w->page.height = size.height;
	w->page.width = size.width;
	w->page.now_ns = now_ns();
	char *frame = questions_page_draw(&w->page);
	if (frame)
		screen_draw(&w->screen, frame);
	free(frame);
}

/* By the id that was shown: whatever the list is by now, no other question gets this answer. */
static int answer(struct watcher *w, enum airlock_answer answer, struct airlock_error *err)
{
	static const char *const said[] = {[AIRLOCK_ALLOW_ONCE] = "allowed",
					   [AIRLOCK_DENY] = "denied",
					   [AIRLOCK_ALLOW_SESSION] = "allowed for its session",
					   [AIRLOCK_ALLOW_ALWAYS] = "allowed always",
					   [AIRLOCK_DENY_SESSION] = "denied for its session",
					   [AIRLOCK_DENY_ALWAYS] = "denied always"};
	struct airlock_error why = {0};
	char id[sizeof w->page.chosen];
	(void)snprintf(id, sizeof id, "%s", w->page.chosen);
	int rc = airlock_questions_answer(w->settings, id, answer, &why);
	int looked = look(w, err);
	if (rc < 0)
		(void)snprintf(w->page.message, sizeof w->page.message, "%.150s", why.message);
	else
		(void)snprintf(w->page.message, sizeof w->page.message, "question %s: %s", id, said[answer]);
	return looked;
}

/* 1: it is over. */
static int handle_key(struct watcher *w, const struct screen_key *key, struct airlock_error *err)
{
	enum airlock_answer chosen = AIRLOCK_DENY;
	if (questions_page_is_decision(&w->page, key->key) && !screen_is_alone(&w->screen, key)) {
		(void)snprintf(w->page.message, sizeof w->page.message,
			       "several keys at once decide nothing: press it again");
		return 0;
	}
	switch (questions_page_press(&w->page, key->key, now_ns(), &chosen)) {
	case QUESTIONS_ANSWER:
		return answer(w, chosen, err);
	case QUESTIONS_SUSPEND:
		return screen_suspend(&w->screen, err);
	case QUESTIONS_QUIT:
		return 1;
	case QUESTIONS_NOTHING:
		break;
	}
	return 0;
}

static int watch(struct watcher *w, struct airlock_error *err)
{
	struct screen_key key;
	int rc = look(w, err);
	while (rc == 0) {
		draw(w);
		enum screen_event event = screen_wait(&w->screen, &key);
		if (event == SCREEN_KEY)
			rc = handle_key(w, &key, err);
		else if (event == SCREEN_NEWS)
			rc = look(w, err);
		else if (event == SCREEN_OVER)
			rc = 1;
	}
	return rc < 0 ? rc : 0;
}

int questions_watch(const struct airlock_settings *s, struct airlock_error *err)
{
	struct watcher w = {.settings = s, .news_fd = -1};
	int rc = airlock_questions_watch(s, &w.news_fd, err);
	if (rc >= 0)
		rc = screen_open(&w.screen, err);
	if (rc >= 0) {
		w.screen.news_fd = w.news_fd;
		w.screen.tick_ms = TICK_MS;
		rc = watch(&w, err);
		screen_close(&w.screen);
	}
	airlock_questions_free(w.list);
	if (w.news_fd >= 0)
		(void)close(w.news_fd);
	return rc;
}
