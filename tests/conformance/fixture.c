/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The server the conformance suite talks to: airlock's protocol, and the tools, prompts and resources the suite wants to
 * find. Never installed. What is always the same is in the tables below, as JSON. */
#include "http/http_mcp.h"
#include "mcp/server_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PNG "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
#define WAV "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAAAA=="
#define IMAGE "{\"type\":\"image\",\"data\":\"" PNG "\",\"mimeType\":\"image/png\"}"
#define NO_ARGUMENTS "{\"type\":\"object\"}"
#define ARGUMENT(name)                                                                                                 \
	"{\"type\":\"object\",\"properties\":{\"" name "\":{\"type\":\"string\"}},\"required\":[\"" name "\"]}"
#define ELICIT(message, properties)                                                                                    \
	"{\"method\":\"elicitation/create\",\"params\":{\"mode\":\"form\",\"message\":\"" message                      \
	"\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{" properties "}}}}"
#define SAMPLE(prompt)                                                                                                 \
	"{\"method\":\"sampling/createMessage\",\"params\":{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":"   \
	"\"text\",\"text\":\"" prompt "\"}}],\"maxTokens\":100}}"
#define ROOTS "{\"method\":\"roots/list\",\"params\":{}}"

struct row {
	const char *name, *json;
};

static const char *find(const struct row *rows, const char *name)
{
	for (; rows->name; rows++)
		if (name && strcmp(rows->name, name) == 0)
			return rows->json;
	return NULL;
}

static const char *name_of(const struct mcp_request *r)
{
	return json_string_value(json_object_get(r->params, "name"));
}

/* ── Tools that always say the same ── */

static const struct row contents[] = {
	{"test_simple_text",
	 "{\"content\":[{\"type\":\"text\",\"text\":\"This is a simple text response for testing.\"}]}"},
	{"test_image_content", "{\"content\":[" IMAGE "]}"},
	{"test_audio_content", "{\"content\":[{\"type\":\"audio\",\"data\":\"" WAV "\",\"mimeType\":\"audio/wav\"}]}"},
	{"test_embedded_resource",
	 "{\"content\":[{\"type\":\"resource\",\"resource\":{\"uri\":\"test://embedded-resource\",\"mimeType\":"
	 "\"text/plain\",\"text\":\"This is an embedded resource content.\"}}]}"},
	{"test_multiple_content_types",
	 "{\"content\":[{\"type\":\"text\",\"text\":\"Multiple content types test:\"}," IMAGE
	 ",{\"type\":\"resource\",\"resource\":{\"uri\":\"test://mixed-content-resource\",\"mimeType\":"
	 "\"application/json\",\"text\":\"{\\\"test\\\":\\\"data\\\",\\\"value\\\":123}\"}}]}"},
	{"test_error_handling",
	 "{\"isError\":true,\"content\":[{\"type\":\"text\",\"text\":\"This tool intentionally returns an error for "
	 "testing\"}]}"},
	{0},
};

static void say(struct mcp_request *r, json_t *arguments)
{
	(void)arguments;
	mcp_reply(r, json_loads(find(contents, name_of(r)), 0, NULL));
}

/* ── Tools that take their time ── */

static const char *const steps[] = {"Tool execution started", "Tool processing data", "Tool execution completed"};

static void log_line(struct mcp_request *r, const char *text)
{
	json_t *meta = json_object_get(r->params, "_meta");
	bool is_wanted = mcp_era(r) == MCP_LEGACY || json_object_get(meta, "io.modelcontextprotocol/logLevel");
	if (is_wanted)
		mcp_notify(r, "notifications/message", json_pack("{s:s, s:s}", "level", "info", "data", text));
}

static void next_step(struct mcp_request *r)
{
	int *step = mcp_state(r);
	if (strcmp(name_of(r), "test_tool_with_progress") != 0)
		log_line(r, steps[*step]);
	else if (r->progress_token)
		mcp_notify(r, "notifications/progress",
			   json_pack("{s:O, s:i, s:i}", "progressToken", r->progress_token, "progress", *step * 50,
				     "total", 100));
	if (++*step == 3)
		mcp_reply(r, mcp_tool_text("done", NULL, false));
	else
		mcp_wait(r, -1, mcp_now_ms() + 50, next_step);
}

