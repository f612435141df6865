/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "front.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A run of ours that left nothing behind is still a run. */
static bool reply_empty(struct mcp_request *r, const char *run)
{
	struct front *f = front_of(r);
	char json[128];
	if (strcmp(run, "last") == 0 && front_last_run(f))
		run = front_last_run(f);
	if (!front_is_own_run(f, run))
		return false;
	(void)snprintf(json, sizeof json, "{\"run\": \"%.47s\", \"state\": \"none\", \"files\": []}", run);
	front_reply(r, "Nothing was changed\n", json);
	return true;
}

void tool_list_changes(struct mcp_request *r, json_t *arguments)
{
	struct airlock_error err = {0};
	struct airlock_settings *s = NULL;
	char id[48] = "", *json = NULL, *text = NULL;
	const char *run = json_string_value(json_object_get(arguments, "run"));
	int rc = front_settings(r, &s, &err);
	if (rc >= 0)
		rc = front_find_run(r, s, run, id, &err);
	if (rc >= 0)
		rc = airlock_changes_show(s, id, 1, &json, &err);
	if (rc >= 0)
		rc = airlock_changes_show(s, id, 0, &text, &err);
	if (rc >= 0) {
		char *head = strdup("Changes:\n");
		head = front_join(head, text);
		front_reply(r, *text ? head : "Nothing was changed\n", json);
		free(head);
	} else if (rc != AIRLOCK_ERR_NOT_FOUND || !reply_empty(r, run)) {
		front_fail(r, &err);
	}
	airlock_free(json);
	airlock_free(text);
	airlock_settings_free(s);
}
