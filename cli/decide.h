/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What `apply`, `discard` and `undo` have in common: telling what was done to an earlier run. */
#pragma once

#include <stddef.h>

#include <airlock/changes.h>

#include "commands.h"

/* The paths of `RUN [PATH...]` as the library wants them: NULL when none were given. */
const char *const *decide_paths(const struct invocation *inv);

/* What `airlock changes --json` prints. */
int decide_print_json(struct airlock_changes *changes, struct airlock_error *err);

/* Prints what was done and "applied 3 changes of run 2026…", or "nothing to apply"; with --json what
 * `airlock changes --json` prints. Returns the exit status, or a negative code. */
int decide_tell(const struct invocation *inv, struct airlock_changes *changes, struct airlock_error *err);

/* Asks about the sensitive changes that applying these paths would bring, when there are any and somebody is there.
 * 1: go on. Without a terminal whoever gave the command has decided: they are only listed, on stderr.
 * A no is AIRLOCK_ERR_DENIED. */
int decide_confirm(const struct airlock_settings *s, const char *run, const char *const *paths, bool is_quiet,
		   struct airlock_error *err);
