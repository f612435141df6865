/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "deciding.h"

#include <stdlib.h>

void tool_discard_changes(struct mcp_request *r, json_t *arguments)
{
	struct airlock_error err = {0};
	struct airlock_settings *s = NULL;
	const char **paths = NULL;
	size_t count = 0;
	char id[48] = "", *text = NULL;
	int rc = front_settings(r, &s, &err);
	if (rc >= 0)
		rc = front_find_run(r, s, json_string_value(json_object_get(arguments, "run")), id, &err);
	if (rc >= 0)
		rc = front_paths(arguments, &paths, &err);
	if (rc >= 0)
		rc = airlock_changes_discard(s, id, paths, &count, &text, &err);
	if (rc >= 0)
		deciding_reply(r, s, id, "discarded", count, text);
	else
		front_fail(r, &err);
	airlock_free(text);
	free(paths);
	airlock_settings_free(s);
}
