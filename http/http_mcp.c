/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "http_mcp.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#define SESSIONS_MAX 1024
#define SESSION_IDLE_MS (60 * 60 * 1000)
#define META_VERSION "io.modelcontextprotocol/protocolVersion"
#define HEADER_MISMATCH (-32020)

/* One for each session of 2025, and one for each identity for everything without. */
struct http_mcp_session {
	struct http_mcp *mcp;
	struct http_mcp_session *next;
	char id[33]; /* "": the one without handshake */
	void *identity;
	struct mcp_server *server;
	int64_t used_ms;
};

struct http_mcp {
	struct http_loop *loop;
	const struct http_mcp_app *app;
	struct mcp_host host;
	struct http_mcp_session *sessions;
	size_t n_sessions;
};

/* One POST and the request of MCP in it. It stays until both are over. */
struct http_mcp_exchange {
	struct http_mcp *mcp;
	struct http_mcp_session *session;
	struct http_request *request; /* NULL: the client has gone, or has its answer */
	void *hold;
	bool is_legacy, is_streamed, is_running;
};

/* ── What the protocol calls ── */

struct http_mcp_waiting {
	struct http_watch watch;
	struct http_loop *loop;
	struct mcp_request *request;
};

static void wake(void *data, short revents)
{
	struct http_mcp_waiting *w = data;
	(void)revents;
	mcp_request_wake(w->request); /* may free w */
}

static void wait_for(void *data, struct mcp_request *r, void **slot, int fd, int64_t wake_ms)
{
	struct http_mcp *m = data;
	struct http_mcp_waiting *w = *slot;
	if (w)
		http_loop_remove(m->loop, &w->watch);
	if (fd < 0 && wake_ms == 0) {
		free(w);
		*slot = NULL;
		return;
	}
	if (!w)
		w = *slot = calloc(1, sizeof *w);
	if (!w)
		return;
	*w = (struct http_mcp_waiting){.loop = m->loop, .request = r};
	w->watch = (struct http_watch){.fd = fd, .events = POLLIN, .wake_ms = wake_ms, .ready = wake, .data = w};
	http_loop_add(m->loop, &w->watch);
}

/* 2026-07-28 has statuses for errors of the protocol; before that the answer is all there is. */
static unsigned status_of(const struct http_mcp_exchange *x, const char *text, size_t len)
{
	json_t *message = x->is_legacy && x->session->id[0] ? NULL : json_loadb(text, len, 0, NULL);
	json_t *error = json_object_get(message, "error");
	json_int_t code = json_integer_value(json_object_get(error, "code"));
	const char *why = json_string_value(json_object_get(error, "message"));
	unsigned status = 200;
	if (code == RPC_METHOD_NOT_FOUND)
		status = 404;
	else if (code == RPC_PARSE_ERROR || code == RPC_INVALID_REQUEST || code == HEADER_MISMATCH ||
		 code == RPC_MISSING_CAPABILITY || code == RPC_UNSUPPORTED_VERSION || (why && strstr(why, "_meta")))
		status = 400;
	json_decref(message);
	return status;
}

static void send_message(void *data, void *origin, const char *text, size_t len, bool is_answer)
{
	struct http_mcp_exchange *x = origin;
	(void)data;
	if (!x || !x->request)
		return;
	if (!x->is_streamed && is_answer) {
		http_reply_bytes(x->request, status_of(x, text, len), "application/json", text, len);
		return;
	}
	if (!x->is_streamed) {
		http_add_header(x->request, "Cache-Control", "no-store");
		http_stream_start(x->request, 200, "text/event-stream", NULL);
	}
	x->is_streamed = true;
	http_stream_event(x->request, "message", text, len);
	if (is_answer)
		http_stream_end(x->request);
}

static void free_if_over(struct http_mcp_exchange *x)
{
	if (!x->request && !x->is_running)
		free(x);
}

static void leave(struct http_mcp_exchange *x)
{
	if (x->hold)
		x->mcp->app->leave(x->hold);
	x->hold = NULL;
}

static void request_is_over(void *data, void *origin)
{
	struct http_mcp_exchange *x = origin;
	(void)data;
	if (!x)
		return;
	x->is_running = false;
	leave(x);
	if (x->request && x->is_streamed)
		http_stream_end(x->request);
	else if (x->request && !http_has_reply(x->request))
		http_reply_empty(x->request, 202); /* cancelled: there is no answer */
	free_if_over(x);
}

/* ── Sessions ── */

