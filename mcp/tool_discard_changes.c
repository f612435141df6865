/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "deciding.h"

#include <stdlib.h>

void tool_discard_changes(struct mcp_request *r, json_t *arguments)
{
	struct airlock_error err = {0};
	struct airlock_settings *s = NULL;
	const char **paths = NULL;
	struct airlock_changes *changes = NULL;
	char id[TOOL_NAME_SIZE] = "";
	int rc = tool_settings(r, &s, &err);
	if (rc >= 0)
		rc = tool_find_decided(r, s, json_string_value(json_object_get(arguments, "run")), id, &err);
	if (rc >= 0)
		rc = tool_paths(arguments, &paths, &err);
	if (rc >= 0)
		rc = airlock_changes_discard(s, id, paths, &changes, &err);
	if (rc >= 0)
		deciding_reply(r, changes);
	else
		tool_fail(r, &err);
	free(paths);
	airlock_settings_free(s);
}
