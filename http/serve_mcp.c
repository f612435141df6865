/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* /mcp: airlock's tools on a sandbox. Which one a call says itself: by the parameter "sandbox" that every tool has here, by the header
 * Mcp-Param-Sandbox, or not at all; then it is the token's default one, made on first use. */
#include "serve_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http_mcp.h"
#include "http_options.h"
#include "mcp/serve.h"

#define BODY_MAX ((size_t)16 << 20)
#define HEADER "Mcp-Param-Sandbox"

static const char instructions[] =
	"airlock runs commands in a sandbox of your own: run_command gives you a shell in which you may write everywhere but to the "
	"system's directories, with / as your working directory. There is no network unless the sandbox was given some. Files stay "
	"until the sandbox is deleted. Name another of your sandboxes with the parameter sandbox.";

/* The tools' memory of one sandbox. */
struct serve_tools {
	struct serve_tools *next;
	struct serve *serve;
	const struct serve_token *token;
	struct serve_sandbox *sandbox;
	char *id;
	struct mcp_options options;
	struct tool_context *context;
	size_t users;
};

struct serve_mcp {
	struct http_mcp *http;
	struct http_mcp_app app;
	struct mcp_spec spec;
	struct serve_tools *tools;
	size_t in_flight;
};

static int make_settings(void *data, struct airlock_settings **ret, struct airlock_error *err)
{
	const struct serve_tools *t = data;
	serve_wake(t->serve, t->token, t->sandbox);
	return serve_settings(t->serve, t->token, t->sandbox, ret, err);
}

static struct airlock_workspace_hold *hold_of(void *data)
{
	const struct serve_tools *t = data;
	return t->sandbox->hold;
}

static void free_tools(struct serve_tools *t)
{
	mcp_airlock_free(t->context);
	free(t->id);
	free(t);
}

static struct serve_tools *tools_of(struct serve *s, const struct serve_token *token, struct serve_sandbox *b,
				    struct airlock_error *err)
{
	struct serve_tools *t = s->mcp->tools;
	while (t && (t->token != token || strcmp(t->id, b->id) != 0))
		t = t->next;
	if (!t && (t = calloc(1, sizeof *t))) {
		*t = (struct serve_tools){.serve = s, .token = token, .id = strdup(b->id)};
		t->options = (struct mcp_options){.settings = make_settings, .hold = hold_of, .data = t};
		t->context = mcp_airlock_new(&t->options, err);
		if (!t->id || !t->context) {
			free_tools(t);
			return NULL;
		}
		t->next = s->mcp->tools;
		s->mcp->tools = t;
	}
	if (t)
		t->sandbox = b;
	return t;
}

/* ── Which sandbox ── */

static void leave(void *hold)
{
	struct serve_tools *t = hold;
	struct serve *s = t->serve;
	bool is_deleted = t->sandbox->is_deleted;
	t->users--;
	s->mcp->in_flight--;
	serve_leave(s, t->sandbox);
	if (!is_deleted || t->users > 0)
		return;
	for (struct serve_tools **at = &s->mcp->tools; *at; at = &(*at)->next)
		if (*at == t) {
			*at = t->next;
			break;
		}
	free_tools(t);
}

static void *identity(struct http_request *r)
{
	return http_identity(r);
}

static bool is_about_sandbox(const char *method)
{
	return method && (strcmp(method, "tools/call") == 0 || strncmp(method, "resources/", 10) == 0);
}

static void refuse(struct http_request *r, unsigned status, json_t *message, int code, const char *why)
{
	http_reply_json(r, status, rpc_error(json_object_get(message, "id"), code, why, NULL));
}

/* The id that the parameter or the header names; NULL: neither does. False: they differ, and it has replied. The parameter is ours: the
 * tools do not know it. */
static bool read_id(struct http_request *r, json_t *message, char **ret)
{
	json_t *arguments = json_object_get(json_object_get(message, "params"), "arguments");
	json_t *given = json_object_get(arguments, "sandbox");
	const char *header = http_header(r, HEADER);
	if (given && !json_is_string(given)) {
		refuse(r, 400, message, RPC_INVALID_PARAMS, "Invalid params: sandbox must be a string");
		return false;
	}
	const char *id = given ? json_string_value(given) : header;
	if (given && header && strcmp(id, header) != 0) {
		refuse(r, 400, message, -32020, "Header mismatch: " HEADER);
		return false;
	}
	*ret = id && *id ? strdup(id) : NULL;
	(void)json_object_del(arguments, "sandbox");
	return true;
}

