/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "file_tools.h"

void tool_glob(struct mcp_request *r, json_t *arguments)
{
	struct airlock_error err = {0};
	struct airlock_files *result = NULL;
	struct airlock_place *place = files_place(r);
	if (!place)
		return;
	int rc = airlock_files_glob(place, files_string(arguments, "pattern"), files_string(arguments, "path"),
				    files_number(arguments, "max", 1000), &result, &err);
	files_reply(r, place, rc, result, &err);
}
