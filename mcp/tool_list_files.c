/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "file_tools.h"

void tool_list_files(struct mcp_request *r, json_t *arguments)
{
	struct airlock_error err = {0};
	struct airlock_files *result = NULL;
	struct airlock_place *place = files_place(r);
	if (!place)
		return;
	int rc = airlock_files_ls(place, files_string(arguments, "path"), &result, &err);
	files_reply(r, place, rc, result, &err);
}
