/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Applying, discarding and undoing share everything but the call. */
#pragma once

#include "front.h"

/* What an answer to the call looks like: {"run", "count", "state", "files"} and the changes as text. */
void deciding_reply(struct mcp_request *r, const struct airlock_settings *s, const char *run, const char *did,
		    size_t count, const char *text);
