/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* libmicrohttpd on our loop, and the life of a request.
 *
 * libmicrohttpd has an epoll descriptor of its own, which our loop watches like any other. It calls `take` for each request: once with
 * the header, then with pieces of the body, then when the body is complete. A handler that has not replied by then leaves the
 * connection suspended: libmicrohttpd forgets it until http_request_resume, after which it calls `take` again and gets the reply. It does
 * not see either when the client of a suspended connection hangs up, so we look at the socket ourselves.
 *
 * Memory is bounded: a header by HEADER_MAX, a body by its route's limit, the queue of a streamed reply by whoever fills it. */
#include "http_request.h"

#include "http_guard.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define HEADER_MAX (32 * 1024)	       /* of one request, and of what is read at once */
#define SWALLOW_MAX ((size_t)16 << 20) /* what is read of a body that was refused, so that the client sees why */
#define BODY_SECONDS 60		       /* for a body that is kept in memory */
#define BACKLOG 1024
#define RUNS_AT_ONCE 16 /* then it is everybody else's turn */

static int64_t now_us(void)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int fail(struct airlock_error *err, int code, const char *subject, const char *message)
{
	*err = (struct airlock_error){.code = code};
	(void)snprintf(err->subject, sizeof err->subject, "%s", subject);
	(void)snprintf(err->message, sizeof err->message, "%s: %s", subject, message);
	return code;
}

/* ── Suspending ── */

static void hung_up(void *data, short revents)
{
	struct http_request *r = data;
	(void)revents;
	http_loop_remove(r->server->loop, &r->hangup);
	if (r->gone)
		r->gone(r);
}

