/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A server of HTTP/1.1 on the loop: libmicrohttpd below, tables of routes above.
 *
 *   static void hello(struct http_request *r)
 *   {
 *           http_reply_json(r, 200, json_pack("{s:s}", "hello", http_param(r, 0)));
 *   }
 *   static const struct http_route routes[] = {{"GET", "/hello/{}", hello}, {0}};
 *   static const struct http_route *const tables[] = {routes, NULL};
 *   const struct http_app app = {.routes = tables, .authenticate = check_token};
 *   http_server_start(loop, &app, &options, &server, &err);
 *
 * One thread. A handler never waits: it replies, or it keeps its state with http_keep, returns, and replies from a callback of the
 * loop. Every request is replied to exactly once; a second reply is ignored. r is valid until `release` of http_keep was called.
 * Before a handler is called the Host and Origin headers and the token were checked, and the body is within its limit. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <airlock/airlock.h>

#include "http_loop.h"
#include "http_route.h"

#define HTTP_BODY_MAX ((size_t)1 << 20) /* of routes that do not say otherwise */

struct http_server;
struct http_request;

struct http_app {
	const struct http_route *const *routes; /* ends with NULL */
	/* Finds out who sent the request. True: it called http_set_identity, and the request goes on. False: it has replied, with
	 * 401 or 429. Not called for HTTP_NO_TOKEN. */
	bool (*authenticate)(struct http_request *r);
	/* Sees every reply, for counting; may be NULL. route is NULL when none matched. */
	void (*finished)(struct http_request *r, const struct http_route *route, unsigned status, int64_t duration_us);
	/* "Name: value" for every reply; ends with NULL; may be NULL. */
	const char *const *headers;
	void *data;
};

struct http_options {
	int listen_fd;			/* the server's from here on */
	const char *tls_cert, *tls_key; /* PEM text; NULL: no TLS */
	bool is_any_host;		/* the Host header is a proxy's business, or unknown */
	unsigned port;			/* for the check of Host and Origin */
	unsigned max_connections;
	unsigned idle_seconds; /* a connection on which nothing moves for so long is closed */
};

int http_server_start(struct http_loop *loop, const struct http_app *app, const struct http_options *options,
		      struct http_server **ret, struct airlock_error *err);
/* No new connections; those that are there go on. */
void http_server_close_door(struct http_server *s);
size_t http_server_in_flight(const struct http_server *s); /* requests that have no reply yet, or are being sent one */
unsigned http_server_connections(const struct http_server *s);
/* Ends every connection; requests are released. */
void http_server_stop(struct http_server *s);

/* ADDR:PORT, [ADDR]:PORT → a listening socket; port 0: any free one, *ret_port says which. *ret_is_loopback: nobody on another
 * machine can connect. */
int http_listen(const char *address, int *ret_fd, unsigned *ret_port, bool *ret_is_loopback, struct airlock_error *err);

/* ── The request ── */

void *http_data(const struct http_request *r); /* of the app */
struct http_loop *http_loop_of(const struct http_request *r);
struct http_server *http_server_of(const struct http_request *r);
const char *http_method(const struct http_request *r);
const char *http_path(const struct http_request *r);		/* as it came, %-escapes and all, without the query */
const char *http_param(const struct http_request *r, size_t i); /* what stands for the i-th {} of the pattern */
const char *http_header(const struct http_request *r, const char *name); /* NULL: none */
/* "" when it has no value; NULL: not there, or malformed. The caller's to free. */
char *http_query(const struct http_request *r, const char *name);
char *http_cookie(const struct http_request *r, const char *name);    /* NULL: none. The caller's to free */
const char *http_body(const struct http_request *r, size_t *ret_len); /* followed by a NUL; never NULL */
/* The body as an object. NULL: it is none, and the reply 400 was sent. An empty body is an empty object. */
json_t *http_body_json(struct http_request *r);
/* -1: the client did not say (chunked), or there is none. */
int64_t http_body_length(const struct http_request *r);
bool http_is_tls(const struct http_request *r);
void http_set_identity(struct http_request *r, void *identity);
void *http_identity(const struct http_request *r);

/* State of the handler, until the reply is sent or the client has gone. gone (may be NULL): the client hung up while it waited
 * for the reply; the handler stops its work, and replies all the same. */
void http_keep(struct http_request *r, void *state, void (*release)(void *state), void (*gone)(struct http_request *r));
void *http_state(const struct http_request *r);

/* A body of multipart/form-data as it comes. part gets pieces of each part in turn; file is NULL for a part that is no file. */
struct http_form;
typedef void http_form_part(struct http_request *r, const char *name, const char *file, const void *data, size_t len);
struct http_form *http_form_new(struct http_request *r, http_form_part *part); /* NULL: the request has no form */
bool http_form_feed(struct http_form *f, const void *data, size_t len);	       /* false: malformed */
void http_form_free(struct http_form *f);

/* ── Replies ── */

/* For the reply that comes; before it. Both are copied. */
void http_add_header(struct http_request *r, const char *name, const char *value);
bool http_has_reply(const struct http_request *r);
void http_reply_empty(struct http_request *r, unsigned status);
void http_reply_json(struct http_request *r, unsigned status, json_t *body /* stolen; NULL: out of memory */);
void http_reply_bytes(struct http_request *r, unsigned status, const char *type, const void *bytes,
		      size_t len); /* copied */
/* Takes fd. */
void http_reply_file(struct http_request *r, unsigned status, const char *type, int fd, uint64_t offset, uint64_t size);
/* {"error": {"code", "message"}}. code: a word of the table of errors, see status_of in http_reply.c. */
void http_reply_error(struct http_request *r, unsigned status, const char *code, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* The same with everything the library says, and the status that goes with its code. */
void http_reply_failure(struct http_request *r, const struct airlock_error *err);
unsigned http_status_of(const struct airlock_error *err);

/* A reply that comes piece by piece. drained (may be NULL): all that was sent so far has left; more may be sent.
 * http_stream_size: bytes that wait for a slow client: whoever makes more than that client reads must wait, too. */
void http_stream_start(struct http_request *r, unsigned status, const char *type,
		       void (*drained)(struct http_request *r));
void http_stream_send(struct http_request *r, const void *bytes, size_t len);
size_t http_stream_size(const struct http_request *r);
void http_stream_end(struct http_request *r);
/* One event of text/event-stream; data may have several lines. */
void http_stream_event(struct http_request *r, const char *event, const char *data, size_t len);
