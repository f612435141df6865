/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tool_context.h"
#include "words/change_lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A run of ours that changed nothing is still a run. */
static bool reply_empty(struct mcp_request *r, const char *run)
{
	struct tool_context *f = tool_context_of(r);
	char json[128];
	if (strcmp(run, "last") == 0 && tool_last_run(f))
		run = tool_last_run(f);
	if (!tool_is_own_run(f, run))
		return false;
	(void)snprintf(json, sizeof json, "{\"run\": \"%.47s\", \"state\": \"none\", \"files\": []}", run);
	tool_reply(r, "Nothing was changed\n", json);
	return true;
}

static void reply(struct mcp_request *r, struct airlock_changes *changes)
{
	char *lines = change_lines(changes, NULL), *text = NULL;
	bool is_any = airlock_changes_count(changes) > 0;
	if (lines && asprintf(&text, "%s%s", is_any ? "Changes:\n" : "Nothing was changed\n", lines) < 0)
		text = NULL;
	json_t *data = text ? tool_changes(changes) : NULL;
	mcp_reply(r, data ? mcp_tool_text(text, data, false) : NULL);
	free(lines);
	free(text);
}

void tool_list_changes(struct mcp_request *r, json_t *arguments)
{
	struct airlock_error err = {0};
	struct airlock_settings *s = NULL;
	struct airlock_changes *changes = NULL;
	char id[48] = "";
	const char *run = json_string_value(json_object_get(arguments, "run"));
	int rc = tool_settings(r, &s, &err);
	if (rc >= 0)
		rc = tool_find_run(r, s, run, id, &err);
	if (rc >= 0)
		rc = airlock_changes_open(s, id, &changes, &err);
	if (rc >= 0)
		reply(r, changes);
	else if (rc != AIRLOCK_ERR_NOT_FOUND || !reply_empty(r, run))
		tool_fail(r, &err);
	airlock_changes_free(changes);
	airlock_settings_free(s);
}
