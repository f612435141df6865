/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* undo, for this project only. Undoing an undone run applies it again: if that includes sensitive changes, or changes
 * that the mode held, a person must decide. */
#include "deciding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* True if the change is at or below one of these paths, which are relative to its root or absolute. */
static bool is_meant(const struct airlock_change *c, const char *const *paths)
{
	char *whole = NULL;
	bool found = !paths;
	if (asprintf(&whole, "%s/%s", c->root, c->path) < 0)
		return true;
	for (; !found && *paths; paths++) {
		const char *shown = (*paths)[0] == '/' ? whole : c->path;
		size_t len = strlen(*paths);
		while (len > 1 && (*paths)[len - 1] == '/')
			len--;
		found = strncmp(shown, *paths, len) == 0 && (shown[len] == '/' || shown[len] == '\0');
	}
	free(whole);
	return found;
}

/* Whether this undoes something, or applies it again. */
static bool has_applied(const struct airlock_settings *s, const char *id, const char *const *paths)
{
	struct airlock_changes *changes = NULL;
	bool found = false;
	if (airlock_changes_open(s, id, &changes, NULL) < 0)
		return false;
	for (size_t i = 0; !found && i < airlock_changes_count(changes); i++) {
		const struct airlock_change *c = airlock_changes_at(changes, i);
		found = c->state == AIRLOCK_CHANGE_APPLIED && is_meant(c, paths);
	}
	airlock_changes_free(changes);
	return found;
}

static int check_sensitive(const struct airlock_settings *s, const char *id, const char *const *paths,
			   struct airlock_error *err)
{
	struct airlock_asked *asked = NULL;
	int rc = has_applied(s, id, paths) ? 0 : airlock_changes_question(s, id, paths, &asked, err);
	if (rc >= 0 && asked) {
		rc = front_error(err, AIRLOCK_ERR_DENIED,
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
	char id[48] = "";
	int rc = front_settings(r, &s, &err);
	if (rc >= 0 && run)
		rc = front_find_run(r, s, run, id, &err);
	if (rc >= 0)
		rc = front_paths(arguments, &paths, &err);
	if (rc >= 0 && run)
		rc = check_sensitive(s, id, paths, &err);
	if (rc >= 0)
		rc = airlock_changes_undo(s, run ? id : NULL, paths, 0, &changes, &err);
	if (rc >= 0)
		deciding_reply(r, changes);
	else
		front_fail(r, &err);
	free(paths);
	airlock_settings_free(s);
}
