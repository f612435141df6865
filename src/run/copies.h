/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Capture by copy of a run in place, for backends that mount nothing. history/copied_run.h tells what it leaves on disk. */
#pragma once

#include "history/copied_run.h"
#include "run/layers.h"

bool copies_wanted(const struct airlock_job *job);

/* Can the roots be copied? AIRLOCK_ERR_LIMIT with their size, the limit and the ways out. */
int copies_preflight(const struct airlock_job *job, struct airlock_error *err);

/* The error: the root has so much, which is more than [capture] allows. */
int copies_too_large(const struct config *config, const char *root, const struct copy_size *size,
		     struct airlock_error *err);

/* Copies every root of c->set. From here on the command may write. AIRLOCK_ERR_BUSY: another run does. */
int copies_begin(struct run_layers *c, const struct airlock_job *job, const char *run_dir, struct airlock_error *err);

/* After scanning and judging, which came to rc. The changes become applied ones; unless all of them may stay as they are
 * they are undone, so that they are held like those of a layer. Returns 1: all stay, 0: put back, or a code in c->error with
 * what is still in the project. */
int copies_settle(struct run_layers *c, const struct host *host, const char *run_dir, int rc, bool may_stay);
