/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Server information and capabilities: initialize of 2025, server/discover of 2026. */
#include "server_state.h"

#include <stdlib.h>
#include <string.h>

#include <airlock/airlock.h>

/* The newest first: it answers an unknown version. */
static const char *const legacy_revisions[] = {"2025-11-25", "2025-06-18", NULL};

json_t *mcp_supported_revisions(void)
{
	json_t *list = json_pack("[s]", "2026-07-28");
	for (const char *const *v = legacy_revisions; *v; v++)
		(void)json_array_append_new(list, json_string(*v));
	return list;
}

json_t *mcp_server_info(const struct mcp_spec *spec)
{
	return json_pack("{s:s, s:s, s:s}", "name", spec->name, "title", spec->title, "version", spec->version);
}

static json_t *capabilities(const struct mcp_spec *spec)
{
	json_t *all = spec->capabilities ? json_loads(spec->capabilities, 0, NULL) : json_object();
	(void)json_object_set_new(all, "tools", json_object());
	return all;
}

void mcp_initialize(struct mcp_request *r, json_t *params)
{
	struct mcp_server *s = r->server;
	json_t *wanted = json_object_get(params, "protocolVersion"), *can = json_object_get(params, "capabilities");
	if (s->legacy_revision) {
		mcp_fail(r, RPC_INVALID_REQUEST, NULL, "Invalid Request: already initialized");
		return;
	}
	if (!json_is_string(wanted) || (can && !json_is_object(can))) {
		mcp_fail(r, RPC_INVALID_PARAMS, NULL,
			 "Invalid params: protocolVersion must be a string, capabilities an object");
		return;
	}
	s->legacy_revision = legacy_revisions[0];
	for (const char *const *v = legacy_revisions; *v; v++)
		if (strcmp(*v, json_string_value(wanted)) == 0)
			s->legacy_revision = *v;
	s->legacy_info = json_incref(json_object_get(params, "clientInfo"));
	s->legacy_client = can ? json_incref(can) : json_object();
	mcp_reply(r, json_pack("{s:s, s:o, s:o, s:s}", "protocolVersion", s->legacy_revision, "capabilities",
			       capabilities(s->spec), "serverInfo", mcp_server_info(s->spec), "instructions",
			       s->spec->instructions));
}

void mcp_discover(struct mcp_request *r, json_t *params)
{
	const struct mcp_spec *spec = r->server->spec;
	(void)params;
	mcp_reply(r, json_pack("{s:o, s:o, s:s}", "supportedVersions", mcp_supported_revisions(), "capabilities",
			       capabilities(spec), "instructions", spec->instructions));
}

void mcp_ping(struct mcp_request *r, json_t *params)
{
	(void)params;
	mcp_reply(r, json_object());
}

/* jansson accepts only UTF-8. */
json_t *mcp_string(const char *s)
{
	json_t *string = json_string(s);
	if (string)
		return string;
	char *inert = airlock_text_inert(s, strlen(s));
	string = json_string(inert ? inert : "");
	airlock_free(inert);
	return string;
}
