/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* undo, for this project only. Undoing an undone run applies it again: if that includes sensitive changes, or changes
 * that the mode held, a person must decide. */
#include "deciding.h"

#include <stdlib.h>

static int check_sensitive(const struct airlock_settings *s, const char *id, const char *const *paths,
			   struct airlock_error *err)
{
	struct airlock_asked *asked = NULL;
	enum airlock_changes_action action = AIRLOCK_ACTION_NONE;
	int rc = airlock_changes_undo_action(s, id, paths, &action, err);
	if (rc >= 0 && action == AIRLOCK_ACTION_REDO)
		rc = airlock_changes_question(s, id, paths, &asked, err);
	if (rc >= 0 && asked) {
		rc = tool_error(err, AIRLOCK_ERR_DENIED,
				"undoing this again would apply changes that a person decides about");
	}
	airlock_asked_free(asked);
	return rc;
}

void tool_undo(struct mcp_request *r, json_t *arguments)
{
	struct airlock_error err = {0};
	struct airlock_settings *s = NULL;
	const char **paths = NULL, *run = json_string_value(json_object_get(arguments, "run"));
	struct airlock_changes *changes = NULL;
	char id[TOOL_NAME_SIZE] = "";
	int rc = tool_settings(r, &s, &err);
	if (rc >= 0 && run)
		rc = tool_find_decided(r, s, run, id, &err);
	if (rc >= 0)
		rc = tool_paths(arguments, &paths, &err);
	if (rc >= 0 && run)
		rc = check_sensitive(s, id, paths, &err);
	if (rc >= 0)
		rc = airlock_changes_undo(s, run ? id : NULL, paths, 0, &changes, &err);
	if (rc >= 0)
		deciding_reply(r, changes);
	else
		tool_fail(r, &err);
	free(paths);
	airlock_settings_free(s);
}