void http_request_suspend(struct http_request *r)
{
	if (r->is_suspended)
		return;
	r->is_suspended = true;
	MHD_suspend_connection(r->connection);
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(r->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	r->hangup = (struct http_watch){
		.fd = info ? info->connect_fd : -1, .events = POLLRDHUP, .ready = hung_up, .data = r};
	http_loop_add(r->server->loop, &r->hangup);
}

void http_request_resume(struct http_request *r)
{
	if (!r->is_suspended)
		return;
	http_loop_remove(r->server->loop, &r->hangup);
	r->is_suspended = false;
	r->server->has_resumed = true;
	MHD_resume_connection(r->connection);
}

/* ── The beginning of a request ── */

struct counted {
	const char *name;
	unsigned n;
};

static enum MHD_Result count_header(void *cls, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct counted *c = cls;
	(void)kind, (void)value;
	c->n += strcasecmp(name, c->name) == 0;
	return MHD_YES;
}

/* Two proxies that read such a request differently could be made to see two requests where there is one. */
static bool is_ambiguous(const struct http_request *r)
{
	static const char *const once[] = {"Host",	    "Content-Length", "Transfer-Encoding",
					   "Authorization", "Origin",	      NULL};
	for (const char *const *name = once; *name; name++) {
		struct counted c = {.name = *name};
		(void)MHD_get_connection_values(r->connection, MHD_HEADER_KIND, count_header, &c);
		if (c.n > 1)
			return true;
	}
	const char *coding = http_header(r, "Transfer-Encoding");
	return coding && (http_header(r, "Content-Length") || strcasecmp(coding, "chunked") != 0);
}

static bool is_from_elsewhere(const struct http_request *r)
{
	const struct http_server *s = r->server;
	const char *host = http_header(r, "Host");
	if (r->match.route && (r->match.route->flags & HTTP_ANY_HOST))
		return false;
	if (!s->is_any_host && !http_guard_host(host, s->port))
		return true;
	/* Behind a proxy that ends TLS, pages have https though we have not. */
	const char *origin = http_header(r, "Origin");
	return !http_guard_origin(origin, host, s->is_tls) &&
	       !(s->is_any_host && http_guard_origin(origin, host, !s->is_tls));
}

static size_t body_max(const struct http_request *r)
{
	return r->match.route->body_max ? r->match.route->body_max : HTTP_BODY_MAX;
}

/* Everything that can be refused before the body comes. */
static void judge(struct http_request *r)
{
	const struct http_route *route = r->match.route;
	if (is_ambiguous(r) || r->match.is_malformed) {
		r->is_ambiguous = true;
		http_add_header(r, "Connection", "close");
		http_reply_error(r, 400, "invalid", "the request is malformed");
	} else if (is_from_elsewhere(r)) {
		http_reply_error(r, 403, "blocked",
				 "this server does not answer requests that come by that name or from that page");
	} else if (route && (route->flags & HTTP_NO_TOKEN)) {
		;
	} else if (r->server->app->authenticate && !r->server->app->authenticate(r)) {
		;
	} else if (!route && r->match.is_path_known) {
		http_reply_error(r, 405, "invalid", "%.16s is not what this can do", r->method);
	} else if (!route) {
		http_reply_error(r, 404, "not_found", "there is nothing at this path");
	}
	if (r->response || !route || (route->flags & HTTP_UPLOAD))
		return;
	if (http_body_length(r) > (int64_t)body_max(r))
		http_reply_error(r, 413, "limit", "the body is longer than %zu bytes", body_max(r));
	r->body_by_ms = http_now_ms() + BODY_SECONDS * 1000;
}

static struct http_request *begin(struct http_server *s, struct MHD_Connection *connection, const char *path,
				  const char *method)
{
	struct http_request *r = calloc(1, sizeof *r);
	if (!r)
		return NULL;
	*r = (struct http_request){.server = s,
				   .connection = connection,
				   .path = path,
				   .method = method,
				   .begun_us = now_us(),
				   .next = s->requests,
				   .hangup.fd = -1};
	if (s->requests)
		s->requests->previous = r;
	s->requests = r;
	s->in_flight++;
	http_route_find(s->app->routes, method, path, &r->match);
	judge(r);
	return r;
}

/* ── The body ── */

static bool keep_body(struct http_request *r, const char *data, size_t len)
{
	if (r->body_len + len + 1 > r->body_size) {
		size_t wanted = r->body_size ? r->body_size : 4096;
		while (wanted < r->body_len + len + 1)
			wanted *= 2;
		char *grown = realloc(r->body, wanted);
		if (!grown)
			return false;
		r->body = grown;
		r->body_size = wanted;
	}
	memcpy(r->body + r->body_len, data, len);
	r->body_len += len;
	r->body[r->body_len] = '\0';
	return true;
}

/* False: the connection is to be closed. */
static bool take_body(struct http_request *r, const char *data, size_t len)
{
	if (r->response || !r->match.route) { /* refused; libmicrohttpd can send the reply only behind the body */
		r->swallowed += len;
		return r->swallowed <= SWALLOW_MAX;
	}
	if (r->match.route->flags & HTTP_UPLOAD) {
		r->match.route->body(r, data, len);
		return true;
	}
	if (r->body_len + len > body_max(r)) {
		http_reply_error(r, 413, "limit", "the body is longer than %zu bytes", body_max(r));
		return true;
	}
	if (http_now_ms() > r->body_by_ms)
		return false;
	if (!keep_body(r, data, len))
		http_reply_error(r, 503, "internal", "out of memory");
	return true;
}

static void body_is_complete(struct http_request *r)
{
	const struct http_route *route = r->match.route;
	if (r->is_handled || r->response)
		return;
	r->is_handled = true;
	r->progress = HTTP_HANDLING;
	if (route->flags & HTTP_UPLOAD)
		route->body(r, NULL, 0);
	else
		route->handle(r);
}

/* ── What libmicrohttpd calls ── */

static enum MHD_Result queue(struct http_request *r)
{
	r->progress = HTTP_SENDING;
	return MHD_queue_response(r->connection, r->status, r->response);
}

/* A refusal before the body closes the connection, and a client that is still sending may not see why. So a body that is not large is
 * read first, unless the client waits to be told whether to send it. */
static bool is_too_much_to_swallow(const struct http_request *r)
{
	int64_t length = http_body_length(r);
	return r->is_ambiguous || length > (int64_t)SWALLOW_MAX ||
	       (length != 0 && http_header(r, "Expect") && (length > 0 || http_header(r, "Transfer-Encoding")));
}

static enum MHD_Result take(void *cls, struct MHD_Connection *connection, const char *url, const char *method,
			    const char *version, const char *data, size_t *len, void **con_cls)
{
	struct http_request *r = *con_cls;
	(void)version;
	if (!r) {
		r = *con_cls = begin(cls, connection, url, method);
		if (!r)
			return MHD_NO;
		r->is_inside = true;
		if (!r->response && (r->match.route->flags & HTTP_UPLOAD))
			r->match.route->handle(r);
		r->is_inside = false;
		return r->response && is_too_much_to_swallow(r) ? queue(r) : MHD_YES;
	}
	if (*len > 0) {
		r->is_inside = true;
		bool goes_on = take_body(r, data, *len);
		r->is_inside = false;
		*len = 0;
		return goes_on ? MHD_YES : MHD_NO;
	}
	r->is_inside = true;
	body_is_complete(r);
	r->is_inside = false;
	if (r->response)
		return queue(r);
	http_request_suspend(r);
	return MHD_YES;
}

static void free_headers(struct http_header_line *h)
{
	while (h) {
		struct http_header_line *next = h->next;
		free(h->name);
		free(h->value);
		free(h);
		h = next;
	}
}

static void completed(void *cls, struct MHD_Connection *connection, void **con_cls,
		      enum MHD_RequestTerminationCode code)
{
	struct http_server *s = cls;
	struct http_request *r = *con_cls;
	(void)connection, (void)code;
	if (!r)
		return;
	*con_cls = NULL;
	if (s->app->finished)
		s->app->finished(r, r->match.route, r->response ? r->status : 0, now_us() - r->begun_us);
	http_loop_remove(s->loop, &r->hangup);
	if (r->release)
		r->release(r->state);
	if (r->next)
		r->next->previous = r->previous;
	if (r->previous)
		r->previous->next = r->next;
	else
		s->requests = r->next;
	s->in_flight--;
	if (r->response)
		MHD_destroy_response(r->response);
	for (size_t i = 0; i < r->match.n_params; i++)
		free(r->match.params[i]);
	free_headers(r->headers);
	free(r->body);
	free(r->out);
	free(r);
}

/* Paths are decoded by http_route.c: libmicrohttpd would cut them at a %00, and hide the slash of a %2F. */
static size_t do_not_unescape(void *cls, struct MHD_Connection *connection, char *text)
{
	(void)cls, (void)connection;
	return strlen(text);
}

static void run_daemon(void *data, short revents)
{
	struct http_server *s = data;
	(void)revents;
	(void)MHD_run(s->daemon);
}

/* Connections that were resumed are taken up here, which libmicrohttpd does not do by itself; then it says when one of the others has
 * waited too long. */
static int64_t before_poll(void *data)
{
	struct http_server *s = data;
	MHD_UNSIGNED_LONG_LONG ms = 0;
	bool has_wait = MHD_get_timeout(s->daemon, &ms) == MHD_YES;
	for (int i = 0; i < RUNS_AT_ONCE && (s->has_resumed || (has_wait && ms == 0)); i++) {
		s->has_resumed = false;
		(void)MHD_run(s->daemon);
		has_wait = MHD_get_timeout(s->daemon, &ms) == MHD_YES;
	}
	if (s->has_resumed)
		return 0;
	return !has_wait ? -1 : ms > INT32_MAX ? INT32_MAX : (int64_t)ms;
}

int http_server_start(struct http_loop *loop, const struct http_app *app, const struct http_options *options,
		      struct http_server **ret, struct airlock_error *err)
{
	struct http_server *s = calloc(1, sizeof *s);
	if (!s)
		return fail(err, AIRLOCK_ERR_INTERNAL, "http", "out of memory");
	s->loop = loop;
	s->app = app;
	s->is_any_host = options->is_any_host;
	s->is_tls = options->tls_cert != NULL;
	s->port = options->port;
	struct MHD_OptionItem tls[] = {{MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)options->tls_cert},
				       {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)options->tls_key},
				       {MHD_OPTION_END, 0, NULL}};
	unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | (s->is_tls ? (unsigned)MHD_USE_TLS : 0);
	s->daemon = MHD_start_daemon(
		flags, 0, NULL, NULL, take, s, MHD_OPTION_LISTEN_SOCKET, options->listen_fd,
		MHD_OPTION_NOTIFY_COMPLETED, completed, s, MHD_OPTION_UNESCAPE_CALLBACK, do_not_unescape, NULL,
		MHD_OPTION_CONNECTION_LIMIT, options->max_connections, MHD_OPTION_CONNECTION_TIMEOUT,
		options->idle_seconds, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADER_MAX,
		MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_ARRAY, s->is_tls ? tls : tls + 2, MHD_OPTION_END);
	const union MHD_DaemonInfo *info = s->daemon ? MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD) : NULL;
	if (!info) {
		(void)close(options->listen_fd);
		free(s);
		return fail(err, AIRLOCK_ERR_INVALID, "http",
			    options->tls_cert ? "cannot start; is the certificate right?" : "cannot start");
	}
	s->watch = (struct http_watch){.fd = info->epoll_fd, .events = POLLIN, .ready = run_daemon, .data = s};
	http_loop_add(loop, &s->watch);
	http_loop_set_before(loop, before_poll, s);
	*ret = s;
	return 0;
}

