/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What processes write that go on after their command has ended.
 *
 *   _cleanup_tail_ struct session_tail t = SESSION_TAIL_INIT;
 *   session_tail_take(&t, host, run_dir, set, err);     the command has ended: its layer gets another name, a copy takes its place
 *   …                                                   the copy becomes a step, or is applied
 *   begun_write(host, &begun of t.id, err);             from then on the layer is found again
 *
 * The layer is that of a run of its own, the tail, which has begun and not ended. Once the kernel says that nobody has it mounted
 * any more, session_hold_cut makes what was changed since the copy a step.
 */
#pragma once

#include "history/begun.h"

struct session_tail {
	char id[48];
	char *dir;
	int lock_fd;
	bool taken; /* the layer is there */
};
#define SESSION_TAIL_INIT                                                                                              \
	{                                                                                                              \
		.lock_fd = -EBADF                                                                                      \
	}
void session_tail_done(struct session_tail *t);
#define _cleanup_tail_ _cleanup_(session_tail_done)

/* The layers of run_dir belong to the tail, and copies of them to the run: both at the same moment. below: for each root the
 * directories that its layer lies on. */
int session_tail_take(struct session_tail *t, const struct host *host, const char *run_dir,
		      const struct change_set *set, const struct strs *below, struct airlock_error *err);

/* 1: somebody can still write to the layers of a set that are in dir. In doubt, too. */
bool session_layers_in_use(const struct change_set *set, const char *dir);

/* Of a tail whose processes have ended. The set's below_fd are open. Leaves in its layers only what was changed since the copy, and
 * fills the set with that. */
int session_tail_scan(struct change_set *set, const struct host *host, const char *dir, const char *tail_of,
		      struct notes *notes, struct airlock_error *err);
