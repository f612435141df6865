/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* airlock's questions to the person at the client, by elicitation. */
#include "tool_context.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY "permission"
#define FIELD "decision"

/* One required field without a default: a client that accepts without asking anybody has nothing to put there. */
static json_t *schema_of(const struct airlock_question *q)
{
	json_t *names = json_array();
	for (size_t i = 0; i < q->n_choices; i++)
		(void)json_array_append_new(names, json_string(airlock_answer_name(q->choices[i])));
	return json_pack("{s:s, s:{s:{s:s, s:s, s:s, s:o}}, s:[s]}", "type", "object", "properties", FIELD, "type",
			 "string", "title", "Decision", "description",
			 q->one_time_only ? "Allow it this once, or deny it."
					  : "Allow or deny it: this once, for this session, or always.",
			 "enum", names, "required", FIELD);
}

/* A yes is an accepted form with one of the allowing words. Everything else is a no: declined, cancelled, accepted
 * without the word, with another word, or with something that is not a word. */
enum airlock_answer tool_answer(json_t *answers)
{
	json_t *reply = json_object_get(answers, KEY);
	const char *action = json_string_value(json_object_get(reply, "action"));
	const char *word = json_string_value(json_object_get(json_object_get(reply, "content"), FIELD));
	enum airlock_answer answer = AIRLOCK_DENY;
	if (!action || strcmp(action, "accept") != 0 || !word || airlock_answer_parse(word, &answer) < 0)
		return AIRLOCK_DENY;
	return answer;
}

bool tool_is_yes(enum airlock_answer answer)
{
	return answer == AIRLOCK_ALLOW_ONCE || answer == AIRLOCK_ALLOW_SESSION || answer == AIRLOCK_ALLOW_ALWAYS;
}

bool tool_ask(struct mcp_request *r, const struct airlock_question *q, mcp_answered *answered)
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
	for (size_t i = 0; i < q->n_reasons && len < size; i++)
		len += (size_t)snprintf(out + len, size - len, "%s%s", i ? ", " : "",
					airlock_question_reason_name(q->reasons[i]));
}

#define PROGRESS_MS 2000

void tool_wait_for_person(struct mcp_request *r, const struct airlock_asking *asking, int64_t since_ms,
			  void (*ready)(struct mcp_request *r))
{
	int64_t now = mcp_now_ms(), wake = mcp_wants_progress(r) ? mcp_wake_ms(r) : 0;
	if (wake && now >= wake)
		mcp_progress(r, (double)(now - since_ms) / 1000, "waiting for a person to answer a question");
	if (mcp_wants_progress(r) && now >= wake)
		wake = now + PROGRESS_MS;
	mcp_wait(r, airlock_asking_fd(asking), wake, ready);
}

void tool_deny(struct mcp_request *r, const struct airlock_question *q, bool is_ignored)
{
	struct airlock_error err = {0};
	char reasons[256];
	name_reasons(q, reasons, sizeof reasons);
	(void)tool_error(
		&err, AIRLOCK_ERR_DENIED,
		is_ignored
			? "permission is needed (%s), only a person can give it, and nobody answered in time. Nothing was done; the person finds the next such question in airlock questions"
			: "permission was denied (%s)",
		reasons);
	(void)snprintf(err.op, sizeof err.op, "ask");
	(void)snprintf(err.subject, sizeof err.subject, "%s", reasons);
	mcp_reply(r, tool_failure(&err, false, false));
}
