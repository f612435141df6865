/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A line of JSON-RPC from a client: any bytes. It must not crash, and what is answered must be a message. */
#include "mcp/server_state.h"
#include "mcp/argument_check.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool holds)
{
	if (!holds)
		__builtin_trap();
}

static void echo(struct mcp_request *r, json_t *arguments)
{
	mcp_reply(r, mcp_tool_text("x", json_incref(arguments), false));
}

static void answered(struct mcp_request *r, json_t *answers)
{
	demand(json_is_object(answers));
	mcp_reply(r, mcp_tool_text("x", NULL, false));
}

static void ask(struct mcp_request *r, json_t *arguments)
{
	(void)arguments;
	mcp_ask(r, json_pack("{s:{s:s, s:{}}}", "k", "method", "elicitation/create", "params"), answered);
}

static const struct mcp_tool tools[] = {
	{.name = "echo",
	 .title = "e",
	 .description = "e",
	 .input_schema =
		 "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"minLength\":1},\"n\":{\"type\":"
		 "\"integer\",\"minimum\":1},\"l\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}},"
		 "\"additionalProperties\":false}",
	 .call = echo},
	{.name = "ask", .title = "a", .description = "a", .input_schema = "{\"type\":\"object\"}", .call = ask},
	{0},
};

static void check_output(const struct mcp_server *s)
{
	demand(!s->wire.is_broken);
	if (!s->wire.out.data)
		return;
	const char *at = s->wire.out.data + s->wire.out.start, *end = s->wire.out.data + s->wire.out.end;
	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		demand(newline != NULL);
		json_t *message = json_loadb(at, (size_t)(newline - at), JSON_ALLOW_NUL, NULL);
		demand(json_is_object(message) &&
		       strcmp(json_string_value(json_object_get(message, "jsonrpc")), "2.0") == 0);
		json_decref(message);
		at = newline + 1;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct mcp_spec spec = {.name = "f", .title = "f", .version = "1", .instructions = "f", .tools = tools};
	struct mcp_server *s = calloc(1, sizeof *s);
	demand(s != NULL);
	s->spec = &spec;
	s->wire = (struct wire){.in_fd = -1, .out_fd = -1};
	demand(mcp_tools_load(s) == 0);
	for (size_t i = 0, start = 0; i <= size; i++) {
		if (i < size && data[i] != '\n')
			continue;
		mcp_receive(s, (const char *)data + start, i - start);
		mcp_sweep(s);
		start = i + 1;
	}
	check_output(s);
	mcp_server_done(s);
	free(s);
	return 0;
}
