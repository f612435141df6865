/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* POST /v1/sandboxes/ID/execute: a command, its result as one object, or with Accept: text/event-stream its output as it comes.
 *
 * A client that does not read holds up its own command and nobody else: what it has not read stays in a queue of QUEUE_MAX bytes, then
 * in the pipe, then the command waits. libmicrohttpd closes a connection on which nothing moves, and the command is killed. */
#include "serve_state.h"

#include <airlock/result.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "http_options.h"

#define QUEUE_MAX 262144
#define PIECE 16384
#define BODY_MAX ((size_t)4 << 20)

enum { OUT, ERR };

struct serve_stream {
	struct serve_run *run;
	const char *event;
	struct http_watch watch; /* the reading end of the pipe */
	int write_fd;
	char rest[4]; /* the beginning of a character whose end has not come */
	size_t n_rest;
	bool is_after_return; /* the last byte was a carriage return */
};

struct serve_run {
	struct serve *serve;
	struct serve_run *next;
	struct http_request *request;
	struct serve_sandbox *sandbox;
	const struct serve_token *token;
	struct airlock_job *job;
	struct airlock_run *run;
	struct http_watch watch;
	struct serve_stream streams[2];
	int64_t begun_ms;
	bool is_simple, is_streamed, is_over, is_replied;
	const char *killed_for; /* why we ended it, or NULL */
};

/* ── The end ── */

static void close_streams(struct serve_run *x)
{
	for (int i = 0; i < 2; i++) {
		struct serve_stream *t = &x->streams[i];
		http_loop_remove(x->serve->loop, &t->watch);
		if (t->watch.fd >= 0)
			(void)close(t->watch.fd);
		if (t->write_fd >= 0)
			(void)close(t->write_fd);
		t->watch.fd = t->write_fd = -1;
	}
}

/* The request is over: everything that belongs to it goes, and with it a command that still runs. */
static void release(void *state)
{
	struct serve_run *x = state;
	struct serve *s = x->serve;
	for (struct serve_run **at = &s->runs; *at; at = &(*at)->next)
		if (*at == x) {
			*at = x->next;
			break;
		}
	http_loop_remove(s->loop, &x->watch);
	close_streams(x);
	if (x->run) {
		s->n_running--;
		x->sandbox->commands--;
		airlock_run_free(x->run);
	}
	airlock_job_free(x->job);
	serve_leave(s, x->sandbox);
	free(x);
}

static void kill_run(struct serve_run *x, const char *why)
{
	if (x->is_over || !x->run)
		return;
	x->killed_for = why;
	(void)airlock_run_signal(x->run, SIGKILL);
}

static void gone(struct http_request *r)
{
	kill_run(http_state(r), "the client hung up");
}

void serve_end_runs(struct serve *s)
{
	for (struct serve_run *x = s->runs; x; x = x->next)
		kill_run(x, "the server ends");
}

void serve_end_runs_of(struct serve *s, struct serve_sandbox *b)
{
	for (struct serve_run *x = s->runs; x; x = x->next)
		if (x->sandbox == b)
			kill_run(x, "the sandbox was deleted");
}

static const struct serve_token *owner_of(const struct serve *s, const struct serve_sandbox *b)
{
	for (size_t i = 0; i < s->tokens.n; i++)
		if (strcmp(s->tokens.items[i]->name, b->owner) == 0)
			return s->tokens.items[i];
	return NULL;
}

void serve_check_disk(struct serve *s, struct serve_sandbox *b)
{
	const struct serve_token *token = owner_of(s, b);
	if (!token || serve_disk_left(s, token, b) != 0)
		return;
	for (struct serve_run *x = s->runs; x; x = x->next)
		if (x->sandbox == b)
			kill_run(x, "disk");
	if (b->is_awake && !b->is_deleted &&
	    b->commands == 0) { /* else they are told, and the next look ends the rest */
		s->metrics.quota_hits[SERVE_QUOTA_DISK]++;
		serve_rest(b);
	}
}

/* ── The result ── */

static json_t *result_json(struct serve_run *x)
{
	json_t *result = json_loads(airlock_run_result_json(x->run), JSON_ALLOW_NUL, NULL);
	if (result && x->killed_for && strcmp(x->killed_for, "disk") == 0)
		(void)json_object_set_new(json_object_get(result, "usage"), "limit_hit", json_string("disk"));
	if (!result || !x->is_simple)
		return result;
	json_t *simple = json_pack("{s:O, s:O, s:i}", "stdout", json_object_get(result, "stdout"), "stderr",
				   json_object_get(result, "stderr"), "exit_code", airlock_run_exit_code(x->run));
	json_decref(result);
	return simple;
}