static void take_steps(struct mcp_request *r, json_t *arguments)
{
	(void)arguments;
	mcp_keep(r, calloc(1, sizeof(int)), free, NULL);
	next_step(r);
}

/* ── Tools that ask ── */

static const struct row questions[] = {
	{"test_elicitation_sep1034_defaults",
	 "{\"defaults\":" ELICIT("Check",
				 "\"name\":{\"type\":\"string\",\"default\":\"John Doe\"},\"age\":{\"type\":"
				 "\"integer\",\"default\":30},\"score\":{\"type\":\"number\",\"default\":95.5},"
				 "\"status\":{\"type\":\"string\",\"enum\":[\"active\",\"inactive\",\"pending\"],"
				 "\"default\":\"active\"},\"verified\":{\"type\":\"boolean\",\"default\":true}") "}"},
	{"test_elicitation_sep1330_enums",
	 "{\"enums\":" ELICIT(
		 "Choose",
		 "\"untitledSingle\":{\"type\":\"string\",\"enum\":[\"option1\",\"option2\",\"option3\"]},"
		 "\"titledSingle\":{\"type\":\"string\",\"oneOf\":[{\"const\":\"value1\",\"title\":\"First Option\"},"
		 "{\"const\":\"value2\",\"title\":\"Second Option\"},{\"const\":\"value3\",\"title\":\"Third "
		 "Option\"}]},"
		 "\"legacyEnum\":{\"type\":\"string\",\"enum\":[\"opt1\",\"opt2\",\"opt3\"],\"enumNames\":[\"Option "
		 "One\","
		 "\"Option Two\",\"Option Three\"]},"
		 "\"untitledMulti\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"enum\":[\"option1\","
		 "\"option2\","
		 "\"option3\"]}},"
		 "\"titledMulti\":{\"type\":\"array\",\"items\":{\"anyOf\":[{\"const\":\"value1\",\"title\":\"First "
		 "Choice\"},{\"const\":\"value2\",\"title\":\"Second Choice\"},{\"const\":\"value3\",\"title\":\"Third "
		 "Choice\"}]}}") "}"},
	{"test_streaming_elicitation", "{\"user_name\":" ELICIT("Who?", "\"name\":{\"type\":\"string\"}") "}"},
	{"test_input_required_result_elicitation",
	 "{\"user_name\":" ELICIT("What is your name?", "\"name\":{\"type\":\"string\"}") "}"},
	{"test_input_required_result_sampling", "{\"capital_question\":" SAMPLE("What is the capital of France?") "}"},
	{"test_input_required_result_list_roots", "{\"client_roots\":" ROOTS "}"},
	{"test_input_required_result_request_state",
	 "{\"confirm\":" ELICIT("Please confirm", "\"ok\":{\"type\":\"boolean\"}") "}"},
	{"test_input_required_result_tampered_state",
	 "{\"confirm\":" ELICIT("Please confirm", "\"ok\":{\"type\":\"boolean\"}") "}"},
	{"test_input_required_result_multiple_inputs",
	 "{\"user_name\":" ELICIT("What is your name?", "\"name\":{\"type\":\"string\"}") ",\"greeting\":" SAMPLE(
		 "Generate a greeting") ",\"client_roots\":" ROOTS "}"},
	{"test_input_required_result_capabilities",
	 "{\"user_name\":" ELICIT("What is your name?", "\"name\":{\"type\":\"string\"}") ",\"greeting\":" SAMPLE(
		 "Generate a greeting") ",\"client_roots\":" ROOTS "}"},
	{"test_input_required_result_multi_round",
	 "{\"step1\":" ELICIT("Step 1: What is your name?", "\"name\":{\"type\":\"string\"}") "}"},
	{"test_input_required_result_prompt",
	 "{\"user_context\":" ELICIT("What context should the prompt use?", "\"context\":{\"type\":\"string\"}") "}"},
	{0},
};

