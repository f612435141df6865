/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "file_tools.h"

#define LINES 2000 /* default for a model that does not say how much */

void tool_read_file(struct mcp_request *r, json_t *arguments)
{
	struct airlock_error err = {0};
	struct airlock_files *result = NULL;
	struct airlock_place *place = files_place(r);
	if (!place)
		return;
	int rc = airlock_files_read(place, files_string(arguments, "path"), files_number(arguments, "offset", 0),
				    files_number(arguments, "limit", LINES), &result, &err);
	files_reply(r, place, rc, result, &err);
}
