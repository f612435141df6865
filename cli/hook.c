/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Translates an agent's tool call into the call that runs through airlock.
 *
 * Reads the JSON of any known agent into one struct, decides whether it runs a command line, and writes the answer in
 * the agent's own format. Anything not understood is an error, which blocks the call: a hook must fail closed. */
#include "hook.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"

/* One tool call, in the form of any agent. */
struct hook_call {
	const struct agent *agent;
	json_t *root;	     /* all of it; ours */
	const char *tool;    /* borrowed from root */
	json_t *input;	     /* the tool's own; ours */
	bool is_camel_case;  /* toolName, toolArgs: then the answer is modifiedArgs */
	bool is_shell_event; /* the command itself, beforeShellExecution: it can be refused but not rewritten */
};

static int bad_input(struct airlock_error *err, const char *what)
{
	return output_fail(err, AIRLOCK_ERR_INVALID, "standard input", "airlock does not understand this tool call: %s",
			   what);
}

/* ── Reading ── */

/* Arguments may be an object, or its text. */
static json_t *read_arguments(json_t *value)
{
	if (json_is_object(value))
		return json_incref(value);
	return json_is_string(value) ? json_loads(json_string_value(value), JSON_REJECT_DUPLICATES, NULL) : NULL;
}

static int read_call(struct hook_call *c, struct airlock_error *err)
{
	json_t *snake = json_object_get(c->root, "tool_name"), *camel = json_object_get(c->root, "toolName");
	const char *event = json_string_value(json_object_get(c->root, "hook_event_name"));
	c->is_camel_case = !snake && camel;
	c->is_shell_event = !snake && !camel && event && strcmp(event, "beforeShellExecution") == 0;
	if (c->is_shell_event) {
		c->input = json_incref(c->root);
		return 0;
	}
	c->tool = json_string_value(snake ? snake : camel);
	if (!c->tool)
		return bad_input(err, "it names no tool");
	c->input = read_arguments(json_object_get(c->root, snake ? "tool_input" : "toolArgs"));
	return 0;
}

/* words: separated by spaces, or NULL */
static bool is_among(const char *words, const char *word)
{
	size_t len = strlen(word);
	for (const char *at = words; at && *at;) {
		size_t n = strcspn(at, " ");
		if (n == len && strncmp(at, word, n) == 0)
			return true;
		at += n + (at[n] == ' ');
	}
	return false;
}

static bool is_shown(const struct hook_call *c)
{
	return !c->is_shell_event && is_among(c->agent->shown_tools, c->tool);
}

bool hook_runs_command(const struct hook_call *call)
{
	return call->is_shell_event || is_among(call->agent->tools, call->tool);
}

/* ── Where the agent was started ── */