static void tell_answers(struct mcp_request *r, json_t *answers)
{
	char *dump = json_dumps(answers, JSON_COMPACT), *text = NULL;
	json_t *answer = json_object_iter_value(json_object_iter(answers));
	json_t *content = json_object_get(answer, "content");
	const char *said = json_string_value(json_object_get(content, "text"));
	char *only = content ? json_dumps(content, JSON_COMPACT) : NULL;
	const char *action = json_string_value(json_object_get(answer, "action"));
	if (asprintf(&text, "state-ok LLM response: %s User response: Elicitation completed: action=%s, content=%s %s",
		     said ? said : "", action ? action : "", only ? only : "{}", dump) < 0)
		text = NULL;
	mcp_reply(r, mcp_tool_text(text, NULL, false));
	free(text);
	free(dump);
	free(only);
}

static void ask_second(struct mcp_request *r, json_t *answers)
{
	static const char json[] =
		"{\"step2\":" ELICIT("Step 2: What is your favorite color?", "\"color\":{\"type\":\"string\"}") "}";
	(void)answers;
	mcp_ask(r, json_loads(json, 0, NULL), tell_answers);
}

/* Only what the client can do. */
static json_t *possible(struct mcp_request *r, json_t *requests)
{
	static const struct row needs[] = {{"elicitation/create", "elicitation"},
					   {"sampling/createMessage", "sampling"},
					   {"roots/list", "roots"},
					   {0}};
	const char *key;
	json_t *request, *chosen = json_object();
	json_object_foreach(requests, key, request)
	{
		json_t *own = json_deep_copy(request);
		if (mcp_client_can(r, find(needs, json_string_value(json_object_get(request, "method")))))
			(void)json_object_set(chosen, key, own);
		if (strcmp(mcp_revision(r), "2025-06-18") == 0)
			(void)json_object_del(json_object_get(own, "params"), "mode");
		json_decref(own);
	}
	json_decref(requests);
	return chosen;
}

static void ask(struct mcp_request *r, json_t *arguments)
{
	json_t *requests = possible(r, json_loads(find(questions, name_of(r)), 0, NULL));
	bool goes_on = strcmp(name_of(r), "test_input_required_result_multi_round") == 0;
	(void)arguments;
	if (json_object_size(requests) > 0) {
		mcp_ask(r, requests, goes_on ? ask_second : tell_answers);
		return;
	}
	json_decref(requests);
	mcp_reply(r, mcp_tool_text("ERROR: the client cannot be asked", NULL, true));
}

static void ask_given(struct mcp_request *r, json_t *arguments)
{
	bool samples = strcmp(name_of(r), "test_sampling") == 0;
	json_t *request = json_loads(
		samples ? SAMPLE("") : ELICIT("", "\"username\":{\"type\":\"string\"},\"email\":{\"type\":\"string\"}"),
		0, NULL);
	json_t *params = json_object_get(request, "params");
	json_t *given = json_object_get(arguments, samples ? "prompt" : "message");
	if (samples)
		(void)json_object_set(
			json_object_get(json_array_get(json_object_get(params, "messages"), 0), "content"), "text",
			given);
	else
		(void)json_object_set(params, "message", given);
	mcp_ask(r, possible(r, json_pack("{s:o}", "given", request)), tell_answers);
}

static void need_sampling(struct mcp_request *r, json_t *arguments)
{
	(void)arguments;
	if (mcp_client_can(r, "sampling"))
		mcp_reply(r, mcp_tool_text("sampling is there", NULL, false));
	else
		mcp_fail(r, RPC_MISSING_CAPABILITY, json_pack("{s:{s:{}}}", "requiredCapabilities", "sampling"),
			 "Missing required client capability");
}

/* ── Subscriptions of 2026 ── */

static void listen_for_changes(struct mcp_request *r, json_t *params)
{
	json_t *wanted = json_object_get(params, "notifications");
	if (!json_is_object(wanted)) {
		mcp_fail(r, RPC_INVALID_PARAMS, NULL, "Invalid params: notifications must be an object");
		return;
	}
	mcp_notify(r, "notifications/subscriptions/acknowledged",
		   json_pack("{s:{s:O}, s:O}", "_meta", "io.modelcontextprotocol/subscriptionId", r->id,
			     "notifications", wanted));
	mcp_wait(r, -1, 0, NULL); /* until it is cancelled */
}

