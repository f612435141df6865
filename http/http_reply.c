/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The functions with which handlers read a request and reply to it. */
#include "http_request.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ── Asking ── */

void *http_data(const struct http_request *r)
{
	return r->server->app->data;
}

struct http_loop *http_loop_of(const struct http_request *r)
{
	return r->server->loop;
}

struct http_server *http_server_of(const struct http_request *r)
{
	return r->server;
}

const char *http_method(const struct http_request *r)
{
	return r->method;
}

const char *http_path(const struct http_request *r)
{
	return r->path;
}

const char *http_param(const struct http_request *r, size_t i)
{
	return i < r->match.n_params ? r->match.params[i] : "";
}

const char *http_header(const struct http_request *r, const char *name)
{
	return MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, name);
}

char *http_query(const struct http_request *r, const char *name)
{
	const char *value = NULL;
	size_t len = 0;
	if (MHD_lookup_connection_value_n(r->connection, MHD_GET_ARGUMENT_KIND, name, strlen(name), &value, &len) !=
	    MHD_YES)
		return NULL;
	return http_decode(value ? value : "", value ? len : 0);
}

char *http_cookie(const struct http_request *r, const char *name)
{
	const char *value = MHD_lookup_connection_value(r->connection, MHD_COOKIE_KIND, name);
	return value ? strdup(value) : NULL;
}

const char *http_body(const struct http_request *r, size_t *ret_len)
{
	if (ret_len)
		*ret_len = r->body_len;
	return r->body ? r->body : "";
}

json_t *http_body_json(struct http_request *r)
{
	json_error_t error;
	if (r->body_len == 0)
		return json_object();
	json_t *body = json_loadb(r->body, r->body_len, JSON_REJECT_DUPLICATES, &error);
	if (json_is_object(body))
		return body;
	json_decref(body);
	http_reply_error(r, 400, "invalid", "the body is not a JSON object");
	return NULL;
}

int64_t http_body_length(const struct http_request *r)
{
	const char *text = http_header(r, "Content-Length");
	char *end = NULL;
	errno = 0;
	long long n = text ? strtoll(text, &end, 10) : -1;
	return text && (errno || end == text || *end || n < 0) ? INT64_MAX : (int64_t)n;
}

bool http_is_tls(const struct http_request *r)
{
	return r->server->is_tls;
}

void http_set_identity(struct http_request *r, void *identity)
{
	r->identity = identity;
}

void *http_identity(const struct http_request *r)
{
	return r->identity;
}

void http_keep(struct http_request *r, void *state, void (*release)(void *state), void (*gone)(struct http_request *r))
{
	r->state = state;
	r->release = release;
	r->gone = gone;
}

void *http_state(const struct http_request *r)
{
	return r->state;
}

struct http_form {
	struct http_request *request;
	struct MHD_PostProcessor *reader;
	http_form_part *part;
};

static enum MHD_Result take_part(void *cls, enum MHD_ValueKind kind, const char *key, const char *file,
				 const char *type, const char *encoding, const char *data, uint64_t offset, size_t len)
{
	struct http_form *f = cls;
	(void)kind, (void)type, (void)encoding, (void)offset;
	f->part(f->request, key ? key : "", file, data, len);
	return MHD_YES;
}

struct http_form *http_form_new(struct http_request *r, http_form_part *part)
{
	struct http_form *f = calloc(1, sizeof *f);
	if (!f)
		return NULL;
	*f = (struct http_form){.request = r, .part = part};
	f->reader = MHD_create_post_processor(r->connection, 16384, take_part, f);
	if (f->reader)
		return f;
	free(f);
	return NULL;
}

bool http_form_feed(struct http_form *f, const void *data, size_t len)
{
	return MHD_post_process(f->reader, data, len) == MHD_YES;
}

void http_form_free(struct http_form *f)
{
	if (f)
		(void)MHD_destroy_post_processor(f->reader);
	free(f);
}

/* ── Replying ── */

void http_add_header(struct http_request *r, const char *name, const char *value)
{
	struct http_header_line *h = calloc(1, sizeof *h);
	if (!h)
		return;
	*h = (struct http_header_line){.name = strdup(name), .value = strdup(value), .next = r->headers};
	r->headers = h;
}

bool http_has_reply(const struct http_request *r)
{
	return r->response != NULL;
}

static void add_common(const struct http_request *r, struct MHD_Response *response)
{
	for (const char *const *line = r->server->app->headers; line && *line; line++) {
		char name[64];
		size_t len = strcspn(*line, ":");
		(void)snprintf(name, sizeof name, "%.*s", (int)len, *line);
		(void)MHD_add_response_header(response, name, *line + len + 2);
	}
	for (const struct http_header_line *h = r->headers; h; h = h->next)
		if (h->name && h->value)
			(void)MHD_add_response_header(response, h->name, h->value);
}

/* Gives the reply to libmicrohttpd, which takes it when our callback returns, or when it looks at the connection again. */
static void reply(struct http_request *r, unsigned status, const char *type, struct MHD_Response *response)
{
	if (r->response || !response) {
		if (response)
			MHD_destroy_response(response);
		return;
	}
	if (type)
		(void)MHD_add_response_header(response, "Content-Type", type);
	add_common(r, response);
	r->response = response;
	r->status = status;
	if (!r->is_inside)
		http_request_resume(r);
}

