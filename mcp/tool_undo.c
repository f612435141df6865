/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* undo, of this project only. Undoing what was undone does it again: with changes in it that are sensitive or that the mode
 * held, that is a person's. */
#include "deciding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Is the file one of these paths, or below one? Relative to its root, or absolute. */
static bool is_meant(json_t *file, const char *const *paths)
{
	const char *path = json_string_value(json_object_get(file, "path")),
		   *root = json_string_value(json_object_get(file, "root"));
	char whole[8192];
	(void)snprintf(whole, sizeof whole, "%s/%s", root ? root : "", path ? path : "");
	for (; paths && *paths; paths++) {
		const char *shown = (*paths)[0] == '/' ? whole : whole + strlen(root ? root : "") + 1;
		size_t len = strlen(*paths);
		while (len > 1 && (*paths)[len - 1] == '/')
			len--;
		if (strncmp(shown, *paths, len) == 0 && (shown[len] == '/' || shown[len] == '\0'))
			return true;
	}
	return !paths;
}

/* Is there anything to undo, or would undoing mean doing it again? */
static bool has_applied(const struct airlock_settings *s, const char *id, const char *const *paths)
{
	char *text = NULL;
	json_t *changes = airlock_changes_show(s, id, 1, &text, NULL) >= 0 ? json_loads(text, 0, NULL) : NULL, *file;
	bool found = false;
	size_t i;
	json_array_foreach(json_object_get(changes, "files"), i, file)
	{
		const char *state = json_string_value(json_object_get(file, "state"));
		found = found || (state && strcmp(state, "applied") == 0 && is_meant(file, paths));
	}
	json_decref(changes);
	airlock_free(text);
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
	size_t count = 0;
	char id[48] = "", *text = NULL, *done = NULL;
	int rc = front_settings(r, &s, &err);
	if (rc >= 0 && run)
		rc = front_find_run(r, s, run, id, &err);
	if (rc >= 0)
		rc = front_paths(arguments, &paths, &err);
	if (rc >= 0 && run)
		rc = check_sensitive(s, id, paths, &err);
	if (rc >= 0)
		rc = airlock_changes_undo(s, run ? id : NULL, paths, 0, &count, &done, &text, &err);
	if (rc >= 0)
		deciding_reply(r, s, done ? done : id, "undone", count, text);
	else
		front_fail(r, &err);
	airlock_free(text);
	airlock_free(done);
	free(paths);
	airlock_settings_free(s);
}
