/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What an agent is about to do → what it shall do instead. Pure.
 *
 *   if (hook_answer(agent, "/usr/bin/airlock", input, len, &answer, &err) < 0) block the call
 *   puts(answer)                                  {} when it is no command line, and no business of ours
 *
 * Every command line becomes `airlock run -C . -c 'COMMAND'`, also one that calls airlock itself: what an agent writes
 * there must not choose its own sandbox. All other fields of the call stay as they are.
 */
#pragma once

#include <stddef.h>

#include <airlock/airlock.h>

#include "agents.h"

#define HOOK_MAX_BYTES (8 << 20)

/* answer: one line of JSON, the caller's: free. Input that is not understood is an error, for which the call is blocked. */
int hook_answer(const struct agent *a, const char *program, const char *input, size_t len, char **ret_answer,
		struct airlock_error *err);
