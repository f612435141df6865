/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From a line to the handler of its method, and from the handler's result to a line. */
#include "server_state.h"

#include <stdlib.h>
#include <string.h>

#define META "io.modelcontextprotocol/"

const struct mcp_method mcp_methods[] = {
	{"initialize", MCP_LEGACY, mcp_initialize, -1},		{"ping", MCP_LEGACY, mcp_ping, -1},
	{"server/discover", MCP_MODERN, mcp_discover, 3600000}, {"tools/list", MCP_BOTH, mcp_tools_list, 3600000},
	{"tools/call", MCP_BOTH, mcp_tools_call, -1},		{0},
};

/* ── Out ── */

void mcp_send(struct mcp_server *s, const struct mcp_request *r, json_t *message, bool is_answer)
{
	char *text = message ? json_dumps(message, JSON_COMPACT | JSON_REAL_PRECISION(12)) : NULL;
	if (s->host)
		s->host->send(s->host->data, r ? r->origin : s->origin, text ? text : "", text ? strlen(text) : 0,
			      is_answer);
	else if (text)
		wire_send(&s->wire, text, strlen(text));
	else
		s->wire.is_broken = true; /* out of memory: a missing answer would hang the client */
	free(text);
	json_decref(message);
}

void mcp_refuse_line(struct mcp_server *s, const char *why)
{
	mcp_send(s, NULL, rpc_error(NULL, RPC_INVALID_REQUEST, why, NULL), true);
}

/* The fields that 2026-07-28 requires in every result. */
static void complete_modern(const struct mcp_request *r, json_t *result)
{
	json_t *meta = json_object_get(result, "_meta");
	if (!json_object_get(result, "resultType"))
		(void)json_object_set_new(result, "resultType", json_string("complete"));
	if (!meta) {
		meta = json_object();
		(void)json_object_set_new(result, "_meta", meta);
	}
	(void)json_object_set_new(meta, META "serverInfo", mcp_server_info(r->server->spec));
	if (r->method->cache_ms < 0 || json_object_get(result, "ttlMs"))
		return;
	(void)json_object_set_new(result, "ttlMs", json_integer(r->method->cache_ms));
	(void)json_object_set_new(result, "cacheScope", json_string("private"));
}

void mcp_reply(struct mcp_request *r, json_t *result)
{
	if (r->is_over || r->is_cancelled || !result) {
		json_decref(result);
		if (!result && !r->is_over && !r->is_cancelled)
			mcp_fail(r, RPC_INTERNAL_ERROR, NULL, "out of memory");
		mcp_drop(r);
		return;
	}
	if (r->era == MCP_MODERN)
		complete_modern(r, result);
	mcp_send(r->server, r, rpc_result(r->id, result), true);
	mcp_drop(r);
}

void mcp_fail(struct mcp_request *r, int code, json_t *data, const char *message)
{
	if (r->is_over || r->is_cancelled)
		json_decref(data);
	else
		mcp_send(r->server, r, rpc_error(r->id, code, message, data), true);
	mcp_drop(r);
}

void mcp_notify(struct mcp_request *r, const char *method, json_t *params)
{
	if (r->is_over || r->is_cancelled)
		json_decref(params);
	else
		mcp_send(r->server, r, rpc_request(NULL, method, params), false);
}

bool mcp_wants_progress(const struct mcp_request *r)
{
	return r->progress_token != NULL;
}

void mcp_progress(struct mcp_request *r, double progress, const char *message)
{
	if (r->progress_token)
		mcp_notify(r, "notifications/progress",
			   json_pack("{s:O, s:f, s:o}", "progressToken", r->progress_token, "progress", progress,
				     "message", mcp_string(message)));
}

/* ── In ── */

const char *mcp_revision(const struct mcp_request *r)
{
	return r->era == MCP_MODERN	    ? "2026-07-28"
	       : r->server->legacy_revision ? r->server->legacy_revision
					    : "2025-11-25";
}

const char *mcp_client_name(const struct mcp_request *r)
{
	json_t *info = r->era == MCP_LEGACY ? r->server->legacy_info
					    : json_object_get(json_object_get(r->params, "_meta"), META "clientInfo");
	const char *name = json_string_value(json_object_get(info, "name"));
	return name ? name : "";
}

bool mcp_client_can(const struct mcp_request *r, const char *capability)
{
	json_t *it = json_object_get(r->capabilities, capability);
	if (!json_is_object(it))
		return false;
	if (strcmp(capability, "elicitation") != 0) /* that version names its modes; none means the first one */
		return true;
	return json_object_get(it, "form") || !json_object_get(it, "url");
}

static struct mcp_request *find_request(struct mcp_server *s, const json_t *id)
{
	for (struct mcp_request *r = s->requests; r; r = r->next)
		if (!r->is_over && json_equal(r->id, id))
			return r;
	return NULL;
}

void mcp_cancel(struct mcp_request *r)
{
	if (r->is_cancelled)
		return;
	r->is_cancelled = true;
	mcp_withdraw_questions(r);
	if (r->cancel)
		r->cancel(r);
	else
		mcp_drop(r);
}

static const struct mcp_method *find_in(const struct mcp_method *methods, const char *name, enum mcp_era era)
{
	for (const struct mcp_method *m = methods; m && m->name; m++)
		if ((m->eras & era) && strcmp(m->name, name) == 0)
			return m;
	return NULL;
}