void http_reply_empty(struct http_request *r, unsigned status)
{
	reply(r, status, NULL, MHD_create_response_from_buffer(0, (void *)"", MHD_RESPMEM_PERSISTENT));
}

void http_reply_bytes(struct http_request *r, unsigned status, const char *type, const void *bytes, size_t len)
{
	reply(r, status, type, MHD_create_response_from_buffer(len, (void *)bytes, MHD_RESPMEM_MUST_COPY));
}

void http_reply_json(struct http_request *r, unsigned status, json_t *body)
{
	char *text = body ? json_dumps(body, JSON_COMPACT | JSON_REAL_PRECISION(12)) : NULL;
	json_decref(body);
	if (text)
		reply(r, status, "application/json",
		      MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE));
	else
		http_reply_error(r, 503, "internal", "out of memory");
}

void http_reply_file(struct http_request *r, unsigned status, const char *type, int fd, uint64_t offset, uint64_t size)
{
	struct MHD_Response *response = MHD_create_response_from_fd_at_offset64(size, fd, offset);
	if (!response)
		(void)close(fd);
	reply(r, status, type, response);
}

unsigned http_status_of(const struct airlock_error *err)
{
	switch (err->code) {
	case AIRLOCK_ERR_USAGE:
	case AIRLOCK_ERR_INVALID:
		return 400;
	case AIRLOCK_ERR_BLOCKED:
	case AIRLOCK_ERR_DENIED:
		return 403;
	case AIRLOCK_ERR_NOT_FOUND:
		return 404;
	case AIRLOCK_ERR_CONFLICT:
		return 409;
	case AIRLOCK_ERR_LIMIT:
		return 413;
	default:
		return err->errnum == ENOSPC || err->errnum == EDQUOT ? 507 : 503;
	}
}

void http_reply_error(struct http_request *r, unsigned status, const char *code, const char *format, ...)
{
	char message[1024];
	va_list args;
	va_start(args, format);
	(void)vsnprintf(message, sizeof message, format, args);
	va_end(args);
	char *text = airlock_text_json(message, strlen(message)), *body = NULL;
	if (!text || asprintf(&body, "{\"error\":{\"code\":\"%s\",\"message\":%s}}", code, text) < 0)
		body = strdup("{\"error\":{\"code\":\"internal\",\"message\":\"out of memory\"}}");
	airlock_free(text);
	reply(r, status, "application/json",
	      body ? MHD_create_response_from_buffer(strlen(body), body, MHD_RESPMEM_MUST_FREE) : NULL);
}

void http_reply_failure(struct http_request *r, const struct airlock_error *err)
{
	char *text = airlock_error_json(err);
	if (text)
		http_reply_bytes(r, http_status_of(err), "application/json", text, strlen(text));
	else
		http_reply_error(r, 503, "internal", "out of memory");
	airlock_free(text);
}

/* ── Piece by piece ── */

static ssize_t next_piece(void *cls, uint64_t position, char *buffer, size_t max)
{
	struct http_request *r = cls;
	size_t have = r->out_end - r->out_start, n = have < max ? have : max;
	(void)position;
	if (n == 0 && r->is_stream_over)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (n == 0) {
		http_request_suspend(r);
		return 0;
	}
	memcpy(buffer, r->out + r->out_start, n);
	r->out_start += n;
	if (r->out_start == r->out_end) {
		r->out_start = r->out_end = 0;
		if (r->drained && !r->is_stream_over)
			r->drained(r);
	}
	return (ssize_t)n;
}

void http_stream_start(struct http_request *r, unsigned status, const char *type,
		       void (*drained)(struct http_request *r))
{
	if (r->response)
		return;
	r->is_stream = true;
	r->drained = drained;
	reply(r, status, type, MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 16384, next_piece, r, NULL));
}

void http_stream_send(struct http_request *r, const void *bytes, size_t len)
{
	if (!r->is_stream || r->is_stream_over || len == 0)
		return;
	if (r->out_start > 0 && r->out_size - r->out_end < len) {
		memmove(r->out, r->out + r->out_start, r->out_end - r->out_start);
		r->out_end -= r->out_start;
		r->out_start = 0;
	}
	if (r->out_size - r->out_end < len) {
		size_t wanted = r->out_size ? r->out_size : 4096;
		while (wanted - r->out_end < len)
			wanted *= 2;
		char *grown = realloc(r->out, wanted);
		if (!grown) {
			r->is_stream_over = true; /* a reply that ends too early is better than one with a hole */
			http_request_resume(r);
			return;
		}
		r->out = grown;
		r->out_size = wanted;
	}
	memcpy(r->out + r->out_end, bytes, len);
	r->out_end += len;
	http_request_resume(r);
}

size_t http_stream_size(const struct http_request *r)
{
	return r->out_end - r->out_start;
}

void http_stream_end(struct http_request *r)
{
	if (!r->is_stream || r->is_stream_over)
		return;
	r->is_stream_over = true;
	http_request_resume(r);
}

void http_stream_event(struct http_request *r, const char *event, const char *data, size_t len)
{
	http_stream_send(r, "event: ", 7);
	http_stream_send(r, event, strlen(event));
	for (size_t at = 0; at <= len;) {
		const char *newline = memchr(data + at, '\n', len - at);
		size_t n = newline ? (size_t)(newline - data) - at : len - at;
		http_stream_send(r, "\ndata: ", 7);
		http_stream_send(r, data + at, n);
		at += n + 1;
	}
	http_stream_send(r, "\n\n", 2);
}
