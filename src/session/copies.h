/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Capture by copy (change/copy.h) of a run in place: for backends that mount nothing.
 *
 * In the run's directory, until it is settled: copy/N, the roots as they were; origins, what the copies were made of;
 * capture, the set without changes. And copies/<run> in the state directory says that the command may have begun: whoever
 * starts next and finds it without its process puts back what was changed (I4). */
#pragma once

#include "session/layers.h"

bool copies_wanted(const struct airlock_job *job);

/* Can the roots be copied? AIRLOCK_ERR_LIMIT with their size, the limit and the ways out. */
int copies_preflight(const struct airlock_job *job, struct airlock_error *err);

/* The error: the root has so much, which is more than [capture] allows. */
int copies_too_large(const struct config *config, const char *root, const struct copy_size *size,
		     struct airlock_error *err);

/* Copies every root of c->set. From here on the command may write. AIRLOCK_ERR_BUSY: another run does. */
int copies_begin(struct session_layers *c, const struct airlock_job *job, const char *run_dir,
		 struct airlock_error *err);

/* After scanning and judging, which came to rc. The changes become applied ones; unless all of them may stay as they are
 * they are undone, so that they are held like those of a layer. Returns 1: all stay, 0: put back, or a code in c->error with
 * what is still in the project. */
int copies_settle(struct session_layers *c, const struct host *host, const char *run_dir, int rc, bool may_stay);

/* copies_recover.c: runs whose process died before they were settled. Counts them. */
int copies_recover(const struct host *host, size_t *count, struct strs *notes, struct airlock_error *err);
/* What this run began with is needed still. */
bool copies_is_pending(const struct host *host, const char *run);

/* ── For both files ── */

char *copies_marker(const struct host *host, const char *run); /* owned by the caller; NULL: no memory */
/* Names the copy of each root in the run's directory. */
int copies_name_roots(struct change_set *set, const char *run_dir, struct airlock_error *err);
/* Takes what is there over into before/, saves the record, and lets the copies go. */
int copies_adopt(struct change_set *set, const char *run_dir, struct airlock_error *err);
/* The second half of it: the record is saved, and the copies are not needed any more. */
void copies_let_go(struct change_set *set, const char *run_dir);
/* Undoes everything that is applied. */
int copies_put_back(struct change_set *set, const struct host *host, const char *run_dir, struct strs *notes,
		    struct airlock_error *err);
