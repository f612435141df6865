/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One poll loop for everything: connections, running commands, timers. Nothing may wait outside of it.
 *
 *   struct http_watch watch = {.fd = fd, .events = POLLIN, .ready = ready, .data = me};
 *   http_loop_add(loop, &watch);          the struct is the caller's, and must stay until it is removed
 *   http_loop_remove(loop, &watch);       also from inside a callback; a watch that is not in the loop is ignored
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct http_watch {
	int fd;		 /* -1: none */
	short events;	 /* POLLIN, POLLOUT, POLLRDHUP */
	int64_t wake_ms; /* also called at this time (http_now_ms); 0: never */
	/* revents 0: the time has come. The time is cleared before the call: set it again for the next. */
	void (*ready)(void *data, short revents);
	void *data;
	struct http_watch *next, *previous; /* the loop's */
	size_t slot;			    /* the loop's: where poll looks at it */
	bool is_added;
};

struct http_loop;

struct http_loop *http_loop_new(void); /* NULL: out of memory */
void http_loop_free(struct http_loop *l);
void http_loop_add(struct http_loop *l, struct http_watch *w);
void http_loop_remove(struct http_loop *l, struct http_watch *w);
/* Called before every poll; returns how long it may last in ms, -1: as long as it takes. For a library with its own idea of time. */
void http_loop_set_before(struct http_loop *l, int64_t (*before)(void *data), void *data);
/* Until http_loop_stop. 0, or -errno of poll. */
int http_loop_run(struct http_loop *l);
void http_loop_stop(struct http_loop *l);

int64_t http_now_ms(void); /* CLOCK_MONOTONIC */
