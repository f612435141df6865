/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From a method and a path to a handler. Pure.
 *
 * A pattern is a path whose segments are words, "{}" (one segment, decoded) or at its end "{*}" (the rest, decoded; may be empty):
 *
 *   "/v1/sandboxes/{}/files/{*}"
 *
 * A path is compared as it came, with its %-escapes: what a %2F stands for never separates segments. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define HTTP_PARAMS_MAX 4

struct http_request;

enum http_route_flags {
	HTTP_NO_TOKEN = 1 << 0, /* anybody may ask */
	HTTP_ANY_HOST = 1 << 1, /* whatever its Host header says: tells nothing that is worth stealing */
	HTTP_UPLOAD = 1 << 2,	/* the body goes to `body` as it comes, and is not kept */
};

struct http_route {
	const char *method; /* "GET" also gets HEAD */
	const char *pattern;
	/* Called once: when the whole body is there, or with HTTP_UPLOAD before it. It replies, or keeps what it waits for
	 * (http_keep) and returns; the reply can come later. */
	void (*handle)(struct http_request *r);
	unsigned flags;
	size_t body_max; /* longer ones get 413; 0: HTTP_BODY_MAX */
	/* Gets the body of an HTTP_UPLOAD piece by piece; len 0 is its end. Not called after the reply. */
	void (*body)(struct http_request *r, const void *data, size_t len);
};

struct http_match {
	const struct http_route *route; /* NULL: no such path, or not with this method */
	bool is_path_known;		/* another method would do */
	char *params[HTTP_PARAMS_MAX];	/* decoded; the caller's to free */
	size_t n_params;
	bool is_malformed; /* an escape that is none, or that stands for NUL */
};

/* tables ends with NULL, each table with a route without method. */
void http_route_find(const struct http_route *const *tables, const char *method, const char *path,
		     struct http_match *ret);
/* "a%20b" as "a b"; NULL: malformed or out of memory. The caller's. */
char *http_decode(const char *text, size_t len);
