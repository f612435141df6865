/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "deciding.h"

#include <stdio.h>
#include <stdlib.h>

#include "words/change_lines.h"

void deciding_reply(struct mcp_request *r, struct airlock_changes *changes)
{
	static const char *const did[] = {[AIRLOCK_ACTION_APPLY] = "applied",
					  [AIRLOCK_ACTION_DISCARD] = "discarded",
					  [AIRLOCK_ACTION_UNDO] = "undone",
					  [AIRLOCK_ACTION_REDO] = "undone"};
	size_t count = airlock_changes_done_count(changes);
	char *lines = change_lines_done(changes), *whole = NULL;
	json_t *data = tool_changes(changes);
	if (data)
		(void)json_object_set_new(data, "count", json_integer((json_int_t)count));
	if (lines && asprintf(&whole, "%zu path%s of run %s %s\nChanges:\n%s", count, count == 1 ? "" : "s",
			      airlock_changes_run(changes), did[airlock_changes_action(changes)], lines) < 0)
		whole = NULL;
	mcp_reply(r, data && whole ? mcp_tool_text(whole, data, false) : NULL);
	free(whole);
	free(lines);
	airlock_changes_free(changes);
}
