/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tools/list and tools/call. */
#include "server_state.h"
#include "argument_check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t count_tools(const struct mcp_spec *spec)
{
	size_t n = 0;
	while (spec->tools[n].name)
		n++;
	return n;
}

int mcp_tools_load(struct mcp_server *s)
{
	size_t n = count_tools(s->spec);
	s->schemas = calloc(n + 1, sizeof *s->schemas);
	for (size_t i = 0; s->schemas && i < n; i++)
		if (!(s->schemas[i] = json_loads(s->spec->tools[i].input_schema, 0, NULL)))
			return -EINVAL;
	return s->schemas ? 0 : -ENOMEM;
}

void mcp_tools_unload(struct mcp_server *s)
{
	for (size_t i = 0; s->schemas && i < count_tools(s->spec); i++)
		json_decref(s->schemas[i]);
	free(s->schemas);
}

/* A schema with some more properties. New reference. */
static json_t *extended(json_t *schema, const char *properties)
{
	json_t *more = properties ? json_loads(properties, 0, NULL) : NULL,
	       *whole = more ? json_deep_copy(schema) : NULL;
	if (whole && !json_object_get(whole, "properties"))
		(void)json_object_set_new(whole, "properties", json_object());
	if (whole)
		(void)json_object_update(json_object_get(whole, "properties"), more);
	json_decref(more);
	return whole ? whole : json_incref(schema);
}

static json_t *describe(const struct mcp_tool *t, json_t *input)
{
	json_t *hints = json_pack("{s:s, s:b, s:b, s:b, s:b}", "title", t->title, "readOnlyHint", t->is_read_only,
				  "destructiveHint", t->is_destructive, "idempotentHint", t->is_idempotent,
				  "openWorldHint", t->is_open_world);
	json_t *tool = json_pack("{s:s, s:s, s:s, s:O, s:o}", "name", t->name, "title", t->title, "description",
				 t->description, "inputSchema", input, "annotations", hints);
	if (t->output_schema)
		(void)json_object_set_new(tool, "outputSchema", json_loads(t->output_schema, 0, NULL));
	return tool;
}

void mcp_tools_list(struct mcp_request *r, json_t *params)
{
	const struct mcp_server *s = r->server;
	json_t *tools = json_array();
	if (json_object_get(params, "cursor")) { /* there is only one page, so we never issue a cursor */
		json_decref(tools);
		mcp_fail(r, RPC_INVALID_PARAMS, NULL, "Invalid params: unknown cursor");
		return;
	}
	for (size_t i = 0; s->spec->tools[i].name; i++) {
		json_t *input = extended(s->schemas[i], s->spec->every_tool);
		(void)json_array_append_new(tools, describe(&s->spec->tools[i], input));
		json_decref(input);
	}
	mcp_reply(r, json_pack("{s:o}", "tools", tools));
}

json_t *mcp_tool_text(const char *text, json_t *structured, bool is_error)
{
	json_t *result = json_pack("{s:[{s:s, s:o}], s:b}", "content", "type", "text", "text", mcp_string(text),
				   "isError", is_error);
	if (structured)
		(void)json_object_set_new(result, "structuredContent", structured);
	return result;
}

/* A protocol error until 2025-06-18; since then the model should see it, so that it can correct itself. */
static void refuse_arguments(struct mcp_request *r, const char *tool, const char *why)
{
	char text[768];
	if (strcmp(mcp_revision(r), "2025-06-18") == 0) {
		(void)snprintf(text, sizeof text, "Invalid params: %s: %s", tool, why);
		mcp_fail(r, RPC_INVALID_PARAMS, NULL, text);
		return;
	}
	(void)snprintf(text, sizeof text, "ERROR: %s: %s", tool, why);
	mcp_reply(r, mcp_tool_text(text, NULL, true));
}

static void call(struct mcp_request *r, size_t i, json_t *arguments)
{
	char why[512];
	const struct mcp_tool *t = &r->server->spec->tools[i];
	if (schema_accepts(r->server->schemas[i], arguments, why, sizeof why))
		t->call(r, arguments);
	else
		refuse_arguments(r, t->name, why);
}

void mcp_tools_call(struct mcp_request *r, json_t *params)
{
	const struct mcp_tool *tools = r->server->spec->tools;
	const char *name = json_string_value(json_object_get(params, "name"));
	json_t *arguments = json_object_get(params, "arguments");
	char why[256];
	if (!name || (arguments && !json_is_object(arguments))) {
		mcp_fail(r, RPC_INVALID_PARAMS, NULL, "Invalid params: name must be a string, arguments an object");
		return;
	}
	for (size_t i = 0; tools[i].name; i++)
		if (strcmp(tools[i].name, name) == 0) {
			json_t *given = arguments ? json_incref(arguments) : json_object();
			call(r, i, given);
			json_decref(given);
			return;
		}
	(void)snprintf(why, sizeof why, "Invalid params: unknown tool: %.128s", name);
	mcp_fail(r, RPC_INVALID_PARAMS, NULL, why);
}
