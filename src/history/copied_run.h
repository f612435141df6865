/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A run that was captured by copy (change/scan/copy.h): its files on disk, putting its changes back, recovery after a crash.
 *
 * In the run's directory, until it is settled: copy/N, the roots as they were; origins, what the copies were made of;
 * capture, the set without changes. copies/<run> in the state directory says that the command may have begun: the next start
 * that finds it without its process puts back what was changed (I4). */
#pragma once

#include "change/change.h"
#include "settings/host.h"

char *copied_run_marker(const struct host *host, const char *run); /* the caller frees it; NULL: out of memory */
/* Names the copy of each root in the run's directory. */
int copied_run_name_roots(struct change_set *set, const char *run_dir, struct airlock_error *err);
/* Moves the copies of replaced files to before/, saves the record, and removes the other copies. */
int copied_run_adopt(struct change_set *set, const char *run_dir, struct airlock_error *err);
/* The second half of it, for a record that is saved already. */
void copied_run_let_go(struct change_set *set, const char *run_dir);
void copied_run_remove_copies(const char *run_dir);
/* Undoes everything that is applied. */
int copied_run_put_back(struct change_set *set, const struct host *host, const char *run_dir, struct notes *notes,
			struct airlock_error *err);

/* copied_run_recover.c: puts back the changes of runs whose process died before they were settled. Adds their number to
 * *count. */
int copied_run_recover(const struct host *host, size_t *count, struct notes *notes, struct airlock_error *err);
/* True if the copies of this run are needed still. */
bool copied_run_is_pending(const struct host *host, const char *run);