static bool is_beneath(const char *path, const char *dir)
{
	size_t len = strlen(dir);
	while (len > 1 && dir[len - 1] == '/')
		len--;
	return path && strncmp(path, dir, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

/* A person may have opened several roots: use the one that the command starts in, else the first. */
static const char *choose_root(const struct hook_call *c, json_t *roots)
{
	const char *dir = json_string_value(json_object_get(c->input, "working_directory"));
	if (!dir)
		dir = json_string_value(json_object_get(c->root, "cwd"));
	json_t *root;
	size_t i;
	json_array_foreach(roots, i, root)
	{
		const char *path = json_string_value(root);
		if (path && is_beneath(dir, path))
			return path;
	}
	return json_string_value(json_array_get(roots, 0));
}

const char *hook_start_dir(const struct hook_call *c)
{
	switch (c->agent->start) {
	case AGENT_START_CWD:
		return json_string_value(json_object_get(c->root, "cwd"));
	case AGENT_START_ROOTS:
		return choose_root(c, json_object_get(c->root, "workspace_roots"));
	case AGENT_START_OF_HOOK:
		break;
	}
	return NULL;
}

/* ── Rewriting ── */

/* Words for the line, each with a space before it; or nothing. */
struct hook_option {
	char text[80];
};

/* " --session NAME" made from the agent's own name for its session, so that its commands see one another; "" where it gives none. */
static struct hook_option session_option(const struct hook_call *c, const struct hook_place *place)
{
	static const char *const fields[] = {"session_id", "sessionId", "conversation_id"};
	static const char safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
	struct hook_option o = {""};
	const char *id = NULL;
	if (place->session) {
		(void)snprintf(o.text, sizeof o.text, " --session %.64s", place->session);
		return o;
	}
	for (size_t i = 0; !id && i < sizeof fields / sizeof *fields; i++)
		id = json_string_value(json_object_get(c->root, fields[i]));
	if (!id || !*id || strlen(id) > 48 || id[strspn(id, safe)])
		return o;
	(void)snprintf(o.text, sizeof o.text, " --session %.12s-%.48s", c->agent->name, id);
	return o;
}

/* " --end-with PID"; "" where it is not known. Not for a line that the model has to send back as it was: the agent's hooks may come
 * from several processes. */
static struct hook_option end_option(const struct hook_call *c, const struct hook_place *place)
{
	struct hook_option o = {""};
	if (place->agent_pid > 0 && !c->is_shell_event)
		(void)snprintf(o.text, sizeof o.text, " --end-with %d", place->agent_pid);
	return o;
}

/* The line before the command itself. The mark and the project come first: nothing in the command can change them. */
static char *wrap_start(const struct hook_call *c, const struct hook_place *place, const char *more)
{
	char *program = agent_quote(place->program), *project = agent_quote(place->project), *start = NULL;
	if (program && project &&
	    asprintf(&start, "%s run --agent hook:%s -p %s%s%s%s%s -C .%s -c ", program, c->agent->name, project,
		     session_option(c, place).text, end_option(c, place).text, place->shell ? " --shell " : "",
		     place->shell ? place->shell : "", more) < 0)
		start = NULL;
	free(program);
	free(project);
	return start;
}

/* Models of some agents call a program apply_patch, which is in nobody's PATH: the agent itself acts on such a line, if it is not
 * rewritten. Inside, the name is a function that calls the agent's own program, wherever that is. */
struct patching {
	char *mount, *command; /* an option that shows the program; the command with the function before it */
};

static void patching_done(struct patching *p)
{
	free(p->mount);
	free(p->command);
}

static struct patching patching_of(const struct hook_call *c, const struct hook_place *place, const char *command)
{
	struct patching p = {NULL, NULL};
	if (!c->agent->patch_option || !place->agent_program || !strstr(command, "apply_patch"))
		return (struct patching){strdup(""), strdup(command)};
	char *program = agent_quote(place->agent_program);
	if (program && asprintf(&p.mount, " --ro %s", program) < 0)
		p.mount = NULL;
	if (program && asprintf(&p.command, "apply_patch() { %s %s \"${1-$(cat)}\"; }\n%s", program,
				c->agent->patch_option, command) < 0)
		p.command = NULL;
	free(program);
	return p;
}

static char *wrap(const struct hook_call *c, const struct hook_place *place, const char *command)
{
	struct patching p = patching_of(c, place, command);
	char *start = p.mount ? wrap_start(c, place, p.mount) : NULL, *last = p.command ? agent_quote(p.command) : NULL,
	     *line = NULL;
	/* The shell never runs the second line. It is replaced by the first or, if that fails, ends; `exit` also ends an interactive one. */
	int n = !start || !last ? -1
		: is_shown(c)	? asprintf(&line, "exec %s%s || exit 127\n%s", start, last, command)
				: asprintf(&line, "%s%s", start, last);
	patching_done(&p);
	free(start);
	free(last);
	return n < 0 ? NULL : line;
}

/* The same call with another command. */
static json_t *rewrite(const struct hook_call *call, const char *line)
{
	json_t *copy = json_deep_copy(call->input);
	if (copy && json_object_set_new(copy, "command", json_string(line)) == 0)
		return copy;
	json_decref(copy);
	return NULL;
}

/* ── Answering; each takes the rewritten input ── */

/* A person who wants a plan first wants no command that changes something; the agent asks. */
static bool is_planning(const struct hook_call *c)
{
	const char *mode = json_string_value(json_object_get(c->root, "permission_mode"));
	return mode && strcmp(mode, "plan") == 0;
}

/* NULL: the person's rules decide, and without one the agent asks. */
static const char *decision_of(const struct hook_call *c)
{
	if (is_planning(c))
		return "ask";
	return c->agent->is_allow_final && is_shown(c) ? NULL : "allow";
}

/* input: NULL if the command can stay as it is. */
static json_t *answer_nested(const struct hook_call *c, json_t *input)
{
	const struct agent *a = c->agent;
	if (a->answer == AGENT_TOOL_INPUT)
		return json_pack("{s:s, s:{s:s, s:o}}", "decision", "allow", "hookSpecificOutput", "hookEventName",
				 a->event, "tool_input", input);
	const char *decision = decision_of(c);
	return json_pack("{s:{s:s, s:s*, s:s*, s:o*}}", "hookSpecificOutput", "hookEventName", a->event,
			 "permissionDecision", decision, "permissionDecisionReason",
			 decision ? "airlock runs it in a sandbox" : NULL, "updatedInput", input);
}

static json_t *answer_with(const struct hook_call *call, json_t *input)
{
	const struct agent *a = call->agent;
	if (!input)
		return NULL;
	if (call->is_camel_case)
		return json_pack("{s:s*, s:o}", "permissionDecision", decision_of(call), "modifiedArgs", input);
	if (a->answer == AGENT_FLAT)
		return json_pack("{s:s, s:o}", "permission", "allow", "updated_input", input);
	return answer_nested(call, input);
}

/* True if we made this line. Compares whole words, so that nothing can hide behind it. */
static bool is_wrapped(const struct hook_call *c, const struct hook_place *place, const char *command)
{
	char *prefix = wrap_start(c, place, "");
	bool wrapped = false;
	size_t n = prefix ? strlen(prefix) : 0, len = strlen(command);
	if (n && len > n + 1 && strncmp(command, prefix, n) == 0 && command[n] == '\'' && command[len - 1] == '\'') {
		const char *end = command + len - 1;
		const char *at = command + n + 1;
		while (at < end && (*at != '\'' || (end - at > 3 && strncmp(at, "'\\''", 4) == 0)))
			at += *at == '\'' ? 4 : 1;
		wrapped = at == end;
	}
	free(prefix);
	return wrapped;
}

static json_t *answer_shell_event(bool is_ours, const char *line)
{
	if (is_ours)
		return json_pack("{s:s}", "permission", "allow");
	char *text = NULL;
	if (asprintf(&text, "Commands run in a sandbox here. Run this instead: %s", line) < 0)
		return NULL;
	json_t *answer = json_pack("{s:s, s:s, s:s}", "permission", "deny", "user_message",
				   "airlock: commands run in a sandbox", "agent_message", text);
	free(text);
	return answer;
}

static json_t *make_answer(const struct hook_call *call, const struct hook_place *place, const char *command)
{
	char *line = wrap(call, place, command);
	json_t *answer = NULL;
	if (line && call->is_shell_event)
		answer = answer_shell_event(is_wrapped(call, place, command), line);
	else if (line)
		answer = answer_with(call, rewrite(call, line));
	free(line);
	return answer;
}

/* ── Refusing ── */

#define REFUSAL "Commands run in a sandbox here: use the tool run_command of the server airlock."

static json_t *refuse(const struct hook_call *c)
{
	const struct agent *a = c->agent;
	if (c->is_camel_case)
		return json_pack("{s:s, s:s}", "permissionDecision", "deny", "permissionDecisionReason", REFUSAL);
	if (a->answer == AGENT_FLAT)
		return json_pack("{s:s, s:s, s:s}", "permission", "deny", "user_message",
				 "airlock: commands run in a sandbox", "agent_message", REFUSAL);
	if (a->answer == AGENT_TOOL_INPUT)
		return json_pack("{s:s, s:s}", "decision", "deny", "reason", REFUSAL);
	return json_pack("{s:{s:s, s:s, s:s}}", "hookSpecificOutput", "hookEventName", a->event, "permissionDecision",
			 "deny", "permissionDecisionReason", REFUSAL);
}

/* Fields with which a model would choose the shell of our own line, or its variables. */
static bool chooses_its_shell(json_t *input)
{
	static const char *const fields[] = {"env", "environment", "shell"};
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		json_t *value = json_object_get(input, fields[i]);
		if (value && !json_is_null(value))
			return true;
	}
	return false;
}

static int answer_call(const struct hook_call *call, const struct hook_place *place, json_t **ret,
		       struct airlock_error *err)
{
	if (!hook_runs_command(call)) {
		*ret = json_object();
	} else if (place->refuses) {
		*ret = refuse(call);
	} else {
		const char *command = json_string_value(json_object_get(call->input, "command"));
		if (!command)
			return bad_input(err, "it has no command");
		if (chooses_its_shell(call->input))
			return bad_input(err, "it chooses the shell or its environment");
		if (!place->is_shell_ours)
			*ret = make_answer(call, place, command);
		else /* its own rules decide about the command that the model wrote; without one it asks, or we allow it */
			*ret = is_planning(call) ? json_object() : answer_nested(call, NULL);
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

/* ── The whole ── */

void hook_free(struct hook_call *c)
{
	if (!c)
		return;
	json_decref(c->input);
	json_decref(c->root);
	free(c);
}

int hook_read(const struct agent *a, const char *input, size_t len, struct hook_call **ret, struct airlock_error *err)
{
	json_error_t why;
	struct hook_call *c = calloc(1, sizeof *c);
	if (!c)
		return output_fail(err, AIRLOCK_ERR_INTERNAL, NULL, "out of memory");
	c->agent = a;
	c->root = json_loadb(input, len, JSON_REJECT_DUPLICATES, &why);
	int rc = !c->root		   ? bad_input(err, why.text)
		 : json_is_object(c->root) ? read_call(c, err)
					   : bad_input(err, "it is not an object");
	if (rc < 0) {
		hook_free(c);
		return rc;
	}
	*ret = c;
	return 0;
}

int hook_answer(const struct hook_call *call, const struct hook_place *place, char **ret_answer,
		struct airlock_error *err)
{
	json_t *answer = NULL;
	int rc = answer_call(call, place, &answer, err);
	if (rc == 0 && !(*ret_answer = dump_line(answer)))
		rc = output_fail(err, AIRLOCK_ERR_INTERNAL, NULL, "out of memory");
	json_decref(answer);
	return rc;
}
