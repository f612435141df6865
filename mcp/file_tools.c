/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "file_tools.h"

#include <string.h>

struct airlock_place *files_place(struct mcp_request *r)
{
	struct airlock_error err = {0};
	struct airlock_settings *s = NULL;
	struct airlock_place *place = NULL;
	int rc = tool_settings(r, &s, &err);
	if (rc >= 0)
		rc = airlock_place_open(s, NULL, &place, &err);
	airlock_settings_free(s);
	if (rc >= 0)
		return place;
	tool_fail(r, &err);
	return NULL;
}

void files_reply(struct mcp_request *r, struct airlock_place *place, int rc, struct airlock_files *result,
		 const struct airlock_error *err)
{
	if (rc < 0) {
		tool_fail(r, err);
	} else {
		const struct airlock_files_change *change = airlock_files_change(result);
		if (change && change->run)
			tool_remember_run(tool_context_of(r), change->run);
		tool_reply(r, airlock_files_text(result), airlock_files_json(result));
	}
	airlock_files_free(result);
	airlock_place_free(place);
}

const char *files_string(json_t *arguments, const char *name)
{
	const char *text = json_string_value(json_object_get(arguments, name));
	return text && *text ? text : NULL;
}

int64_t files_number(json_t *arguments, const char *name, int64_t otherwise)
{
	json_t *number = json_object_get(arguments, name);
	return json_is_number(number) ? (int64_t)json_number_value(number) : otherwise;
}
