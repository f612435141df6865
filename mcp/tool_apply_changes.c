/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* apply_changes: a person decides about sensitive changes and those that the mode held, whoever asks for it. */
#include "deciding.h"

#include <stdlib.h>
#include <string.h>

struct applying {
	struct airlock_settings *settings;
	struct airlock_asked *asked;
	struct airlock_asking *asking; /* a person answers elsewhere */
	int64_t started_ms;
	const char **paths;
	json_t *arguments; /* behind the paths */
	char run[TOOL_NAME_SIZE];
};

static void release(void *state)
{
	struct applying *a = state;
	airlock_asking_free(a->asking);
	airlock_asked_free(a->asked);
	airlock_settings_free(a->settings);
	json_decref(a->arguments);
	free(a->paths);
	free(a);
}

static void apply(struct mcp_request *r, struct applying *a)
{
	struct airlock_error err = {0};
	struct airlock_changes *changes = NULL;
	if (airlock_changes_apply(a->settings, a->run, a->paths, 0, &changes, &err) < 0)
		tool_fail(r, &err);
	else
		deciding_reply(r, changes);
}

static void answered(struct mcp_request *r, json_t *answers)
{
	struct applying *a = mcp_state(r);
	if (tool_is_yes(tool_answer(answers)))
		apply(r, a);
	else
		tool_deny(r, airlock_asked_question(a->asked), false);
}

/* The client cannot ask a person: the question waits where one finds it. */
static void asked_ready(struct mcp_request *r)
{
	struct applying *a = mcp_state(r);
	enum airlock_answer answer = AIRLOCK_DENY;
	if (airlock_asking_poll(a->asking, &answer) == 1)
		tool_wait_for_person(r, a->asking, a->started_ms, asked_ready);
	else if (tool_is_yes(answer))
		apply(r, a);
	else
		tool_deny(r, airlock_asked_question(a->asked), airlock_asking_is_ignored(a->asking));
}

static void ask_person(struct mcp_request *r, struct applying *a)
{
	struct airlock_error err = {0};
	a->started_ms = mcp_now_ms();
	if (airlock_question_ask(a->settings, airlock_asked_question(a->asked), &a->asking, &err) < 0)
		tool_fail(r, &err);
	else
		asked_ready(r);
}

void tool_apply_changes(struct mcp_request *r, json_t *arguments)
{
	struct airlock_error err = {0};
	struct applying *a = calloc(1, sizeof *a);
	if (!a) {
		mcp_fail(r, RPC_INTERNAL_ERROR, NULL, "out of memory");
		return;
	}
	mcp_keep(r, a, release, NULL);
	a->arguments = json_incref(arguments);
	int rc = tool_settings(r, &a->settings, &err);
	if (rc >= 0)
		rc = tool_find_decided(r, a->settings, json_string_value(json_object_get(arguments, "run")), a->run,
				       &err);
	if (rc >= 0)
		rc = tool_paths(arguments, &a->paths, &err);
	if (rc >= 0)
		rc = airlock_changes_question(a->settings, a->run, a->paths, &a->asked, &err);
	if (rc < 0) {
		tool_fail(r, &err);
	} else if (!a->asked) {
		apply(r, a);
	} else if (!tool_ask(r, airlock_asked_question(a->asked), answered)) {
		ask_person(r, a);
	}
}
