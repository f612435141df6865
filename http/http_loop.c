/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "http_loop.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>

struct http_loop {
	struct http_watch head;	   /* of a ring; its callbacks are never called */
	struct http_watch *cursor; /* the next one to be looked at, while callbacks are called */
	struct pollfd *fds;
	size_t size, n_watches;
	int64_t (*before)(void *data);
	void *before_data;
	bool is_stopped;
};

int64_t http_now_ms(void)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

struct http_loop *http_loop_new(void)
{
	struct http_loop *l = calloc(1, sizeof *l);
	if (l)
		l->head.next = l->head.previous = &l->head;
	return l;
}

void http_loop_free(struct http_loop *l)
{
	if (l)
		free(l->fds);
	free(l);
}

/* In front, so that a watch that a callback adds is not looked at before it was polled. */
void http_loop_add(struct http_loop *l, struct http_watch *w)
{
	if (w->is_added)
		return;
	w->is_added = true;
	w->slot = SIZE_MAX;
	w->previous = &l->head;
	w->next = l->head.next;
	w->next->previous = w;
	l->head.next = w;
	l->n_watches++;
}

void http_loop_remove(struct http_loop *l, struct http_watch *w)
{
	if (!w->is_added)
		return;
	if (l->cursor == w)
		l->cursor = w->next;
	w->previous->next = w->next;
	w->next->previous = w->previous;
	w->is_added = false;
	l->n_watches--;
}

void http_loop_set_before(struct http_loop *l, int64_t (*before)(void *data), void *data)
{
	l->before = before;
	l->before_data = data;
}

void http_loop_stop(struct http_loop *l)
{
	l->is_stopped = true;
}

static bool reserve(struct http_loop *l)
{
	if (l->size >= l->n_watches)
		return true;
	size_t wanted = l->n_watches * 2 + 16;
	struct pollfd *grown = realloc(l->fds, wanted * sizeof *grown);
	if (!grown)
		return false;
	l->fds = grown;
	l->size = wanted;
	return true;
}

/* Fills the array for poll. Returns how many there are; *ret_wait is lowered to the first time that a watch waits for. */
static size_t collect(struct http_loop *l, int64_t *ret_wait)
{
	int64_t now = http_now_ms();
	size_t n = 0;
	for (struct http_watch *w = l->head.next; w != &l->head; w = w->next) {
		w->slot = n;
		l->fds[n++] = (struct pollfd){.fd = w->fd, .events = w->events};
		int64_t left = w->wake_ms > now ? w->wake_ms - now : 0;
		if (w->wake_ms && (*ret_wait < 0 || left < *ret_wait))
			*ret_wait = left;
	}
	return n;
}

static void call_ready(struct http_loop *l, size_t n)
{
	int64_t now = http_now_ms();
	for (struct http_watch *w = l->head.next; w != &l->head; w = l->cursor) {
		l->cursor = w->next;
		short revents = w->slot < n ? l->fds[w->slot].revents : 0;
		bool is_time = w->slot < n && w->wake_ms && now >= w->wake_ms;
		if (is_time)
			w->wake_ms = 0;
		if (revents || is_time)
			w->ready(w->data, revents);
	}
	l->cursor = NULL;
}

int http_loop_run(struct http_loop *l)
{
	while (!l->is_stopped) {
		int64_t wait = l->before ? l->before(l->before_data) : -1;
		if (!reserve(l))
			return -ENOMEM;
		size_t n = collect(l, &wait);
		int ready = poll(l->fds, n, wait > INT32_MAX ? INT32_MAX : (int)wait);
		if (ready < 0 && errno != EINTR)
			return -errno;
		if (ready >= 0)
			call_ready(l, n);
	}
	return 0;
}
