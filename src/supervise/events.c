/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "supervise/supervise_state.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>

int64_t supervise_now_us(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int events_open(struct supervise *s)
{
	for (size_t i = 0; i < N_SOURCES; i++)
		s->watched_fd[i] = -EBADF;
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	s->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	return s->epoll_fd < 0 || s->timer_fd < 0 ? -errno : 0;
}

/* Removes an fd of no interest altogether: epoll reports hang-ups even without any requested event. */
static void watch(struct supervise *s, enum source what, int fd, unsigned events)
{
	if (events == 0)
		fd = -EBADF;
	if (s->watched_fd[what] == fd && s->watched_events[what] == events)
		return;
	if (s->watched_fd[what] >= 0)
		(void)epoll_ctl(s->epoll_fd, EPOLL_CTL_DEL, s->watched_fd[what], NULL);
	struct epoll_event e = {.events = events, .data.u32 = what};
	if (fd >= 0 && epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &e) < 0)
		fd = -EBADF;
	s->watched_fd[what] = fd;
	s->watched_events[what] = events;
}

/* Closing a descriptor removes it from epoll, but its number may be reused: forget closed ones first. */
static void forget_closed(struct supervise *s, enum source what, int fd)
{
	if (fd < 0)
		s->watched_fd[what] = -EBADF;
}

static void watch_stream(struct supervise *s, struct stream *st, enum source read_side, enum source relay_side)
{
	bool full = relay_is_full(&st->relay);
	bool reading = s->phase != PHASE_SETUP && st->fd >= 0 && !full;
	forget_closed(s, read_side, st->fd);
	watch(s, read_side, st->fd, reading ? EPOLLIN : 0);
	watch(s, relay_side, st->relay.fd, full ? EPOLLOUT : 0);
}

/* Closing the source would not remove it from epoll: the caller's own descriptor keeps the same file open, and its
 * hang-up would wake us forever. So it stays open, unwatched. Input from a terminal waits for the terminal. */
static void watch_input(struct supervise *s)
{
	struct input *in = &s->in;
	if (s->phase == PHASE_RUNNING && input_is_at_end(in) && s->retry_input_at_us == 0)
		s->retry_input_at_us = supervise_now_us() + SUPERVISE_RETRY_INPUT_US;
	bool wants = s->phase == PHASE_RUNNING && s->retry_input_at_us == 0 && (!s->spec.pty || s->master_fd >= 0);
	forget_closed(s, ON_INPUT_SINK, in->sink);
	bool reading = wants && input_wants_source(in) && !in->source_plain;
	watch(s, ON_INPUT_SOURCE, in->source, reading ? EPOLLIN : 0);
	/* A regular file or /dev/null: epoll refuses it because it is always readable. Then the sink's readiness
	 * drives both. */
	if (reading && s->watched_fd[ON_INPUT_SOURCE] < 0)
		in->source_plain = true;
	bool drive = wants && in->source_plain && input_wants_source(in);
	watch(s, ON_INPUT_SINK, in->sink, (wants && input_wants_sink(in)) || drive ? EPOLLOUT : 0);
}

/* It is always readable, and the first look clears its error condition, even if that look is a poll on our epoll. So
 * watch for edges: the first comes at once. */
static void watch_covers(struct supervise *s)
{
	if (s->phase > PHASE_RUNNING)
		base_closep(&s->covers_fd); /* it keeps the mounts */
	forget_closed(s, ON_COVERS, s->covers_fd);
	watch(s, ON_COVERS, s->covers_fd, s->phase == PHASE_RUNNING ? EPOLLIN | EPOLLET : 0);
}

static void arm_timer(struct supervise *s)
{
	int64_t at[] = {s->timeout_at_us, s->kill_at_us, s->retry_input_at_us, s->look_at_us, s->usage_at_us}, next = 0;
	for (size_t i = 0; i < AL_ARRAY_LEN(at); i++)
		if (at[i] && (!next || at[i] < next))
			next = at[i];
	if (next == s->armed_us)
		return;
	s->armed_us = next;
	struct itimerspec when = {.it_value = {next / 1000000, next % 1000000 * 1000}};
	(void)timerfd_settime(s->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
}

void events_update(struct supervise *s)
{
	watch(s, ON_CONTROL, s->control_fd, s->control_fd >= 0 ? EPOLLIN : 0);
	watch_stream(s, &s->out, ON_STDOUT, ON_RELAY_OUT);
	watch_stream(s, &s->err, ON_STDERR, ON_RELAY_ERR);
	watch_input(s);
	bool first = s->first_fd >= 0 && !s->first_dead && s->phase != PHASE_SETUP;
	watch(s, ON_FIRST, s->first_fd, first ? EPOLLIN : 0);
	watch_covers(s);
	watch(s, ON_SPAWNED, s->spawned_fd, s->spawned_fd >= 0 && !s->spawned_dead ? EPOLLIN : 0);
	watch(s, ON_TIMER, s->timer_fd, EPOLLIN);
	if (s->spec.gate)
		watch(s, ON_GATE, net_gate_fd(s->spec.gate), s->phase < PHASE_OVER ? EPOLLIN : 0);
	watch(s, ON_END_WITH, s->spec.end_with_fd, s->phase <= PHASE_RUNNING ? EPOLLIN : 0);
	arm_timer(s);
}