static void trigger(struct mcp_request *r, json_t *arguments)
{
	bool of_tools = strcmp(name_of(r), "test_trigger_tool_change") == 0;
	const char *field = of_tools ? "toolsListChanged" : "promptsListChanged",
		   *method = of_tools ? "notifications/tools/list_changed" : "notifications/prompts/list_changed";
	(void)arguments;
	for (struct mcp_request *o = r->server->requests; o; o = o->next)
		if (!o->is_over && o->method && strcmp(o->method->name, "subscriptions/listen") == 0 &&
		    json_is_true(json_object_get(json_object_get(o->params, "notifications"), field)))
			mcp_notify(o, method,
				   json_pack("{s:{s:O}}", "_meta", "io.modelcontextprotocol/subscriptionId", o->id));
	mcp_reply(r, mcp_tool_text("told", NULL, false));
}

/* ── Prompts, resources and the rest ── */

static const struct row prompts[] = {
	{"test_simple_prompt",
	 "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"This is a simple prompt for "
	 "testing.\"}}]}"},
	{"test_prompt_with_image",
	 "{\"messages\":[{\"role\":\"user\",\"content\":" IMAGE
	 "},{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"Please analyze the image "
	 "above.\"}}]}"},
	{0},
};

static void list_prompts(struct mcp_request *r, json_t *params)
{
	(void)params;
	mcp_reply(
		r,
		json_loads(
			"{\"prompts\":[{\"name\":\"test_simple_prompt\",\"description\":\"simple\"},"
			"{\"name\":\"test_prompt_with_arguments\",\"description\":\"arguments\",\"arguments\":["
			"{\"name\":\"arg1\",\"description\":\"first\",\"required\":true},{\"name\":\"arg2\","
			"\"description\":\"second\",\"required\":true}]},"
			"{\"name\":\"test_prompt_with_embedded_resource\",\"description\":\"embedded\",\"arguments\":["
			"{\"name\":\"resourceUri\",\"description\":\"which\",\"required\":true}]},"
			"{\"name\":\"test_prompt_with_image\",\"description\":\"image\"},"
			"{\"name\":\"test_input_required_result_prompt\",\"description\":\"asks\"}]}",
			0, NULL));
}

static json_t *message(json_t *content)
{
	return json_pack("{s:s, s:o}", "role", "user", "content", content);
}

static void answer_prompt(struct mcp_request *r, json_t *answers)
{
	char *text = json_dumps(answers, JSON_COMPACT);
	mcp_reply(r, json_pack("{s:[o]}", "messages",
			       message(json_pack("{s:s, s:s}", "type", "text", "text", text ? text : ""))));
	free(text);
}

static void get_prompt(struct mcp_request *r, json_t *params)
{
	const char *name = name_of(r), *fixed = find(prompts, name);
	json_t *given = json_object_get(params, "arguments");
	const char *one = json_string_value(json_object_get(given, "arg1")),
		   *two = json_string_value(json_object_get(given, "arg2")),
		   *uri = json_string_value(json_object_get(given, "resourceUri"));
	char text[512];
	if (fixed) {
		mcp_reply(r, json_loads(fixed, 0, NULL));
	} else if (name && strcmp(name, "test_prompt_with_arguments") == 0 && one && two) {
		(void)snprintf(text, sizeof text, "Prompt with arguments: arg1='%s', arg2='%s'", one, two);
		mcp_reply(r, json_pack("{s:[o]}", "messages",
				       message(json_pack("{s:s, s:s}", "type", "text", "text", text))));
	} else if (name && strcmp(name, "test_prompt_with_embedded_resource") == 0 && uri) {
		json_t *resource = json_pack("{s:s, s:s, s:s}", "uri", uri, "mimeType", "text/plain", "text",
					     "Embedded resource content for testing.");
		mcp_reply(r, json_pack("{s:[o, o]}", "messages",
				       message(json_pack("{s:s, s:o}", "type", "resource", "resource", resource)),
				       message(json_pack("{s:s, s:s}", "type", "text", "text",
							 "Please process the embedded resource above."))));
	} else if (name && strcmp(name, "test_input_required_result_prompt") == 0) {
		mcp_ask(r, json_loads(find(questions, name), 0, NULL), answer_prompt);
	} else {
		mcp_fail(r, RPC_INVALID_PARAMS, NULL, "Invalid params: no such prompt");
	}
}

