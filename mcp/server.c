/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The event loop: standard input, standard output, signals, and whatever the requests in flight wait for. */
#include "server_state.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#define OWN_FDS 4	   /* in, out, signals, idle: before those of the requests */
#define LAST_WORDS_MS 1000 /* how long a client that has closed our input may take to read the rest */

int64_t mcp_now_ms(void)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void free_request(struct mcp_request *r)
{
	const struct mcp_host *host = r->server->host;
	if (host)
		host->wait(host->data, r, &r->slot, -1, 0);
	if (r->release)
		r->release(r->state);
	if (host && r->origin != r->server->origin) /* else mcp_server_take tells by what it returns */
		host->over(host->data, r->origin);
	json_decref(r->id);
	json_decref(r->params);
	json_decref(r->asked);
	json_decref(r->answers);
	json_decref(r->asking.waiting);
	json_decref(r->asking.answers);
	free(r);
}

/* Requests are freed only here, so that a callback may end its own request. */
void mcp_sweep(struct mcp_server *s)
{
	for (struct mcp_request **at = &s->requests; *at;) {
		struct mcp_request *r = *at;
		if (r->is_over) {
			*at = r->next;
			s->n_requests--;
			free_request(r);
		} else {
			at = &r->next;
		}
	}
}

static void begin_ending(struct mcp_server *s)
{
	if (s->is_ending)
		return;
	s->is_ending = true;
	for (struct mcp_request *r = s->requests; r; r = r->next)
		if (!r->is_over)
			mcp_cancel(r);
}

static void take_input(struct mcp_server *s)
{
	char *line;
	size_t len;
	int rc = wire_read(&s->wire);
	for (enum wire_line kind; (kind = wire_next_line(&s->wire, &line, &len)) != WIRE_NONE;) {
		if (kind == WIRE_TOO_LONG)
			mcp_refuse_line(s, "Invalid Request: a message is longer than 16 MiB");
		else
			mcp_receive(s, line, len);
	}
	if (rc == 0)
		begin_ending(s);
}

/* ── Quiet ── */

static void end_quiet(struct mcp_server *s)
{
	s->quiet_since_ms = mcp_now_ms();
	s->idle_due_ms = s->spec->idle ? s->spec->idle->after_ms : -1;
}

static bool has_idle_work(const struct mcp_server *s)
{
	return s->idle_due_ms >= 0 && !s->requests && !s->is_ending && !wire_has_output(&s->wire);
}

static void use_quiet(struct mcp_server *s)
{
	int64_t quiet = mcp_now_ms() - s->quiet_since_ms;
	if (has_idle_work(s) && quiet >= s->idle_due_ms)
		s->idle_due_ms = s->spec->idle->work(s->spec->data, quiet);
}

/* ── Turns ── */

/* The next wake-up time, as a timeout of poll. */
static int wait_ms(const struct mcp_server *s)
{
	int64_t now = mcp_now_ms(), soonest = INT32_MAX;
	if (has_idle_work(s))
		soonest = s->quiet_since_ms + s->idle_due_ms - now;
	for (const struct mcp_request *r = s->requests; r; r = r->next)
		if (r->wake_ms && r->wake_ms - now < soonest)
			soonest = r->wake_ms - now;
	return soonest == INT32_MAX ? -1 : soonest > 0 ? (int)soonest : 0;
}

static void wake_requests(struct mcp_server *s, const struct pollfd *fds, size_t n)
{
	int64_t now = mcp_now_ms();
	size_t i = 0;
	for (struct mcp_request *r = s->requests; r && i < n; r = r->next, i++) {
		bool is_time = r->wake_ms && now >= r->wake_ms;
		if (!r->is_over && r->ready && ((fds[i].fd >= 0 && fds[i].revents) || is_time))
			r->ready(r);
	}
}

/* Sends the answers that are ready. We do this before we free their requests, because freeing one can take as long as a short command. */
static void flush_if_possible(struct mcp_server *s)
{
	struct pollfd out = {.fd = s->wire.out_fd, .events = POLLOUT};
	if (wire_has_output(&s->wire) && poll(&out, 1, 0) > 0)
		wire_flush(&s->wire);
}

/* One turn. New requests are put at the front of the list, so input is handled last. */
static int turn(struct mcp_server *s, struct pollfd *fds)
{
	bool listens = !s->is_ending && !wire_is_full(&s->wire);
	size_t n = 0;
	fds[0] = (struct pollfd){.fd = listens ? s->wire.in_fd : -1, .events = POLLIN};
	fds[1] = (struct pollfd){.fd = wire_has_output(&s->wire) ? s->wire.out_fd : -1, .events = POLLOUT};
	/* Not read: one wake-up is enough, and it would keep us awake. */
	fds[2] = (struct pollfd){.fd = s->is_ending ? -1 : s->signal_fd, .events = POLLIN};
	fds[3] = (struct pollfd){.fd = s->spec->idle ? s->spec->idle->fd(s->spec->data) : -1, .events = POLLIN};
	for (const struct mcp_request *r = s->requests; r && n < MCP_IN_FLIGHT_MAX; r = r->next, n++)
		fds[OWN_FDS + n] = (struct pollfd){.fd = r->fd, .events = POLLIN};
	int ready = poll(fds, OWN_FDS + n, wait_ms(s));
	if (ready < 0 && errno != EINTR)
		return -errno;
	if (ready == 0)
		use_quiet(s);
	if (fds[3].revents)
		s->idle_due_ms = s->spec->idle->news(s->spec->data, mcp_now_ms() - s->quiet_since_ms);
	if (ready > (fds[3].revents != 0) || n > 0)
		end_quiet(s);
	if (fds[1].revents)
		wire_flush(&s->wire);
	wake_requests(s, fds + OWN_FDS, n);
	if (fds[2].revents || s->wire.is_broken)
		begin_ending(s);
	else if (fds[0].revents)
		take_input(s);
	flush_if_possible(s);
	mcp_sweep(s);
	return 0;
}

