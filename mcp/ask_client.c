/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Questions to the client, and its answers.
 *
 * 2025: we send requests with our own ids, and match the client's responses. 2026: we answer the request with the
 * question and a token, and it comes again with the answers and the token. The token is 256 random bits without
 * meaning: its state is kept here, for ten minutes, for one use, and only for a request that is the same in every
 * byte. The question is kept too: if the same request leads to another question by then (someone edited the
 * configuration), the old answer does not count. */
#include "server_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* ── 2025 ── */

static void send_requests(struct mcp_request *r, json_t *requests)
{
	const char *key;
	json_t *request;
	r->asking.waiting = json_object();
	json_object_foreach(requests, key, request)
	{
		char id[32];
		(void)snprintf(id, sizeof id, "ask-%lld", (long long)++r->server->next_id);
		json_t *own_id = json_string(id);
		(void)json_object_set_new(r->asking.waiting, id, json_string(key));
		mcp_send(r->server, r,
			 rpc_request(own_id, json_string_value(json_object_get(request, "method")),
				     json_incref(json_object_get(request, "params"))),
			 false);
		json_decref(own_id);
	}
}

/* Nobody waits for the answers any more. */
void mcp_withdraw_questions(struct mcp_request *r)
{
	const char *id;
	json_t *key;
	json_object_foreach(r->asking.waiting, id, key) mcp_send(
		r->server, r, rpc_request(NULL, "notifications/cancelled", json_pack("{s:s}", "requestId", id)), false);
	json_decref(r->asking.waiting);
	r->asking.waiting = NULL;
}

void mcp_take_response(struct mcp_server *s, const struct rpc_message *m)
{
	const char *id = json_string_value(m->id);
	for (struct mcp_request *r = s->requests; r && id; r = r->next) {
		json_t *key = r->is_over ? NULL : json_object_get(r->asking.waiting, id);
		if (!key)
			continue;
		(void)json_object_set_new(r->asking.answers, json_string_value(key),
					  m->result ? json_incref(m->result) : json_null());
		(void)json_object_del(r->asking.waiting, id);
		if (json_object_size(r->asking.waiting) > 0)
			return;
		json_t *answers = r->asking.answers;
		r->asking.answers = NULL;
		r->asking.answered(r, answers);
		json_decref(answers);
		return;
	}
}

/* ── 2026 ── */

static void free_round(struct mcp_round *round)
{
	free(round->binding);
	json_decref(round->asked);
	json_decref(round->answers);
	*round = (struct mcp_round){0};
}

static void remove_round(struct mcp_server *s, size_t i)
{
	free_round(&s->rounds[i]);
	s->n_rounds--;
	memmove(&s->rounds[i], &s->rounds[i + 1], (s->n_rounds - i) * sizeof s->rounds[0]);
}

/* The oldest are at the front. */
static void forget_old_rounds(struct mcp_server *s)
{
	while (s->n_rounds > 0 && (s->rounds[0].expires_ms < mcp_now_ms() || s->n_rounds == MCP_ROUNDS_MAX))
		remove_round(s, 0);
}

void mcp_rounds_done(struct mcp_server *s)
{
	while (s->n_rounds > 0)
		remove_round(s, s->n_rounds - 1);
}

