/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session/decided.h"

/* A unified diff from what the first session shows to what the second does. Both were opened to be looked at. */
int session_diff(const struct decided *a, const struct decided *b, bool colour, struct buf *out,
		 struct airlock_error *err);