void http_server_close_door(struct http_server *s)
{
	if (s->is_door_closed)
		return;
	s->is_door_closed = true;
	int fd = MHD_quiesce_daemon(s->daemon);
	if (fd >= 0)
		(void)close(fd);
}

size_t http_server_in_flight(const struct http_server *s)
{
	return s->in_flight;
}

unsigned http_server_connections(const struct http_server *s)
{
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
	return info ? info->num_connections : 0;
}

void http_server_stop(struct http_server *s)
{
	if (!s)
		return;
	for (struct http_request *r = s->requests; r; r = r->next)
		http_request_resume(r);
	http_loop_remove(s->loop, &s->watch);
	http_loop_set_before(s->loop, NULL, NULL);
	MHD_stop_daemon(s->daemon);
	free(s);
}

/* ── The listening socket ── */

static bool is_loopback(const struct sockaddr *sa)
{
	if (sa->sa_family == AF_INET)
		return (ntohl(((const struct sockaddr_in *)(const void *)sa)->sin_addr.s_addr) >> 24) == 127;
	return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)sa)->sin6_addr);
}

static int open_socket(const struct addrinfo *a)
{
	int one = 1, fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (bind(fd, a->ai_addr, a->ai_addrlen) < 0 || listen(fd, BACKLOG) < 0) {
		int saved = errno;
		(void)close(fd);
		return -saved;
	}
	return fd;
}

