/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "hook.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"

/* One call of a tool, as any of the agents tells it. Everything is borrowed from the input but `input`. */
struct call {
	const char *tool;
	json_t *input;	     /* the tool's own; ours */
	bool is_camel_case;  /* toolName, toolArgs: then the answer is modifiedArgs */
	bool is_shell_event; /* the command itself, beforeShellExecution: it can be refused but not rewritten */
};

static int bad_input(struct airlock_error *err, const char *what)
{
	return output_fail(err, AIRLOCK_ERR_INVALID, "standard input", "this is no tool call airlock understands: %s",
			   what);
}

/* ── Reading ── */

/* Arguments may be told as an object, or as the text of one. */
static json_t *read_arguments(json_t *value)
{
	if (json_is_object(value))
		return json_incref(value);
	return json_is_string(value) ? json_loads(json_string_value(value), JSON_REJECT_DUPLICATES, NULL) : NULL;
}

static int read_call(json_t *root, struct call *ret, struct airlock_error *err)
{
	json_t *snake = json_object_get(root, "tool_name"), *camel = json_object_get(root, "toolName");
	const char *event = json_string_value(json_object_get(root, "hook_event_name"));
	*ret = (struct call){.is_camel_case = !snake && camel,
			     .is_shell_event = !snake && !camel && event && strcmp(event, "beforeShellExecution") == 0};
	if (ret->is_shell_event) {
		ret->input = json_incref(root);
		return 0;
	}
	ret->tool = json_string_value(snake ? snake : camel);
	if (!ret->tool)
		return bad_input(err, "it names no tool");
	ret->input = read_arguments(json_object_get(root, snake ? "tool_input" : "toolArgs"));
	return 0;
}

static bool runs_commands(const struct agent *a, const struct call *call)
{
	if (call->is_shell_event)
		return true;
	size_t len = strlen(call->tool);
	for (const char *at = a->tools; *at;) {
		size_t n = strcspn(at, " ");
		if (n == len && strncmp(at, call->tool, n) == 0)
			return true;
		at += n + (at[n] == ' ');
	}
	return false;
}

/* ── Rewriting ── */

static char *wrap(const char *program, const char *command)
{
	char *first = agent_quote(program), *last = agent_quote(command), *line = NULL;
	if (first && last && asprintf(&line, "%s run -C . -c %s", first, last) < 0)
		line = NULL;
	free(first);
	free(last);
	return line;
}

/* The same call with another command. */
static json_t *rewrite(const struct call *call, const char *line)
{
	json_t *copy = json_deep_copy(call->input);
	if (copy && json_object_set_new(copy, "command", json_string(line)) == 0)
		return copy;
	json_decref(copy);
	return NULL;
}

/* ── Answering; each takes the rewritten input ── */

static json_t *answer_nested(const struct agent *a, json_t *input)
{
	if (a->answer == AGENT_TOOL_INPUT)
		return json_pack("{s:s, s:{s:s, s:o}}", "decision", "allow", "hookSpecificOutput", "hookEventName",
				 a->event, "tool_input", input);
	return json_pack("{s:{s:s, s:s, s:s, s:o}}", "hookSpecificOutput", "hookEventName", a->event,
			 "permissionDecision", "allow", "permissionDecisionReason", "airlock runs it in a sandbox",
			 "updatedInput", input);
}

static json_t *answer_with(const struct agent *a, const struct call *call, json_t *input)
{
	if (!input)
		return NULL;
	if (call->is_camel_case)
		return json_pack("{s:s, s:o}", "permissionDecision", "allow", "modifiedArgs", input);
	if (a->answer == AGENT_FLAT)
		return json_pack("{s:s, s:o}", "permission", "allow", "updated_input", input);
	return answer_nested(a, input);
}

/* Was this line made by us? Whole words of ours, so that nothing can hide behind it. */
static bool is_wrapped(const char *program, const char *command)
{
	char *first = agent_quote(program), *prefix = NULL;
	bool wrapped = false;
	if (first && asprintf(&prefix, "%s run -C . -c '", first) < 0)
		prefix = NULL;
	size_t n = prefix ? strlen(prefix) : 0, len = strlen(command);
	if (n && len > n && strncmp(command, prefix, n) == 0 && command[len - 1] == '\'') {
		const char *end = command + len - 1;
		const char *at = command + n;
		while (at < end && (*at != '\'' || (end - at > 3 && strncmp(at, "'\\''", 4) == 0)))
			at += *at == '\'' ? 4 : 1;
		wrapped = at == end;
	}
	free(first);
	free(prefix);
	return wrapped;
}

static json_t *answer_shell_event(const char *program, const char *command, const char *line)
{
	if (is_wrapped(program, command))
		return json_pack("{s:s}", "permission", "allow");
	char *text = NULL;
	if (asprintf(&text, "Commands run in a sandbox here. Run this instead: %s", line) < 0)
		return NULL;
	json_t *answer = json_pack("{s:s, s:s, s:s}", "permission", "deny", "user_message",
				   "airlock: commands run in a sandbox", "agent_message", text);
	free(text);
	return answer;
}

static json_t *make_answer(const struct agent *a, const char *program, const struct call *call, const char *command)
{
	char *line = wrap(program, command);
	json_t *answer = NULL;
	if (line && call->is_shell_event)
		answer = answer_shell_event(program, command, line);
	else if (line)
		answer = answer_with(a, call, rewrite(call, line));
	free(line);
	return answer;
}

static int answer_call(const struct agent *a, const char *program, const struct call *call, json_t **ret,
		       struct airlock_error *err)
{
	if (!runs_commands(a, call)) {
		*ret = json_object();
	} else {
		const char *command = json_string_value(json_object_get(call->input, "command"));
		if (!command)
			return bad_input(err, "it has no command");
		*ret = make_answer(a, program, call, command);
	}
	return *ret ? 0 : output_fail(err, AIRLOCK_ERR_INTERNAL, NULL, "out of memory");
}

static char *dump_line(const json_t *answer)
{
	char *text = json_dumps(answer, JSON_COMPACT), *line = NULL;
	if (text && asprintf(&line, "%s\n", text) < 0)
		line = NULL;
	free(text);
	return line;
}

int hook_answer(const struct agent *a, const char *program, const char *input, size_t len, char **ret_answer,
		struct airlock_error *err)
{
	json_error_t why;
	struct call call = {0};
	json_t *answer = NULL, *root = json_loadb(input, len, JSON_REJECT_DUPLICATES, &why);
	if (!root)
		return bad_input(err, why.text);
	int rc = json_is_object(root) ? read_call(root, &call, err) : bad_input(err, "it is no object");
	if (rc == 0)
		rc = answer_call(a, program, &call, &answer, err);
	if (rc == 0 && !(*ret_answer = dump_line(answer)))
		rc = output_fail(err, AIRLOCK_ERR_INTERNAL, NULL, "out of memory");
	json_decref(answer);
	json_decref(call.input);
	json_decref(root);
	return rc;
}
