/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "file_tools.h"

void tool_grep(struct mcp_request *r, json_t *arguments)
{
	struct airlock_error err = {0};
	struct airlock_files *result = NULL;
	struct airlock_place *place = files_place(r);
	if (!place)
		return;
	int rc =
		airlock_files_grep(place, files_string(arguments, "pattern"), files_string(arguments, "path"),
				   files_string(arguments, "glob"), files_number(arguments, "max", 200), &result, &err);
	files_reply(r, place, rc, result, &err);
}