static const struct row resources[] = {
	{"test://static-text", "{\"contents\":[{\"uri\":\"test://static-text\",\"mimeType\":\"text/"
			       "plain\",\"text\":\"This is the content of the "
			       "static text resource.\"}]}"},
	{"test://static-binary",
	 "{\"contents\":[{\"uri\":\"test://static-binary\",\"mimeType\":\"image/png\",\"blob\":\"" PNG "\"}]}"},
	{"test://watched-resource",
	 "{\"contents\":[{\"uri\":\"test://watched-resource\",\"mimeType\":\"text/plain\",\"text\":\"watched\"}]}"},
	{0},
};

static void list_resources(struct mcp_request *r, json_t *params)
{
	json_t *list = json_array();
	(void)params;
	for (const struct row *row = resources; row->name; row++)
		(void)json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s}", "uri", row->name, "name",
							    row->name + 7, "description", "a resource", "mimeType",
							    strstr(row->name, "binary") ? "image/png" : "text/plain"));
	mcp_reply(r, json_pack("{s:o}", "resources", list));
}

static void list_templates(struct mcp_request *r, json_t *params)
{
	(void)params;
	mcp_reply(r, json_loads("{\"resourceTemplates\":[{\"uriTemplate\":\"test://template/{id}/data\",\"name\":"
				"\"template\",\"description\":\"by id\",\"mimeType\":\"application/json\"}]}",
				0, NULL));
}

static void read_resource(struct mcp_request *r, json_t *params)
{
	const char *uri = json_string_value(json_object_get(params, "uri")), *fixed = find(resources, uri);
	char id[64], text[256];
	int end = 0;
	if (fixed) {
		mcp_reply(r, json_loads(fixed, 0, NULL));
	} else if (uri && sscanf(uri, "test://template/%63[^/]/data%n", id, &end) == 1 && end > 0 && !uri[end]) {
		(void)snprintf(text, sizeof text, "{\"id\":\"%s\",\"templateTest\":true,\"data\":\"Data for ID: %s\"}",
			       id, id);
		mcp_reply(r, json_pack("{s:[{s:s, s:s, s:s}]}", "contents", "uri", uri, "mimeType", "application/json",
				       "text", text));
	} else {
		mcp_fail(r, RPC_INVALID_PARAMS, uri ? json_pack("{s:s}", "uri", uri) : NULL, "Resource not found");
	}
}

static void complete(struct mcp_request *r, json_t *params)
{
	(void)params;
	mcp_reply(r, json_loads("{\"completion\":{\"values\":[\"paris\",\"park\"],\"total\":2,\"hasMore\":false}}", 0,
				NULL));
}

static void accept_quietly(struct mcp_request *r, json_t *params)
{
	(void)params;
	mcp_reply(r, json_object());
}

static const struct mcp_method methods[] = {
	{"prompts/list", MCP_BOTH, list_prompts, 60000},
	{"prompts/get", MCP_BOTH, get_prompt, -1},
	{"resources/list", MCP_BOTH, list_resources, 60000},
	{"resources/templates/list", MCP_BOTH, list_templates, 60000},
	{"resources/read", MCP_BOTH, read_resource, 60000},
	{"resources/subscribe", MCP_LEGACY, accept_quietly, -1},
	{"resources/unsubscribe", MCP_LEGACY, accept_quietly, -1},
	{"completion/complete", MCP_BOTH, complete, -1},
	{"logging/setLevel", MCP_LEGACY, accept_quietly, -1},
	{"subscriptions/listen", MCP_MODERN, listen_for_changes, -1},
	{0},
};

#define TOOL(tool, schema, function)                                                                                   \
	{                                                                                                              \
		.name = tool, .title = tool, .description = "for the conformance suite", .input_schema = schema,       \
		.call = function                                                                                       \
	}