static bool has_room(struct http_request *r, struct serve *s, struct serve_sandbox *b)
{
	if (s->n_running + s->mcp->in_flight >= SERVE_COMMANDS_MAX) {
		s->metrics.quota_hits[SERVE_QUOTA_COMMANDS]++;
		http_add_header(r, "Retry-After", "1");
		http_reply_error(r, 503, "busy", "%d commands are running already", SERVE_COMMANDS_MAX);
		return false;
	}
	b->is_measured = b->limits.disk > 0 || serve_token_of(r)->disk >= 0;
	if (serve_disk_left(s, serve_token_of(r), b) != 0)
		return true;
	s->metrics.quota_hits[SERVE_QUOTA_DISK]++;
	http_reply_error(r, 507, "limit", "the sandbox uses all the disk that it may: delete files first");
	return false;
}

static bool choose(struct http_request *r, json_t *message, void **ret_data, void **ret_hold)
{
	struct serve *s = http_data(r);
	struct airlock_error err = {0};
	struct serve_sandbox *b = NULL;
	char *id = NULL;
	const char *method = json_string_value(json_object_get(message, "method"));
	s->metrics.mcp_messages++;
	if (!is_about_sandbox(method))
		return true;
	if (serve_refuses_work(r) || !read_id(r, message, &id))
		return false;
	int rc = id ? serve_find(s, serve_token_of(r), id, &b, &err)
		    : serve_find_default(s, serve_token_of(r), &b, &err);
	free(id);
	if (rc < 0) {
		refuse(r, http_status_of(&err), message, RPC_INVALID_PARAMS, err.message);
		return false;
	}
	if (!has_room(r, s, b))
		return false;
	struct serve_tools *t = tools_of(s, serve_token_of(r), b, &err);
	if (!t) {
		http_reply_failure(r, &err);
		return false;
	}
	const char *tool = json_string_value(json_object_get(json_object_get(message, "params"), "name"));
	serve_audit(s, serve_token_of(r), "mcp", b->id, tool ? tool : method, 200);
	t->users++;
	s->mcp->in_flight++;
	serve_enter(s, b);
	*ret_data = t->context;
	*ret_hold = t;
	return true;
}

/* ── Routes ── */

static void post(struct http_request *r)
{
	const struct serve *s = http_data(r);
	http_mcp_post(s->mcp->http, r);
}

static void end_session(struct http_request *r)
{
	const struct serve *s = http_data(r);
	http_mcp_delete(s->mcp->http, r);
}

const struct http_route serve_mcp_routes[] = {
	{"POST", "/mcp", post, 0, BODY_MAX},
	{"DELETE", "/mcp", end_session},
	{"GET", "/mcp", http_mcp_refuse},
	{0},
};

int serve_mcp_start(struct serve *s, struct airlock_error *err)
{
	struct serve_mcp *m = calloc(1, sizeof *m);
	if (!m)
		return http_fail(err, AIRLOCK_ERR_INTERNAL, "mcp", "out of memory");
	mcp_airlock_spec(&m->spec);
	m->spec.instructions = instructions;
	/* 2026-07-28: a client repeats it in the header, so that a proxy can send the call to the server that has the sandbox. */
	m->spec.every_tool =
		"{\"sandbox\": {\"type\": \"string\", \"description\": \"id of the sandbox; your default one without\", "
		"\"x-mcp-header\": \"Sandbox\"}}";
	m->app = (struct http_mcp_app){.spec = &m->spec, .identity = identity, .choose = choose, .leave = leave};
	s->mcp = m;
	m->http = http_mcp_new(s->loop, &m->app);
	return m->http ? 0 : http_fail(err, AIRLOCK_ERR_INTERNAL, "mcp", "out of memory");
}

void serve_mcp_end(struct serve *s)
{
	if (!s->mcp)
		return;
	http_mcp_free(s->mcp->http);
	while (s->mcp->tools) {
		struct serve_tools *t = s->mcp->tools;
		s->mcp->tools = t->next;
		free_tools(t);
	}
	free(s->mcp);
	s->mcp = NULL;
}
