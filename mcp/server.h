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
	const char *input_schema;  /* JSON; arguments are checked against it before the call */
	const char *output_schema; /* JSON, or NULL */
	bool is_read_only, is_destructive, is_idempotent, is_open_world;
	void (*call)(struct mcp_request *r, json_t *arguments); /* arguments: borrowed during the call */
};

typedef void mcp_handler(struct mcp_request *r, json_t *params); /* params: borrowed; an object, may be empty */

struct mcp_method {
	const char *name;
	enum mcp_era eras;
	mcp_handler *handle;
	int64_t cache_ms; /* 2026-07-28: how long its result may be cached; -1: no such field */
};

/* Work for idle times. It must be short: a request may come at any moment. */
struct mcp_idle {
	int64_t after_ms; /* how long nothing was in flight and nothing came */
	/* Both return when to call work next, counted from the beginning of the idle time; -1: not in this one. */
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
	const char *
		every_tool; /* JSON: properties that tools/list shows with every tool, and the transport takes away; may be NULL */
	void *data;
};

/* Runs until end of input, SIGTERM, SIGINT or SIGHUP. Then cancels everything in flight and waits for it. 0, or -errno
 * if it could not start. */
int mcp_serve(const struct mcp_spec *spec, int in_fd, int out_fd);

/* ── A program with a loop of its own, instead of mcp_serve ── */

/* origin: whatever the program gave with the message that a request came in. */
struct mcp_host {
	/* A message for the client. is_answer: the last of this origin. */
	void (*send)(void *data, void *origin, const char *text, size_t len, bool is_answer);
	/* Calls mcp_request_wake when fd is readable or at that time; replaces what was said before. -1 and 0: no more. *slot is the
	 * program's, NULL at first. */
	void (*wait)(void *data, struct mcp_request *r, void **slot, int fd, int64_t wake_ms);
	void (*over)(void *data, void *origin); /* the request has ended, with an answer or without */
	void *data;
};
/* spec and host: borrowed. NULL: out of memory. */
struct mcp_server *mcp_server_new(const struct mcp_spec *spec, const struct mcp_host *host);
/* One message. data: what mcp_data gives for this request instead of the spec's; NULL: the spec's. True: a request that goes on;
 * `over` will be called. */
bool mcp_server_take(struct mcp_server *s, const char *text, size_t len, void *origin, void *data);
void mcp_request_wake(struct mcp_request *r);
void mcp_server_cancel(struct mcp_server *s, const void *origin); /* the client wants no answer any more */
size_t mcp_server_in_flight(const struct mcp_server *s);
void mcp_server_free(struct mcp_server *s); /* ends whatever is in flight */

/* ── Requests ── */

void *mcp_data(const struct mcp_request *r); /* of the spec */
enum mcp_era mcp_era(const struct mcp_request *r);
/* The revision that serves it: "2025-06-18", "2025-11-25" or "2026-07-28". */
const char *mcp_revision(const struct mcp_request *r);
/* The client's name, "" if unknown. Not escaped. */
const char *mcp_client_name(const struct mcp_request *r);
/* True if the client said that it supports this. For elicitation: by a form. */
bool mcp_client_can(const struct mcp_request *r, const char *capability);

/* Each request is answered once, by one of these; they steal result or data. */
void mcp_reply(struct mcp_request *r, json_t *result);
void mcp_fail(struct mcp_request *r, int code, json_t *data, const char *message);
void mcp_notify(struct mcp_request *r, const char *method, json_t *params);
/* Does nothing if the client did not ask for progress. The value must grow. */
void mcp_progress(struct mcp_request *r, double progress, const char *message);
bool mcp_wants_progress(const struct mcp_request *r);

/* Calls ready when fd is readable (-1: no fd) or at this time (mcp_now_ms, 0: never). Stays until changed. */
void mcp_wait(struct mcp_request *r, int fd, int64_t wake_ms, void (*ready)(struct mcp_request *r));
int64_t mcp_wake_ms(const struct mcp_request *r);
int64_t mcp_now_ms(void);

/* State of the handler. cancel: the client wants no answer any more, or the server ends; it stops the work, waits
 * until it has stopped, then calls mcp_drop. Without cancel the request is dropped at once. */
void mcp_keep(struct mcp_request *r, void *state, void (*release)(void *state), void (*cancel)(struct mcp_request *r));
void *mcp_state(const struct mcp_request *r);
void mcp_drop(struct mcp_request *r); /* over without an answer */

/* Asks the client. requests: {"key": {"method": "elicitation/create", "params": {…}}}; the caller must check that the
 * client supports it. answered gets {"key": result}, null if the client failed to answer; both borrowed. In 2026-07-28
 * the request ends here, and answered is called when the client sends exactly the same request again. */
typedef void mcp_answered(struct mcp_request *r, json_t *answers);
void mcp_ask(struct mcp_request *r, json_t *requests, mcp_answered *answered);

/* ── Results ── */

/* Bytes that may not be UTF-8, as a JSON string. */
json_t *mcp_string(const char *s);
/* A tool's result: text for the model, and the same as data (stolen, may be NULL). */
json_t *mcp_tool_text(const char *text, json_t *structured, bool is_error);