static unsigned port_of(int fd)
{
	struct sockaddr_in6 sa = {0};
	socklen_t len = sizeof sa;
	(void)getsockname(fd, (struct sockaddr *)(void *)&sa, &len);
	return ntohs(sa.sin6_port); /* at the same place in both families */
}

int http_listen(const char *address, int *ret_fd, unsigned *ret_port, bool *ret_is_loopback, struct airlock_error *err)
{
	char host[256];
	const char *colon = strrchr(address, ':');
	size_t len = colon ? (size_t)(colon - address) : 0;
	bool is_bracketed = len >= 2 && address[0] == '[' && address[len - 1] == ']';
	bool is_port = colon && colon[1] && strlen(colon + 1) <= 5 &&
		       strspn(colon + 1, "0123456789") == strlen(colon + 1) &&
		       strtoul(colon + 1, NULL, 10) <= 65535; /* getaddrinfo takes 99999, too */
	if (!is_port || len == 0 || len >= sizeof host || (!is_bracketed && memchr(address, ':', len)))
		return fail(err, AIRLOCK_ERR_USAGE, address, "expected ADDRESS:PORT");
	(void)snprintf(host, sizeof host, "%.*s", (int)(is_bracketed ? len - 2 : len), address + is_bracketed);
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV | AI_PASSIVE}, *found = NULL;
	if (strcmp(host, "localhost") != 0)
		hints.ai_flags |= AI_NUMERICHOST;
	else
		hints.ai_family = AF_INET;
	if (getaddrinfo(host, colon + 1, &hints, &found) != 0)
		return fail(err, AIRLOCK_ERR_USAGE, address, "expected a numeric address and a port");
	int fd = open_socket(found);
	*ret_is_loopback = is_loopback(found->ai_addr);
	freeaddrinfo(found);
	if (fd < 0)
		return fail(err, AIRLOCK_ERR_IO, address, strerror(-fd));
	*ret_fd = fd;
	*ret_port = port_of(fd);
	return 0;
}