static void free_session(struct http_mcp *m, struct http_mcp_session *session)
{
	for (struct http_mcp_session **at = &m->sessions; *at; at = &(*at)->next)
		if (*at == session) {
			*at = session->next;
			break;
		}
	m->n_sessions--;
	mcp_server_free(session->server);
	free(session);
}

static void forget_idle(struct http_mcp *m)
{
	int64_t now = http_now_ms();
	struct http_mcp_session *next;
	for (struct http_mcp_session *s = m->sessions; s; s = next) {
		next = s->next;
		if (mcp_server_in_flight(s->server) == 0 && now - s->used_ms > SESSION_IDLE_MS)
			free_session(m, s);
	}
}

static struct http_mcp_session *find_session(struct http_mcp *m, void *identity, const char *id)
{
	for (struct http_mcp_session *s = m->sessions; s; s = s->next)
		if (s->identity == identity && strcmp(s->id, id) == 0) {
			s->used_ms = http_now_ms();
			return s;
		}
	return NULL;
}

static struct http_mcp_session *new_session(struct http_mcp *m, void *identity, bool has_id)
{
	unsigned char random[16];
	struct http_mcp_session *s = m->n_sessions < SESSIONS_MAX ? calloc(1, sizeof *s) : NULL;
	if (!s || getrandom(random, sizeof random, 0) != (ssize_t)sizeof random) {
		free(s);
		return NULL;
	}
	*s = (struct http_mcp_session){.mcp = m, .identity = identity, .used_ms = http_now_ms(), .next = m->sessions};
	for (size_t i = 0; has_id && i < sizeof random; i++)
		(void)snprintf(s->id + 2 * i, 3, "%02x", random[i]);
	s->server = mcp_server_new(m->app->spec, &m->host);
	if (!s->server) {
		free(s);
		return NULL;
	}
	m->sessions = s;
	m->n_sessions++;
	return s;
}

struct http_mcp *http_mcp_new(struct http_loop *loop, const struct http_mcp_app *app)
{
	struct http_mcp *m = calloc(1, sizeof *m);
	if (!m)
		return NULL;
	*m = (struct http_mcp){.loop = loop, .app = app};
	m->host = (struct mcp_host){.send = send_message, .wait = wait_for, .over = request_is_over, .data = m};
	return m;
}

void http_mcp_free(struct http_mcp *m)
{
	while (m && m->sessions)
		free_session(m, m->sessions);
	free(m);
}

/* ── Requests of HTTP ── */

static void refuse(struct http_request *r, unsigned status, json_t *id, int code, const char *why)
{
	http_reply_json(r, status, rpc_error(id, code, why, NULL));
}

static void release(void *state)
{
	struct http_mcp_exchange *x = state;
	x->request = NULL;
	free_if_over(x);
}

/* 2026-07-28: that cancels the request. 2025: it does not, and there is nobody left to tell. */
static void gone(struct http_request *r)
{
	struct http_mcp_exchange *x = http_state(r);
	if (!x->is_legacy && x->is_running)
		mcp_server_cancel(x->session->server, x);
	else if (!http_has_reply(r))
		http_reply_empty(r, 202);
}

/* A header that repeats what is in the body must say the same: who routes by headers must not be lied to. */
static bool headers_agree(struct http_request *r, json_t *message, const char *version)
{
	json_t *params = json_object_get(message, "params"), *id = json_object_get(message, "id");
	const char *method = json_string_value(json_object_get(message, "method"));
	const char *name = json_string_value(json_object_get(params, "name"));
	const char *uri = json_string_value(json_object_get(params, "uri"));
	const char *said = http_header(r, "MCP-Protocol-Version"), *said_method = http_header(r, "Mcp-Method"),
		   *said_name = http_header(r, "Mcp-Name");
	if (!said || strcmp(said, version) != 0) {
		refuse(r, 400, id, HEADER_MISMATCH, "Header mismatch: MCP-Protocol-Version");
		return false;
	}
	if (said_method && (!method || strcmp(said_method, method) != 0)) {
		refuse(r, 400, id, HEADER_MISMATCH, "Header mismatch: Mcp-Method");
		return false;
	}
	if (said_name && (name || uri) && strcmp(said_name, name ? name : uri) != 0) {
		refuse(r, 400, id, HEADER_MISMATCH, "Header mismatch: Mcp-Name");
		return false;
	}
	return true;
}