static void reply(struct serve_run *x)
{
	json_t *result = result_json(x);
	x->is_replied = true;
	if (!x->is_streamed) {
		http_reply_json(x->request, 200, result);
		return;
	}
	char *text = result ? json_dumps(result, JSON_COMPACT | JSON_REAL_PRECISION(12)) : NULL;
	if (text)
		http_stream_event(x->request, "result", text, strlen(text));
	http_stream_end(x->request);
	free(text);
	json_decref(result);
}

static void count(struct serve_run *x)
{
	struct serve *s = x->serve;
	char detail[32];
	enum airlock_status status = airlock_run_status(x->run);
	if (status < AIRLOCK_RUNNING)
		s->metrics.runs[status]++;
	serve_histogram_add(&s->metrics.run_s, (double)(http_now_ms() - x->begun_ms) / 1000);
	(void)snprintf(detail, sizeof detail, "%.30s", airlock_run_id(x->run));
	serve_audit(s, x->token, "execute", x->sandbox->id, detail, 200);
	if (x->sandbox->is_measured)
		serve_measure_disk(s, x->sandbox);
}

/* Nothing more is written once the run is over; what is left in the pipes goes out first. */
static void finish_if_drained(struct serve_run *x)
{
	if (!x->is_over || x->is_replied)
		return;
	for (int i = 0; i < 2; i++)
		if (x->streams[i].watch.fd >= 0)
			return;
	reply(x);
}

/* ── Output as it comes ── */

