/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "base/notes.h"
#include "settings/host.h"

/* Finishes or reverts what was interrupted, before anything else happens to a project, and lets the history know.
 * ret_count: how many. */
int recovery_run(const struct host *host, size_t *ret_count, struct notes *notes, struct airlock_error *err);
