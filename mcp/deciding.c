/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "deciding.h"

#include <stdio.h>
#include <stdlib.h>

void deciding_reply(struct mcp_request *r, const struct airlock_settings *s, const char *run, const char *did,
		    size_t count, const char *text)
{
	struct airlock_error err = {0};
	char head[128], *json = NULL;
	if (airlock_changes_show(s, run, 1, &json, &err) < 0) {
		front_fail(r, &err);
		return;
	}
	json_t *data = json_loads(json, 0, NULL);
	if (data)
		(void)json_object_set_new(data, "count", json_integer((json_int_t)count));
	(void)snprintf(head, sizeof head, "%zu path%s of run %s %s\nChanges:\n", count, count == 1 ? "" : "s", run,
		       did);
	char *whole = NULL;
	if (asprintf(&whole, "%s%s", head, text) < 0)
		whole = NULL;
	mcp_reply(r, data && whole ? mcp_tool_text(whole, data, false) : NULL);
	free(whole);
	airlock_free(json);
}
