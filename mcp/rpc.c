/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rpc.h"

#include <stdbool.h>
#include <string.h>

/* Checked before the parser, which recurses: the depth of the brackets, and the length of the longest string. */
static const char *check_shape(const char *line, size_t len)
{
	size_t depth = 0, string = 0;
	bool in_string = false;
	for (size_t i = 0; i < len; i++) {
		char c = line[i];
		if (in_string) {
			if (++string > RPC_STRING_MAX)
				return "a string is longer than 12 MiB";
			if (c == '\\')
				i++;
			else if (c == '"')
				in_string = false;
		} else if (c == '"') {
			in_string = true;
			string = 0;
		} else if (c == '{' || c == '[') {
			if (++depth > RPC_DEPTH_MAX)
				return "values are nested more than 64 deep";
		} else if ((c == '}' || c == ']') && depth > 0) {
			depth--;
		}
	}
	return NULL;
}

static struct rpc_message invalid(struct rpc_message m, int code, const char *why)
{
	m.kind = RPC_INVALID;
	m.code = code;
	m.why = why;
	return m;
}

/* Well-formed JSON that we do not accept is a bad request; anything else is not JSON. */
static struct rpc_message unreadable(const json_error_t *error)
{
	struct rpc_message m = {0};
	switch (json_error_code(error)) {
	case json_error_duplicate_key:
		return invalid(m, RPC_INVALID_REQUEST, "Invalid Request: a key is given twice in one object");
	case json_error_numeric_overflow:
		return invalid(m, RPC_INVALID_REQUEST, "Invalid Request: a number is too large");
	case json_error_null_byte_in_key:
		return invalid(m, RPC_INVALID_REQUEST, "Invalid Request: a key has a NUL character");
	default:
		return invalid(m, RPC_PARSE_ERROR, "Parse error: this line is not JSON");
	}
}

static struct rpc_message classify(struct rpc_message m)
{
	json_t *version = json_object_get(m.root, "jsonrpc"), *id = json_object_get(m.root, "id"),
	       *method = json_object_get(m.root, "method"), *params = json_object_get(m.root, "params");
	m.id = json_is_string(id) || json_is_integer(id) ? id : NULL;
	if (!json_is_string(version) || strcmp(json_string_value(version), "2.0") != 0)
		return invalid(m, RPC_INVALID_REQUEST, "Invalid Request: jsonrpc must be \"2.0\"");
	if (id && !m.id)
		return invalid(m, RPC_INVALID_REQUEST, "Invalid Request: id must be a string or an integer");
	if (!method && m.id && (json_object_get(m.root, "result") || json_object_get(m.root, "error"))) {
		m.kind = RPC_RESPONSE;
		m.result = json_object_get(m.root, "result");
		return m;
	}
	if (!json_is_string(method))
		return invalid(m, RPC_INVALID_REQUEST, "Invalid Request: method must be a string");
	m.method = json_string_value(method);
	m.params = params;
	if (params && !json_is_object(params))
		return json_is_array(params)
			       ? invalid(m, RPC_INVALID_PARAMS, "Invalid params: params must be an object")
			       : invalid(m, RPC_INVALID_REQUEST, "Invalid Request: params must be an object");
	m.kind = id ? RPC_REQUEST : RPC_NOTIFICATION;
	return m;
}

struct rpc_message rpc_read(const char *line, size_t len)
{
	struct rpc_message m = {0};
	json_error_t error;
	const char *shape = check_shape(line, len);
	if (shape)
		return invalid(m, RPC_INVALID_REQUEST, shape);
	m.root = json_loadb(line, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
	if (!m.root)
		return unreadable(&error);
	if (json_is_array(m.root))
		return invalid(m, RPC_INVALID_REQUEST, "Invalid Request: batches are not supported");
	if (!json_is_object(m.root))
		return invalid(m, RPC_INVALID_REQUEST, "Invalid Request: a message is an object");
	return classify(m);
}

void rpc_done(struct rpc_message *m)
{
	json_decref(m->root);
	*m = (struct rpc_message){0};
}

json_t *rpc_result(json_t *id, json_t *result)
{
	return json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", id, "result", result);
}

json_t *rpc_error(json_t *id, int code, const char *message, json_t *data)
{
	json_t *text = json_string(message); /* NULL if a cut left half a character */
	json_t *error = json_pack("{s:i, s:o}", "code", code, "message", text ? text : json_string("Invalid Request"));
	if (data)
		(void)json_object_set_new(error, "data", data);
	return json_pack("{s:s, s:o, s:o}", "jsonrpc", "2.0", "id", id ? json_incref(id) : json_null(), "error", error);
}

json_t *rpc_request(json_t *id, const char *method, json_t *params)
{
	json_t *m = json_pack("{s:s, s:s}", "jsonrpc", "2.0", "method", method);
	if (id)
		(void)json_object_set(m, "id", id);
	if (params)
		(void)json_object_set_new(m, "params", params);
	return m;
}
