/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shared by http_server.c and http_reply.c. */
#pragma once

#include "http.h"

#include <microhttpd.h>

struct http_server {
	struct http_loop *loop;
	const struct http_app *app;
	struct MHD_Daemon *daemon;
	struct http_watch watch; /* the daemon's epoll descriptor */
	bool is_any_host, is_tls, is_door_closed;
	bool has_resumed; /* a connection waits for libmicrohttpd to look at it */
	unsigned port;
	size_t in_flight;
	struct http_request *requests;
};

struct http_header_line {
	char *name, *value;
	struct http_header_line *next;
};

enum http_progress {
	HTTP_RECEIVING, /* the body comes */
	HTTP_HANDLING,	/* the handler has it */
	HTTP_SENDING,	/* the reply is libmicrohttpd's */
};

struct http_request {
	struct http_server *server;
	struct http_request *next, *previous;
	struct MHD_Connection *connection;
	const char *method, *path; /* libmicrohttpd's */
	struct http_match match;
	enum http_progress progress;
	bool is_handled;   /* the handler was called */
	bool is_suspended; /* libmicrohttpd does not look at the connection */
	bool is_inside;	   /* libmicrohttpd has called us about this request and looks at the reply when we return */
	bool is_ambiguous; /* where its body ends depends on who reads it */
	char *body;
	size_t body_len, body_size, swallowed;
	int64_t begun_us;
	int64_t body_by_ms; /* the whole body must be there by then; 0: no limit */
	void *identity;
	void *state;
	void (*release)(void *state);
	void (*gone)(struct http_request *r);
	struct http_watch hangup;
	/* The reply. */
	struct MHD_Response *response;
	unsigned status;
	struct http_header_line *headers;
	bool is_stream, is_stream_over;
	void (*drained)(struct http_request *r);
	char *out;
	size_t out_start, out_end, out_size;
};

/* http_server.c: libmicrohttpd leaves the connection alone, or may go on with it. */
void http_request_suspend(struct http_request *r);
void http_request_resume(struct http_request *r);