/* Sends the answers that are ready, if anyone still reads. */
static void say_last_words(struct mcp_server *s)
{
	int64_t until = mcp_now_ms() + LAST_WORDS_MS;
	while (wire_has_output(&s->wire)) {
		struct pollfd out = {.fd = s->wire.out_fd, .events = POLLOUT};
		int64_t left = until - mcp_now_ms();
		if (left <= 0 || poll(&out, 1, (int)left) <= 0)
			return;
		wire_flush(&s->wire);
	}
}

static int open_signals(void)
{
	sigset_t set;
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGHUP);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

void mcp_server_done(struct mcp_server *s)
{
	for (struct mcp_request *r = s->requests; r; r = r->next)
		r->is_over = true;
	mcp_sweep(s);
	mcp_tools_unload(s);
	mcp_rounds_done(s);
	json_decref(s->legacy_client);
	json_decref(s->legacy_info);
	wire_done(&s->wire);
	if (s->signal_fd > 0)
		(void)close(s->signal_fd);
}

int mcp_serve(const struct mcp_spec *spec, int in_fd, int out_fd)
{
	struct mcp_server *s = calloc(1, sizeof *s);
	struct pollfd *fds = calloc(OWN_FDS + MCP_IN_FLIGHT_MAX, sizeof *fds);
	int rc = s && fds ? 0 : -ENOMEM;
	if (rc == 0) {
		s->spec = spec;
		s->wire = (struct wire){.in_fd = in_fd, .out_fd = out_fd};
		s->signal_fd = open_signals();
		rc = s->signal_fd < 0 ? -errno : mcp_tools_load(s);
		end_quiet(s);
	}
	while (rc == 0 && !(s->is_ending && !s->requests))
		rc = turn(s, fds);
	if (rc == 0)
		say_last_words(s);
	if (s)
		mcp_server_done(s);
	free(fds);
	free(s);
	return rc;
}

/* ── For another loop ── */

struct mcp_server *mcp_server_new(const struct mcp_spec *spec, const struct mcp_host *host)
{
	struct mcp_server *s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	*s = (struct mcp_server){.spec = spec, .host = host, .signal_fd = -1, .wire = {.in_fd = -1, .out_fd = -1}};
	if (mcp_tools_load(s) == 0)
		return s;
	mcp_server_free(s);
	return NULL;
}

static bool is_in_flight(const struct mcp_server *s, const void *origin)
{
	for (const struct mcp_request *r = s->requests; r; r = r->next)
		if (r->origin == origin)
			return true;
	return false;
}

bool mcp_server_take(struct mcp_server *s, const char *text, size_t len, void *origin, void *data)
{
	s->origin = origin;
	s->data = data;
	mcp_receive(s, text, len);
	mcp_sweep(s);
	s->origin = s->data = NULL;
	return origin && is_in_flight(s, origin);
}

void mcp_request_wake(struct mcp_request *r)
{
	struct mcp_server *s = r->server;
	if (!r->is_over && r->ready)
		r->ready(r);
	mcp_sweep(s);
}

void mcp_server_cancel(struct mcp_server *s, const void *origin)
{
	for (struct mcp_request *r = s->requests; r; r = r->next)
		if (r->origin == origin && !r->is_over)
			mcp_cancel(r);
	mcp_sweep(s);
}

size_t mcp_server_in_flight(const struct mcp_server *s)
{
	return s->n_requests;
}

void mcp_server_free(struct mcp_server *s)
{
	if (!s)
		return;
	for (struct mcp_request *r = s->requests; r; r = r->next)
		r->is_over = true;
	mcp_sweep(s);
	mcp_server_done(s);
	free(s);
}

/* ── What handlers call ── */

void mcp_wait(struct mcp_request *r, int fd, int64_t wake_ms, void (*ready)(struct mcp_request *r))
{
	r->fd = fd;
	r->wake_ms = wake_ms;
	r->ready = ready;
	if (r->server->host)
		r->server->host->wait(r->server->host->data, r, &r->slot, fd, wake_ms);
}

int64_t mcp_wake_ms(const struct mcp_request *r)
{
	return r->wake_ms;
}

void mcp_keep(struct mcp_request *r, void *state, void (*release)(void *state), void (*cancel)(struct mcp_request *r))
{
	r->state = state;
	r->release = release;
	r->cancel = cancel;
}

void *mcp_state(const struct mcp_request *r)
{
	return r->state;
}

void *mcp_data(const struct mcp_request *r)
{
	return r->data ? r->data : r->server->spec->data;
}

enum mcp_era mcp_era(const struct mcp_request *r)
{
	return r->era;
}

void mcp_drop(struct mcp_request *r)
{
	r->is_over = true;
	r->fd = -1;
}
