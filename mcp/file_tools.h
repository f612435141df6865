/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shared by the file tools: a place for the call, and the answer. */
#pragma once

#include <airlock/files.h>

#include "tool_context.h"

/* The project, or the workspace of --workspace. NULL: it could not be opened, and the request has been answered. */
struct airlock_place *files_place(struct mcp_request *r);
/* Answers with the result, or with the error; frees both. */
void files_reply(struct mcp_request *r, struct airlock_place *place, int rc, struct airlock_files *result,
		 const struct airlock_error *err);
const char *files_string(json_t *arguments, const char *name); /* NULL: not given, or empty */
int64_t files_number(json_t *arguments, const char *name, int64_t otherwise);
