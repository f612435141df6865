/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The result of a command, cut for a model. Some clients show their model the structured result instead of the text, so it
 * has what a model needs and no more.
 *
 *   json_t *whole = json_loads(airlock_run_result_json(run), JSON_ALLOW_NUL, NULL);
 *   json_t *result = mcp_tool_text(text, run_result_brief(whole, notices), false);
 *   run_result_add_rest(result, whole);
 */
#pragma once

#include <jansson.h>

/* How it ended, its output, the first changes, and the notices: sentences about what was held or refused, and what goes on.
 * notices: borrowed; NULL: none. NULL: out of memory. */
json_t *run_result_brief(json_t *whole, json_t *notices);

/* Everything else goes where programs find it and no client shows it to a model: _meta["airlock/result"]. All changes are in
 * list_changes. */
void run_result_add_rest(json_t *result, json_t *whole);
