/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One line ↔ one JSON-RPC 2.0 message, as MCP narrows it: no batches, ids are strings or integers, params an object. */
#pragma once

#include <jansson.h>
#include <stddef.h>

enum rpc_code {
	RPC_PARSE_ERROR = -32700,
	RPC_INVALID_REQUEST = -32600,
	RPC_METHOD_NOT_FOUND = -32601,
	RPC_INVALID_PARAMS = -32602,
	RPC_INTERNAL_ERROR = -32603,
	RPC_MISSING_CAPABILITY = -32021,  /* 2026-07-28 */
	RPC_UNSUPPORTED_VERSION = -32022, /* 2026-07-28 */
};

#define RPC_DEPTH_MAX 64
#define RPC_STRING_MAX ((size_t)12 << 20)

enum rpc_kind { RPC_INVALID, RPC_REQUEST, RPC_NOTIFICATION, RPC_RESPONSE };

struct rpc_message {
	enum rpc_kind kind;
	json_t *root;	    /* owns everything below; NULL when the line could not be read */
	json_t *id;	    /* NULL if there is none, or none that can be answered */
	const char *method; /* of requests and notifications */
	json_t *params;	    /* an object, or NULL */
	json_t *result;	    /* of responses; NULL for an error */
	int code;	    /* of invalid ones: what is wrong with it */
	const char *why;
};

/* Never fails: the message says what is wrong with the line. */
struct rpc_message rpc_read(const char *line, size_t len);
void rpc_done(struct rpc_message *m);

/* New references; NULL: out of memory. Steals result, error data and params. */
json_t *rpc_result(json_t *id, json_t *result);
json_t *rpc_error(json_t *id, int code, const char *message, json_t *data);
json_t *rpc_request(json_t *id, const char *method, json_t *params); /* id NULL: a notification */
