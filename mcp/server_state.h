/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shared by the files of the protocol. */
#pragma once

#include "server.h"
#include "wire.h"

#define MCP_IN_FLIGHT_MAX 128

/* What the client is to be asked, on its way there. */
struct mcp_asking {
	json_t *waiting; /* 2025: ids of our requests → keys; NULL: nothing asked */
	json_t *answers;
	mcp_answered *answered;
};

struct mcp_request {
	struct mcp_server *server;
	struct mcp_request *next;
	const struct mcp_method *method;
	json_t *id, *params;
	enum mcp_era era;
	json_t *capabilities;	 /* borrowed from params or the server */
	json_t *progress_token;	 /* borrowed from params; NULL: not requested */
	json_t *asked, *answers; /* 2026: the questions and answers of an earlier round; NULL: this is the first */
	struct mcp_asking asking;
	int fd;
	int64_t wake_ms;
	void (*ready)(struct mcp_request *r);
	void *state;
	void (*release)(void *state);
	void (*cancel)(struct mcp_request *r);
	bool is_over, is_cancelled;
	/* With a host. */
	void *origin, *data, *slot;
};

/* A question that waits until its request comes again. */
struct mcp_round {
	char token[65];
	int64_t expires_ms;
	char *binding; /* the request without its _meta and answers */
	json_t *asked, *answers;
};

#define MCP_ROUNDS_MAX 256
#define MCP_ROUND_MS (10 * 60 * 1000)

struct mcp_server {
	const struct mcp_spec *spec;
	struct wire wire;
	struct mcp_request *requests;
	size_t n_requests;
	const char *legacy_revision; /* NULL until initialize */
	json_t *legacy_client;	     /* its capabilities */
	json_t *legacy_info;	     /* its name and version; may be NULL */
	json_t **schemas;	     /* of the tools, read once */
	int64_t next_id;	     /* of our own requests */
	struct mcp_round rounds[MCP_ROUNDS_MAX];
	size_t n_rounds;
	int signal_fd;
	int64_t quiet_since_ms; /* nothing has come since then */
	int64_t idle_due_ms;	/* length of the idle time; -1: nothing to do in it */
	bool is_ending;
	const struct mcp_host *host; /* NULL: mcp_serve */
	void *origin, *data;	     /* of the message that is being taken */
};

/* server.c */
void mcp_sweep(struct mcp_server *s); /* frees the requests that have ended */
void mcp_server_done(struct mcp_server *s);

/* protocol.c */
void mcp_receive(struct mcp_server *s, const char *line, size_t len);
void mcp_refuse_line(struct mcp_server *s, const char *why);
/* Steals. r: what it belongs to; NULL: the message that is being taken. */
void mcp_send(struct mcp_server *s, const struct mcp_request *r, json_t *message, bool is_answer);
void mcp_cancel(struct mcp_request *r);
extern const struct mcp_method mcp_methods[];

/* tools.c */
mcp_handler mcp_tools_list, mcp_tools_call;
int mcp_tools_load(struct mcp_server *s); /* -EINVAL: one of our schemas is not JSON */
void mcp_tools_unload(struct mcp_server *s);

/* ask_client.c */
bool mcp_take_round(struct mcp_request *r); /* false: refused, and answered */
void mcp_take_response(struct mcp_server *s, const struct rpc_message *m);
void mcp_withdraw_questions(struct mcp_request *r);
void mcp_rounds_done(struct mcp_server *s);

/* discover.c */
mcp_handler mcp_initialize, mcp_discover, mcp_ping;
json_t *mcp_server_info(const struct mcp_spec *spec);
json_t *mcp_supported_revisions(void);