/* Everything that defines the request, in a fixed order. */
static char *binding_of(const struct mcp_request *r)
{
	json_t *params = json_copy(r->params);
	(void)json_object_del(params, "_meta");
	(void)json_object_del(params, "requestState");
	(void)json_object_del(params, "inputResponses");
	json_t *whole = json_pack("{s:s, s:o}", "method", r->method->name, "params", params);
	char *text = whole ? json_dumps(whole, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
	json_decref(whole);
	return text;
}

static bool make_token(char token[65])
{
	unsigned char random[32];
	if (getrandom(random, sizeof random, 0) != sizeof random)
		return false;
	for (size_t i = 0; i < sizeof random; i++)
		(void)snprintf(token + 2 * i, 3, "%02x", random[i]);
	return true;
}

static json_t *merged(json_t *earlier, json_t *now)
{
	json_t *all = earlier ? json_copy(earlier) : json_object();
	(void)json_object_update(all, now);
	return all;
}

/* Ends this request; the client must send it again. */
static void require_input(struct mcp_request *r, json_t *missing)
{
	struct mcp_server *s = r->server;
	struct mcp_round round = {.expires_ms = mcp_now_ms() + MCP_ROUND_MS, .binding = binding_of(r)};
	if (!round.binding || !make_token(round.token)) {
		free(round.binding);
		mcp_fail(r, RPC_INTERNAL_ERROR, NULL, "cannot keep the question");
		return;
	}
	round.asked = merged(r->asked, missing);
	round.answers = r->answers ? json_incref(r->answers) : json_object();
	forget_old_rounds(s);
	s->rounds[s->n_rounds++] = round;
	mcp_reply(r, json_pack("{s:s, s:O, s:s}", "resultType", "input_required", "inputRequests", missing,
			       "requestState", round.token));
}

/* The requests that have no answer yet. */
static json_t *unanswered(const struct mcp_request *r, json_t *requests)
{
	const char *key;
	json_t *request, *missing = json_object();
	json_object_foreach(requests, key, request) if (!json_object_get(r->answers, key) ||
							!json_equal(json_object_get(r->asked, key), request))(void)
		json_object_set(missing, key, request);
	return missing;
}

static bool refuse(struct mcp_request *r, const char *why)
{
	mcp_fail(r, RPC_INVALID_PARAMS, NULL, why);
	return false;
}

static bool responses_are_objects(json_t *responses)
{
	const char *key;
	json_t *response;
	json_object_foreach(responses, key, response) if (!json_is_object(response)) return false;
	return true;
}

/* Accepts only answers to what was asked; ignores everything else. */
static void take_answers(struct mcp_request *r, const struct mcp_round *round, json_t *responses)
{
	const char *key;
	json_t *response;
	r->asked = json_incref(round->asked);
	r->answers = json_copy(round->answers);
	json_object_foreach(responses, key, response) if (json_object_get(r->asked, key))(void)
		json_object_set(r->answers, key, response);
}

bool mcp_take_round(struct mcp_request *r)
{
	json_t *state = json_object_get(r->params, "requestState"),
	       *responses = json_object_get(r->params, "inputResponses");
	struct mcp_server *s = r->server;
	if (responses && (!json_is_object(responses) || !responses_are_objects(responses)))
		return refuse(r, "Invalid params: inputResponses must be an object of objects");
	if (!state)
		return true;
	if (!json_is_string(state))
		return refuse(r, "Invalid params: requestState must be a string");
	forget_old_rounds(s);
	for (size_t i = 0; i < s->n_rounds; i++) {
		if (strcmp(s->rounds[i].token, json_string_value(state)) != 0)
			continue;
		char *binding = binding_of(r);
		bool is_same = binding && strcmp(binding, s->rounds[i].binding) == 0;
		free(binding);
		if (is_same)
			take_answers(r, &s->rounds[i], responses);
		remove_round(s, i); /* one use, whatever the result */
		return is_same || refuse(r, "Invalid params: requestState belongs to another request");
	}
	return refuse(r, "Invalid params: requestState is not known, was used already, or is too old");
}

void mcp_ask(struct mcp_request *r, json_t *requests, mcp_answered *answered)
{
	if (r->era == MCP_LEGACY) {
		json_decref(r->asking.waiting);
		json_decref(r->asking.answers);
		r->asking = (struct mcp_asking){.answered = answered, .answers = json_object()};
		send_requests(r, requests);
	} else {
		json_t *missing = unanswered(r, requests);
		if (json_object_size(missing) > 0)
			require_input(r, missing);
		else
			answered(r, r->answers);
		json_decref(missing);
	}
	json_decref(requests);
}
