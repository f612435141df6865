/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shared by applying, discarding and undoing: everything but the call. */
#pragma once

#include <airlock/changes.h>

#include "tool_context.h"

/* Answers with {"run", "count", "state", "files"} and the result as text. Frees the changes. */
void deciding_reply(struct mcp_request *r, struct airlock_changes *changes);