/* 2026-07-28: everything the request needs is in its _meta. Returns false if it was refused. */
static bool enter_modern(struct mcp_request *r, json_t *meta)
{
	json_t *version = json_object_get(meta, META "protocolVersion");
	if (!json_is_string(version)) {
		mcp_fail(r, RPC_INVALID_PARAMS, NULL, "Invalid params: _meta " META "protocolVersion must be a string");
		return false;
	}
	if (strcmp(json_string_value(version), "2026-07-28") != 0) {
		mcp_fail(r, RPC_UNSUPPORTED_VERSION,
			 json_pack("{s:o, s:O}", "supported", mcp_supported_revisions(), "requested", version),
			 "Unsupported protocol version");
		return false;
	}
	r->capabilities = json_object_get(meta, META "clientCapabilities");
	if (!json_is_object(r->capabilities)) {
		mcp_fail(r, RPC_INVALID_PARAMS, NULL,
			 "Invalid params: _meta " META "clientCapabilities must be an object");
		return false;
	}
	return true;
}

/* The handshake comes first; only it and ping are allowed before. */
static bool enter_legacy(struct mcp_request *r, const char *method)
{
	r->capabilities = r->server->legacy_client;
	if (r->server->legacy_revision || strcmp(method, "initialize") == 0 || strcmp(method, "ping") == 0)
		return true;
	mcp_fail(r, RPC_INVALID_PARAMS, NULL,
		 "Invalid params: call initialize first, or give the protocol version in _meta (2026-07-28)");
	return false;
}

/* Decided per request: a version in _meta selects that version. */
static bool enter(struct mcp_request *r, const char *method)
{
	json_t *meta = json_object_get(r->params, "_meta");
	if (meta && !json_is_object(meta)) {
		mcp_fail(r, RPC_INVALID_PARAMS, NULL, "Invalid params: _meta must be an object");
		return false;
	}
	json_t *token = json_object_get(meta, "progressToken");
	if (json_is_string(token) || json_is_integer(token))
		r->progress_token = token;
	bool is_modern =
		json_object_get(meta, META "protocolVersion") || json_object_get(meta, META "clientCapabilities");
	r->era = is_modern ? MCP_MODERN : MCP_LEGACY;
	return is_modern ? enter_modern(r, meta) : enter_legacy(r, method);
}

static void dispatch(struct mcp_request *r, const char *method)
{
	if (!enter(r, method))
		return;
	r->method = find_in(mcp_methods, method, r->era);
	if (!r->method)
		r->method = find_in(r->server->spec->methods, method, r->era);
	if (!r->method) {
		mcp_fail(r, RPC_METHOD_NOT_FOUND, NULL, "Method not found");
		return;
	}
	if (r->era == MCP_LEGACY || mcp_take_round(r))
		r->method->handle(r, r->params);
}

static void take_request(struct mcp_server *s, const struct rpc_message *m)
{
	/* Several clients may share a host's server that has no handshake: their ids are their own. */
	if ((!s->host || s->legacy_revision) && find_request(s, m->id)) {
		mcp_send(s, NULL,
			 rpc_error(m->id, RPC_INVALID_REQUEST, "Invalid Request: a request with this id is in flight",
				   NULL),
			 true);
		return;
	}
	struct mcp_request *r = s->n_requests < MCP_IN_FLIGHT_MAX ? calloc(1, sizeof *r) : NULL;
	if (!r) {
		mcp_send(s, NULL, rpc_error(m->id, RPC_INTERNAL_ERROR, "too many requests in flight", NULL), true);
		return;
	}
	*r = (struct mcp_request){.server = s,
				  .next = s->requests,
				  .id = json_incref(m->id),
				  .params = m->params ? json_incref(m->params) : json_object(),
				  .fd = -1,
				  .origin = s->origin,
				  .data = s->data};
	s->requests = r;
	s->n_requests++;
	dispatch(r, m->method);
}

static void take_notification(struct mcp_server *s, const struct rpc_message *m)
{
	if (strcmp(m->method, "notifications/cancelled") != 0)
		return;
	json_t *id = json_object_get(m->params, "requestId");
	struct mcp_request *r = id ? find_request(s, id) : NULL;
	if (r && !(r->method && strcmp(r->method->name, "initialize") == 0))
		mcp_cancel(r);
}

static bool is_blank(const char *line, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!strchr(" \t\r", line[i]) || line[i] == '\0')
			return false;
	return true;
}

void mcp_receive(struct mcp_server *s, const char *line, size_t len)
{
	if (is_blank(line, len))
		return;
	struct rpc_message m = rpc_read(line, len);
	switch (m.kind) {
	case RPC_REQUEST:
		take_request(s, &m);
		break;
	case RPC_NOTIFICATION:
		take_notification(s, &m);
		break;
	case RPC_RESPONSE:
		mcp_take_response(s, &m);
		break;
	case RPC_INVALID:
		/* A notification is never answered, not even a wrong one. */
		if (!m.root || m.id || !m.method || json_object_get(m.root, "id"))
			mcp_send(s, NULL, rpc_error(m.id, m.code, m.why, NULL), true);
		break;
	}
	rpc_done(&m);
}
