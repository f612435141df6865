/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Questions of airlock to the person in front of the client, by elicitation. */
#include "front.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY "permission"

/* How long a yes may hold, where the question can be remembered at all; without the field it is for this once. */
static json_t *schema_of(const struct airlock_question *q)
{
	json_t *properties = json_object(), *names = json_array();
	for (size_t i = 0; i < q->n_choices && !q->one_time_only; i++)
		(void)json_array_append_new(names, json_string(airlock_answer_name(q->choices[i])));
	if (json_array_size(names) > 0)
		(void)json_object_set_new(
			properties, "answer",
			json_pack("{s:s, s:s, s:s, s:O}", "type", "string", "title", "Answer", "description",
				  "For this once, for this session, or always. Left out: allow once.", "enum", names));
	json_decref(names);
	return json_pack("{s:s, s:o}", "type", "object", "properties", properties);
}

/* Accepting is a yes; which yes, or even a no, the form may say. Everything else is a no. */
enum airlock_answer front_answer(json_t *answers)
{
	json_t *reply = json_object_get(answers, KEY);
	const char *action = json_string_value(json_object_get(reply, "action"));
	json_t *word = json_object_get(json_object_get(reply, "content"), "answer");
	enum airlock_answer answer = AIRLOCK_ALLOW_ONCE;
	if (!action || strcmp(action, "accept") != 0)
		return AIRLOCK_DENY;
	if (word && (!json_is_string(word) || airlock_answer_parse(json_string_value(word), &answer) < 0))
		return AIRLOCK_DENY;
	return answer;
}

bool front_is_yes(enum airlock_answer answer)
{
	return answer == AIRLOCK_ALLOW_ONCE || answer == AIRLOCK_ALLOW_SESSION || answer == AIRLOCK_ALLOW_ALWAYS;
}

bool front_ask(struct mcp_request *r, const struct airlock_question *q, mcp_answered *answered)
{
	if (!mcp_client_can(r, "elicitation"))
		return false;
	json_t *params = json_pack("{s:s, s:o, s:o}", "mode", "form", "message", mcp_string(q->text), "requestedSchema",
				   schema_of(q));
	if (strcmp(mcp_revision(r), "2025-06-18") == 0)
		(void)json_object_del(params, "mode"); /* not known there yet */
	mcp_ask(r, json_pack("{s:{s:s, s:o}}", KEY, "method", "elicitation/create", "params", params), answered);
	return true;
}

static void name_reasons(const struct airlock_question *q, char *out, size_t size)
{
	size_t len = 0;
	out[0] = '\0';
	for (const char *const *reason = q->reasons; *reason && len < size; reason++)
		len += (size_t)snprintf(out + len, size - len, "%s%s", len ? ", " : "", *reason);
}

/* The line is given whole in the text: part of a command is another command. */
static void add_line(json_t *result, const char *line)
{
	json_t *first = json_array_get(json_object_get(result, "content"), 0);
	char *inert = airlock_text_inert(line, strlen(line)), *text = NULL;
	if (inert && asprintf(&text, "%s\nA person can do it with: %s",
			      json_string_value(json_object_get(first, "text")), inert) >= 0)
		(void)json_object_set_new(first, "text", mcp_string(text));
	free(text);
	airlock_free(inert);
}

void front_deny(struct mcp_request *r, const struct airlock_question *q, bool asked, bool is_run)
{
	struct airlock_error err = {0};
	char reasons[256];
	name_reasons(q, reasons, sizeof reasons);
	(void)front_error(&err, AIRLOCK_ERR_DENIED,
			  asked ? "permission was denied (%s)"
				: "permission is needed (%s), and this client cannot ask a person for it: it has no "
				  "elicitation",
			  reasons);
	(void)snprintf(err.op, sizeof err.op, "ask");
	(void)snprintf(err.subject, sizeof err.subject, "%s", reasons);
	if (!asked && strlen(q->grant_command) < sizeof err.hint)
		(void)snprintf(err.hint, sizeof err.hint, "%s", q->grant_command);
	json_t *result = front_failure(&err, is_run, false);
	if (!asked)
		add_line(result, q->grant_command);
	mcp_reply(r, result);
}
