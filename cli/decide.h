/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shared by `apply`, `discard` and `undo`: reports what was done to an earlier run. */
#pragma once

#include <stddef.h>

#include <airlock/changes.h>

#include "commands.h"

/* The paths of `RUN [PATH...]` in the library's form: NULL if none were given. */
const char *const *decide_paths(const struct invocation *inv);

/* What `airlock changes --json` prints. */
int decide_print_json(struct airlock_changes *changes, struct airlock_error *err);

/* Prints what was done and "applied 3 changes of run 2026…", or "nothing to apply"; with --json what `airlock changes
 * --json` prints. Returns the exit status, or a negative code. */
int decide_tell(const struct invocation *inv, struct airlock_changes *changes, struct airlock_error *err);

/* Asks about the sensitive changes among these paths, if there are any and someone can answer. 1: continue. Without a
 * terminal the person who typed the command has decided: lists them on stderr only. A no is AIRLOCK_ERR_DENIED. */
int decide_confirm(const struct airlock_settings *s, const char *run, const char *const *paths, bool is_quiet,
		   struct airlock_error *err);