static size_t character_length(unsigned char first)
{
	return first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

/* How many of the bytes end with a whole character. What looks like the beginning of one at the end waits for the rest. */
static size_t whole_characters(const char *bytes, size_t len)
{
	for (size_t back = 1; back <= 3 && back <= len; back++) {
		unsigned char c = (unsigned char)bytes[len - back];
		if (c >= 0xc0)
			return character_length(c) > back ? len - back : len;
		if (c < 0x80)
			return len;
	}
	return len;
}

/* An event has lines and no carriage returns: each of these, or one with its newline, becomes a newline. */
static size_t without_returns(struct serve_stream *t, char *bytes, size_t len)
{
	size_t n = 0;
	for (size_t i = 0; i < len; i++) {
		bool is_second = bytes[i] == '\n' && t->is_after_return;
		t->is_after_return = bytes[i] == '\r';
		if (!is_second)
			bytes[n++] = bytes[i] == '\r' ? '\n' : bytes[i];
	}
	return n;
}

static void send_piece(struct serve_stream *t, char *bytes, size_t len)
{
	json_t *text;
	len = without_returns(t, bytes, len);
	char *valid = len ? airlock_text_json(bytes, len) : NULL; /* U+FFFD for what is not UTF-8 */
	text = valid ? json_loads(valid, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL) : NULL;
	if (text)
		http_stream_event(t->run->request, t->event, json_string_value(text), json_string_length(text));
	json_decref(text);
	airlock_free(valid);
}

static void read_stream(void *data, short revents)
{
	struct serve_stream *t = data;
	char bytes[PIECE + sizeof t->rest];
	(void)revents;
	memcpy(bytes, t->rest, t->n_rest);
	ssize_t n = read(t->watch.fd, bytes + t->n_rest, PIECE);
	if (n < 0 && (errno == EINTR || (errno == EAGAIN && !t->run->is_over)))
		return;
	size_t len = t->n_rest + (n > 0 ? (size_t)n : 0), whole = n > 0 ? whole_characters(bytes, len) : len;
	t->n_rest = len - whole;
	memcpy(t->rest, bytes + whole, t->n_rest);
	send_piece(t, bytes, whole);
	if (n <= 0) {
		http_loop_remove(t->run->serve->loop, &t->watch);
		(void)close(t->watch.fd);
		t->watch.fd = -1;
	} else if (http_stream_size(t->run->request) > QUEUE_MAX) {
		http_loop_remove(t->run->serve->loop, &t->watch); /* until `drained` */
	}
}

/* Sends the rest of the output of a run that has ended, until the pipe is empty or the client stops reading. */
static void read_rest(struct serve_stream *t)
{
	while (t->watch.fd >= 0 && http_stream_size(t->run->request) <= QUEUE_MAX)
		read_stream(t, 0);
}

static void drained(struct http_request *r)
{
	struct serve_run *x = http_state(r);
	for (int i = 0; i < 2; i++)
		if (x->is_over)
			read_rest(&x->streams[i]);
		else if (x->streams[i].watch.fd >= 0)
			http_loop_add(x->serve->loop, &x->streams[i].watch);
	finish_if_drained(x);
}

static void dispatch(void *data, short revents)
{
	struct serve_run *x = data;
	(void)revents;
	if (airlock_run_await_result(x->run, 0) != 0)
		return;
	x->is_over = true;
	http_loop_remove(x->serve->loop, &x->watch);
	count(x);
	for (int i = 0; i < 2; i++)
		read_rest(&x->streams[i]);
	finish_if_drained(x);
}

static int open_stream(struct serve_run *x, int which, struct airlock_error *err)
{
	int fds[2];
	struct serve_stream *t = &x->streams[which];
	if (pipe2(fds, O_CLOEXEC) < 0)
		return http_fail(err, AIRLOCK_ERR_IO, "pipe", "no pipe: %s", strerror(errno));
	(void)fcntl(fds[0], F_SETFL, O_NONBLOCK);
	t->event = which == OUT ? "stdout" : "stderr";
	t->write_fd = fds[1];
	t->watch = (struct http_watch){.fd = fds[0], .events = POLLIN, .ready = read_stream, .data = t};
	http_loop_add(x->serve->loop, &t->watch);
	return 0;
}

/* ── The beginning ── */

/* The token's holder decides about the network of its sandboxes; about everything else nobody can be asked here. */
static void answer(struct airlock_job *job)
{
	const struct airlock_question *q = airlock_job_question(job);
	bool is_network = q != NULL;
	for (size_t i = 0; q && i < q->n_reasons; i++)
		is_network = is_network && (q->reasons[i] == AIRLOCK_ASK_NETWORK || q->reasons[i] == AIRLOCK_ASK_HOST);
	if (q)
		airlock_job_answer(job, is_network ? AIRLOCK_ALLOW_ONCE : AIRLOCK_DENY);
}

/* A command may ask for less time than its sandbox, not for more. */
static int set_timeout(struct airlock_settings *settings, json_t *value, const struct serve_sandbox *b,
		       struct airlock_error *err)
{
	char text[48];
	int64_t seconds = 0;
	double ms = json_is_number(value) ? json_number_value(value) * 1000 : 0;
	if (json_is_string(value) && http_parse_seconds(json_string_value(value), &seconds) >= 0)
		ms = (double)seconds * 1000;
	if (!(ms >= 1 && ms < 1e12))
		return http_fail(err, AIRLOCK_ERR_INVALID, "timeout", "timeout must be a number of seconds");
	if (b->limits.timeout_ms && ms > (double)b->limits.timeout_ms)
		ms = (double)b->limits.timeout_ms;
	(void)snprintf(text, sizeof text, "%.0fms", ms);
	return airlock_settings_set(settings, "timeout", text, "timeout", err);
}

static int apply_arguments(struct airlock_settings *settings, json_t *arguments, const struct serve_sandbox *b,
			   struct airlock_error *err)
{
	const char *key;
	json_t *value;
	int rc = json_object_get(arguments, "command")
			 ? 0
			 : http_fail(err, AIRLOCK_ERR_INVALID, "command", "command must be a text");
	json_object_foreach(arguments, key, value)
	{
		if (rc < 0)
			return rc;
		const char *text = json_string_value(value);
		if (strcmp(key, "command") == 0)
			rc = text && strlen(text) == json_string_length(value)
				     ? airlock_settings_set_command(settings, text, err)
				     : http_fail(err, AIRLOCK_ERR_INVALID, key, "command must be a text");
		else if (strcmp(key, "working_dir") == 0 && !json_is_null(value))
			rc = text ? airlock_settings_set(settings, "working-dir", text, key, err)
				  : http_fail(err, AIRLOCK_ERR_INVALID, key, "working_dir must be a text");
		else if (strcmp(key, "timeout") == 0 && !json_is_null(value))
			rc = set_timeout(settings, value, b, err);
		else if (!json_is_null(value))
			rc = http_fail(err, AIRLOCK_ERR_INVALID, key,
				       "unknown key '%.64s'; expected one of: command, timeout, working_dir", key);
	}
	return rc;
}

static int prepare(struct serve_run *x, json_t *arguments, struct airlock_error *err)
{
	struct airlock_settings *settings = NULL;
	int rc = serve_settings(x->serve, x->token, x->sandbox, &settings, err);
	if (rc < 0)
		return rc;
	airlock_settings_explain_by_default(settings);
	rc = apply_arguments(settings, arguments, x->sandbox, err);
	if (rc >= 0)
		rc = airlock_job_prepare(settings, &x->job, err);
	if (rc >= 0) {
		answer(x->job);
		airlock_job_use_hold(x->job, x->sandbox->hold);
	}
	airlock_settings_free(settings);
	return rc;
}

static int start(struct serve_run *x, struct airlock_error *err)
{
	struct airlock_io io = {.stdin_fd = -1, .stdout_fd = -1, .stderr_fd = -1, .terminal_fd = -1};
	int rc = 0;
	for (int i = 0; x->is_streamed && i < 2 && rc >= 0; i++)
		rc = open_stream(x, i, err);
	io.stdout_fd = x->streams[OUT].write_fd;
	io.stderr_fd = x->streams[ERR].write_fd;
	if (rc >= 0)
		rc = airlock_run_start(x->job, x->is_streamed ? &io : NULL, &x->run, err);
	if (rc < 0)
		return rc;
	x->serve->n_running++;
	x->sandbox->commands++;
	x->watch = (struct http_watch){.fd = airlock_run_fd(x->run), .events = POLLIN, .ready = dispatch, .data = x};
	http_loop_add(x->serve->loop, &x->watch);
	return 0;
}

static bool wants_events(const struct http_request *r)
{
	const char *accept = http_header(r, "Accept");
	return accept && strstr(accept, "text/event-stream");
}

/* True: refused, and replied. */
static bool is_out_of_quota(struct http_request *r, struct serve *s, const struct serve_token *token,
			    struct serve_sandbox *b)
{
	if (s->n_running >= SERVE_COMMANDS_MAX) {
		s->metrics.quota_hits[SERVE_QUOTA_COMMANDS]++;
		http_add_header(r, "Retry-After", "1");
		http_reply_error(r, 503, "busy", "%d commands are running already", SERVE_COMMANDS_MAX);
		return true;
	}
	if (serve_disk_left(s, token, b) == 0) {
		s->metrics.quota_hits[SERVE_QUOTA_DISK]++;
		http_reply_error(r, 507, "limit", "the sandbox uses all the disk that it may: delete files first");
		return true;
	}
	return false;
}

void serve_execute(struct http_request *r, struct serve_sandbox *b, json_t *arguments, bool simple)
{
	struct serve *s = http_data(r);
	struct airlock_error err = {0};
	const struct serve_token *token = serve_token_of(r);
	b->is_measured = b->limits.disk > 0 || token->disk >= 0;
	if (is_out_of_quota(r, s, token, b))
		return;
	struct serve_run *x = calloc(1, sizeof *x);
	if (!x) {
		http_reply_error(r, 503, "internal", "out of memory");
		return;
	}
	*x = (struct serve_run){.serve = s,
				.next = s->runs,
				.request = r,
				.sandbox = b,
				.token = token,
				.begun_ms = http_now_ms(),
				.is_simple = simple,
				.is_streamed = !simple && wants_events(r)};
	for (int i = 0; i < 2; i++)
		x->streams[i] = (struct serve_stream){.run = x, .watch.fd = -1, .write_fd = -1};
	s->runs = x;
	serve_enter(s, b);
	http_keep(r, x, release, gone);
	serve_wake(s, token, b);
	int rc = prepare(x, arguments, &err);
	if (rc >= 0)
		rc = start(x, &err);
	if (rc < 0) {
		s->metrics.runs_refused++;
		serve_audit(s, token, "execute", b->id, NULL, http_status_of(&err));
		http_reply_failure(r, &err);
	} else if (x->is_streamed) {
		http_add_header(r, "Cache-Control", "no-store");
		http_stream_start(r, 200, "text/event-stream", drained);
	}
}

static void execute(struct http_request *r)
{
	struct serve_sandbox *b = serve_refuses_work(r) ? NULL : serve_requested(r, http_param(r, 0));
	json_t *arguments = b ? http_body_json(r) : NULL;
	if (arguments)
		serve_execute(r, b, arguments, false);
	json_decref(arguments);
}

const struct http_route serve_execute_routes[] = {
	{"POST", "/v1/sandboxes/{}/execute", execute, 0, BODY_MAX},
	{0},
};
