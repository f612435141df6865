/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The protocol, without anything of airlock: a loop that reads requests, keeps those in flight, and answers them.
 *
 *   static const struct mcp_tool tools[] = {{.name = "echo", …, .call = echo}, {0}};
 *   const struct mcp_spec spec = {.name = "example", .version = "1", .tools = tools};
 *   mcp_serve(&spec, STDIN_FILENO, STDOUT_FILENO);
 *
 *   static void echo(struct mcp_request *r, json_t *arguments)
 *   {
 *           mcp_reply(r, mcp_tool_text("…", NULL, false));        now, or from a callback later
 *   }
 *
 * A handler never waits. It answers, or says what it waits for (mcp_wait, mcp_ask) and returns. Both eras of the protocol
 * look the same to it: 2025-06-18 and 2025-11-25 begin with `initialize`; a request of 2026-07-28 says so in its _meta.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "rpc.h"

enum mcp_era { MCP_LEGACY = 1, MCP_MODERN = 2, MCP_BOTH = 3 };

struct mcp_server;
struct mcp_request;

struct mcp_tool {
	const char *name, *title, *description;
	const char *input_schema;  /* JSON; arguments are held against it before the call */
	const char *output_schema; /* JSON, or NULL */
	bool is_read_only, is_destructive, is_idempotent, is_open_world;
	void (*call)(struct mcp_request *r, json_t *arguments); /* arguments: borrowed for the time of the call */
};

typedef void mcp_handler(struct mcp_request *r, json_t *params); /* params: borrowed; an object, may be empty */

struct mcp_method {
	const char *name;
	enum mcp_era eras;
	mcp_handler *handle;
	int64_t cache_ms; /* 2026-07-28: how long its result may be kept; -1: no such field */
};

/* Work for when nobody wants anything. It must not take long: a request may come meanwhile. */
struct mcp_idle {
	int64_t after_ms; /* how long nothing was in flight and nothing came */
	/* Both return after how long a quiet time, counted from its beginning, work is to be called next; -1: not in this one. */
	int64_t (*work)(void *data, int64_t quiet_ms);
	int64_t (*news)(void *data, int64_t quiet_ms); /* fd can be read */
	int (*fd)(void *data);			       /* -1: none */
};

struct mcp_spec {
	const char *name, *title, *version, *instructions;
	const char *capabilities;	  /* JSON object, besides "tools" */
	const struct mcp_tool *tools;	  /* ends with name == NULL */
	const struct mcp_method *methods; /* besides the protocol's own; ends with name == NULL; may be NULL */
	const struct mcp_idle *idle;	  /* may be NULL */
	void *data;
};

/* Until end of input, SIGTERM, SIGINT or SIGHUP. Then everything in flight is cancelled and waited for.
 * 0, or -errno when it could not begin. */
int mcp_serve(const struct mcp_spec *spec, int in_fd, int out_fd);

/* ── Requests ── */

void *mcp_data(const struct mcp_request *r); /* of the spec */
enum mcp_era mcp_era(const struct mcp_request *r);
/* The revision it is served by: "2025-06-18", "2025-11-25" or "2026-07-28". */
const char *mcp_revision(const struct mcp_request *r);
/* What the client calls itself, "" when it does not say. Not inert. */
const char *mcp_client_name(const struct mcp_request *r);
/* Did the client say that it can do this? For elicitation: by a form. */
bool mcp_client_can(const struct mcp_request *r, const char *capability);

/* Each request is answered once, by one of these; what is in result or data is theirs. */
void mcp_reply(struct mcp_request *r, json_t *result);
void mcp_fail(struct mcp_request *r, int code, json_t *data, const char *message);
void mcp_notify(struct mcp_request *r, const char *method, json_t *params);
/* Nothing when the client did not ask for progress. It must grow. */
void mcp_progress(struct mcp_request *r, double progress, const char *message);
bool mcp_wants_progress(const struct mcp_request *r);

/* Call ready when fd can be read (-1: no fd) or the time has come (mcp_now_ms, 0: never). Holds until changed. */
void mcp_wait(struct mcp_request *r, int fd, int64_t wake_ms, void (*ready)(struct mcp_request *r));
int64_t mcp_wake_ms(const struct mcp_request *r);
int64_t mcp_now_ms(void);

/* What the handler keeps. cancel: the client wants no answer any more, or the server ends; it stops the work, goes on
 * waiting until it has stopped, then calls mcp_drop. Without cancel the request is dropped at once. */
void mcp_keep(struct mcp_request *r, void *state, void (*release)(void *state), void (*cancel)(struct mcp_request *r));
void *mcp_state(const struct mcp_request *r);
void mcp_drop(struct mcp_request *r); /* over without an answer */

/* Asks the client. requests: {"key": {"method": "elicitation/create", "params": {…}}}, the caller must have looked whether
 * the client can. answered gets {"key": result}, null where the client failed to answer; both borrowed.
 * In 2026-07-28 the request ends here, and answered is called when the client comes back with the very same request. */
typedef void mcp_answered(struct mcp_request *r, json_t *answers);
void mcp_ask(struct mcp_request *r, json_t *requests, mcp_answered *answered);

/* ── Results ── */

/* Bytes that may not be UTF-8, as a JSON string. */
json_t *mcp_string(const char *s);
/* A tool's result: text for the model, the same as data (stolen, may be NULL). */
json_t *mcp_tool_text(const char *text, json_t *structured, bool is_error);
