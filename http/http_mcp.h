/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* MCP over Streamable HTTP, for any server of mcp/server.h.
 *
 * 2025-06-18 and 2025-11-25: `initialize` makes a session, whose id (Mcp-Session-Id) comes with every later request; DELETE ends it.
 * 2026-07-28: no sessions; each request says everything, and its headers must say the same.
 * A request is answered with one JSON message, or with a stream of events where there is more to say before the answer. We never speak
 * unasked, so there is no stream to GET (405). */
#pragma once

#include "http.h"
#include "mcp/server.h"

struct http_mcp;

struct http_mcp_app {
	const struct mcp_spec *spec;
	/* Returns who sent the request, compared by address; NULL is a sender, too. Senders never see each other's sessions and
	 * questions. */
	void *(*identity)(struct http_request *r);
	/* Looks at a message before it is taken, may change it (a parameter that is meant for us), and says what mcp_data is for it.
	 * *ret_hold, unless NULL, goes to leave when the request is over. False: it has replied. May be NULL. */
	bool (*choose)(struct http_request *r, json_t *message, void **ret_data, void **ret_hold);
	void (*leave)(void *hold);
};

struct http_mcp *http_mcp_new(struct http_loop *loop, const struct http_mcp_app *app); /* NULL: out of memory */
void http_mcp_free(struct http_mcp *m);
/* For handlers of POST and DELETE /mcp; everything else is 405. */
void http_mcp_post(struct http_mcp *m, struct http_request *r);
void http_mcp_delete(struct http_mcp *m, struct http_request *r);
void http_mcp_refuse(struct http_request *r); /* GET */
