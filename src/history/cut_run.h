/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs that were cut short: airlock was killed while the command ran, so nobody looked at what it had changed. The record of the
 * beginning (begun.h) says where that is. The changes are found, held, and offered like those of any other run.
 *
 *   struct cut_run c = CUT_RUN_INIT;
 *   if (cut_run_open(&c, host, run, err) > 0) {
 *           cut_run_scan(&c, &notes, err);
 *           …                                    a record of the changes
 *           cut_run_finish(&c, host, &notes);
 *   }
 *   cut_run_close(&c);
 *
 * Each part can be repeated: the record of the beginning goes last.
 */
#pragma once

#include "history/begun.h"

struct cut_run {
	struct begun begun;
	char *dir;	       /* of the run */
	int run_fd, record_fd; /* both locked */
};
#define CUT_RUN_INIT                                                                                                   \
	{                                                                                                              \
		.run_fd = -EBADF, .record_fd = -EBADF                                                                  \
	}
void cut_run_close(struct cut_run *c);
#define _cleanup_cut_run_ _cleanup_(cut_run_close)

/* 1: it is a run that was cut short, and nobody else sees to it until it is closed. 0: it goes on, or another process is at it, or
 * there is nothing to see to any more. */
int cut_run_open(struct cut_run *c, const struct host *host, const char *run, struct airlock_error *err);
/* Fills c->begun.set with the changes. The caller has opened what the layers lie on, where that is not the root alone. */
int cut_run_scan(struct cut_run *c, struct notes *notes, struct airlock_error *err);
/* Its changes are recorded in set, NULL: there are none. Tells the history, and removes what nobody needs. */
void cut_run_finish(struct cut_run *c, const struct host *host, const struct change_set *set, struct notes *notes);

/* Holds the changes of all runs that were cut short, but for commands of sessions (session/session.h). Adds their number to *count.
 * One that cannot be held now becomes a note: it must not stop the others. */
int cut_runs_hold(const struct host *host, size_t *count, struct notes *notes, struct airlock_error *err);