static bool is_known_version(const char *version)
{
	return !version || strcmp(version, "2025-03-26") == 0 || strcmp(version, "2025-06-18") == 0 ||
	       strcmp(version, "2025-11-25") == 0 || strcmp(version, "2026-07-28") == 0;
}

/* The server for a message; NULL: it has replied. */
static struct http_mcp_session *session_for(struct http_mcp *m, struct http_request *r, json_t *message,
					    bool *ret_is_legacy)
{
	void *identity = m->app->identity ? m->app->identity(r) : NULL;
	const char *id = http_header(r, "Mcp-Session-Id");
	json_t *meta = json_object_get(json_object_get(message, "params"), "_meta");
	const char *version = json_string_value(json_object_get(meta, META_VERSION));
	const char *method = json_string_value(json_object_get(message, "method"));
	struct http_mcp_session *found = NULL;
	*ret_is_legacy = !version;
	if (version && !headers_agree(r, message, version))
		return NULL;
	if (!version && !is_known_version(http_header(r, "MCP-Protocol-Version"))) {
		refuse(r, 400, json_object_get(message, "id"), RPC_INVALID_REQUEST,
		       "Invalid Request: unsupported MCP-Protocol-Version");
		return NULL;
	}
	if (!version && id) {
		if (!(found = find_session(m, identity, id)))
			refuse(r, 404, json_object_get(message, "id"), RPC_INVALID_REQUEST,
			       "Invalid Request: no such session");
		return found;
	}
	if (!version && method && strcmp(method, "initialize") == 0) {
		forget_idle(m);
		found = new_session(m, identity, true);
		if (found)
			http_add_header(r, "Mcp-Session-Id", found->id);
	} else {
		found = find_session(m, identity, "");
		found = found ? found : new_session(m, identity, false);
	}
	if (!found)
		http_reply_error(r, 503, "busy", "too many sessions");
	return found;
}

static void take(struct http_mcp *m, struct http_request *r, json_t *message)
{
	bool is_legacy = false;
	void *data = NULL, *hold = NULL;
	struct http_mcp_session *session = session_for(m, r, message, &is_legacy);
	if (!session || (m->app->choose && !m->app->choose(r, message, &data, &hold)))
		return;
	bool is_request = json_object_get(message, "method") && json_object_get(message, "id");
	struct http_mcp_exchange *x = is_request ? calloc(1, sizeof *x) : NULL;
	char *text = json_dumps(message, JSON_COMPACT | JSON_ENCODE_ANY);
	if (!text || (is_request && !x)) {
		http_reply_error(r, 503, "internal", "out of memory");
		if (hold)
			m->app->leave(hold);
		free(x);
		free(text);
		return;
	}
	if (x) {
		*x = (struct http_mcp_exchange){.mcp = m,
						.session = session,
						.request = r,
						.hold = hold,
						.is_legacy = is_legacy,
						.is_running = true};
		http_keep(r, x, release, gone);
		if (!mcp_server_take(session->server, text, strlen(text), x, data)) {
			x->is_running = false;
			leave(x);
		}
		if (!x->is_running && !http_has_reply(r))
			http_reply_empty(r, 202);
	} else {
		(void)mcp_server_take(session->server, text, strlen(text), NULL, NULL);
		if (hold)
			m->app->leave(hold);
		http_reply_empty(r, 202);
	}
	free(text);
}

void http_mcp_post(struct http_mcp *m, struct http_request *r)
{
	size_t len = 0;
	const char *body = http_body(r, &len);
	struct rpc_message checked = rpc_read(body, len);
	bool is_right = checked.kind != RPC_INVALID;
	if (!is_right) {
		refuse(r, 400, checked.id, checked.code, checked.why);
	} else {
		take(m, r, checked.root);
	}
	rpc_done(&checked);
}

void http_mcp_delete(struct http_mcp *m, struct http_request *r)
{
	const char *id = http_header(r, "Mcp-Session-Id");
	void *identity = m->app->identity ? m->app->identity(r) : NULL;
	struct http_mcp_session *session = id && *id ? find_session(m, identity, id) : NULL;
	if (!id || !*id) {
		http_reply_error(r, 400, "invalid", "the header Mcp-Session-Id is missing");
	} else if (!session) {
		http_reply_error(r, 404, "not_found", "there is no such session");
	} else {
		free_session(m, session);
		http_reply_empty(r, 204);
	}
}

void http_mcp_refuse(struct http_request *r)
{
	http_add_header(r, "Allow", "POST, DELETE");
	http_reply_error(r, 405, "invalid", "this server never speaks unasked: there is no stream to get");
}