static const struct mcp_tool tools[] = {
	TOOL("test_simple_text", NO_ARGUMENTS, say),
	TOOL("test_image_content", NO_ARGUMENTS, say),
	TOOL("test_audio_content", NO_ARGUMENTS, say),
	TOOL("test_embedded_resource", NO_ARGUMENTS, say),
	TOOL("test_multiple_content_types", NO_ARGUMENTS, say),
	TOOL("test_error_handling", NO_ARGUMENTS, say),
	TOOL("test_tool_with_logging", NO_ARGUMENTS, take_steps),
	TOOL("test_logging_tool", NO_ARGUMENTS, take_steps),
	TOOL("test_tool_with_progress", NO_ARGUMENTS, take_steps),
	TOOL("test_sampling", ARGUMENT("prompt"), ask_given),
	TOOL("test_elicitation", ARGUMENT("message"), ask_given),
	TOOL("test_elicitation_sep1034_defaults", NO_ARGUMENTS, ask),
	TOOL("test_elicitation_sep1330_enums", NO_ARGUMENTS, ask),
	TOOL("test_streaming_elicitation", NO_ARGUMENTS, ask),
	TOOL("test_input_required_result_elicitation", NO_ARGUMENTS, ask),
	TOOL("test_input_required_result_sampling", NO_ARGUMENTS, ask),
	TOOL("test_input_required_result_list_roots", NO_ARGUMENTS, ask),
	TOOL("test_input_required_result_request_state", NO_ARGUMENTS, ask),
	TOOL("test_input_required_result_tampered_state", NO_ARGUMENTS, ask),
	TOOL("test_input_required_result_multiple_inputs", NO_ARGUMENTS, ask),
	TOOL("test_input_required_result_capabilities", NO_ARGUMENTS, ask),
	TOOL("test_input_required_result_multi_round", NO_ARGUMENTS, ask),
	TOOL("test_missing_capability", NO_ARGUMENTS, need_sampling),
	TOOL("test_trigger_tool_change", NO_ARGUMENTS, trigger),
	TOOL("test_trigger_prompt_change", NO_ARGUMENTS, trigger),
	{0},
};

/* ── Over HTTP: what airlock serve does with airlock's own tools ── */

static void post(struct http_request *r)
{
	http_mcp_post(http_data(r), r);
}

static void end_session(struct http_request *r)
{
	http_mcp_delete(http_data(r), r);
}

static const struct http_route http_routes[] = {
	{"POST", "/mcp", post, HTTP_NO_TOKEN, (size_t)16 << 20},
	{"DELETE", "/mcp", end_session, HTTP_NO_TOKEN},
	{"GET", "/mcp", http_mcp_refuse, HTTP_NO_TOKEN},
	{0},
};
static const struct http_route *const http_tables[] = {http_routes, NULL};

static int serve_http(const struct mcp_spec *spec, const char *address)
{
	struct airlock_error err = {0};
	struct http_options options = {.listen_fd = -1, .idle_seconds = 60, .max_connections = 200};
	const struct http_mcp_app app = {.spec = spec};
	struct http_loop *loop = http_loop_new();
	struct http_mcp *mcp = loop ? http_mcp_new(loop, &app) : NULL;
	const struct http_app http = {.routes = http_tables, .data = mcp};
	struct http_server *server = NULL;
	bool is_loopback = false;
	if (!mcp || http_listen(address, &options.listen_fd, &options.port, &is_loopback, &err) < 0 ||
	    http_server_start(loop, &http, &options, &server, &err) < 0) {
		(void)fprintf(stderr, "fixture: %s\n", err.message);
		return 1;
	}
	(void)printf("%u\n", options.port);
	(void)fflush(stdout);
	return http_loop_run(loop) < 0; /* until it is killed */
}

int main(int argc, char **argv)
{
	const struct mcp_spec spec = {.name = "fixture",
				      .title = "conformance fixture",
				      .version = "1",
				      .instructions = "for the conformance suite",
				      .capabilities =
					      "{\"prompts\":{\"listChanged\":true},\"resources\":{\"subscribe\":true},"
					      "\"completions\":{},\"logging\":{}}",
				      .tools = tools,
				      .methods = methods};
	if (argc == 3 && strcmp(argv[1], "--http") == 0)
		return serve_http(&spec, argv[2]);
	return mcp_serve(&spec, STDIN_FILENO, STDOUT_FILENO) < 0;
}
