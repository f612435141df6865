/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tool_context.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INLINE_MAX ((size_t)100 << 10)

/* A long diff is a resource; the result shows its beginning, cut at a line. */
static void reply(struct mcp_request *r, const char *run, const char *text)
{
	char uri[128];
	size_t len = strlen(text), shown = len;
	if (len > INLINE_MAX)
		for (shown = INLINE_MAX; shown > 0 && text[shown - 1] != '\n';)
			shown--;
	char *part = strndup(text, shown);
	json_t *string = mcp_string(part ? part : "");
	json_t *data = json_pack("{s:s, s:O, s:I, s:b}", "run", run, "diff", string, "bytes", (json_int_t)len,
				 "truncated", shown < len);
	json_t *result = mcp_tool_text(shown ? json_string_value(string) : "Nothing differs\n", data, false);
	if (shown < len) {
		(void)snprintf(uri, sizeof uri, "airlock://run/%s/diff", run);
		(void)json_array_append_new(json_object_get(result, "content"),
					    json_pack("{s:s, s:s, s:s, s:s}", "type", "resource_link", "uri", uri,
						      "name", "diff", "mimeType", "text/x-diff"));
	}
	mcp_reply(r, result);
	json_decref(string);
	free(part);
}

void tool_diff(struct mcp_request *r, json_t *arguments)
{
	struct airlock_error err = {0};
	struct airlock_settings *s = NULL;
	const char **paths = NULL;
	char id[48] = "", *text = NULL;
	int rc = tool_settings(r, &s, &err);
	if (rc >= 0)
		rc = tool_find_run(r, s, json_string_value(json_object_get(arguments, "run")), id, &err);
	if (rc >= 0)
		rc = tool_paths(arguments, &paths, &err);
	if (rc >= 0)
		rc = airlock_changes_diff(s, id, paths, 0, &text, &err);
	if (rc >= 0)
		reply(r, id, text);
	else
		tool_fail(r, &err);
	airlock_free(text);
	free(paths);
	airlock_settings_free(s);
}
