/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a session may write: [session] disk and tmp_size, while one of its commands runs.
 *
 *   spec.look = run_usage_is_limited(job) ? run_usage_look : NULL;
 *   …
 *   run_usage_note(run);                    after the end: which limit it was killed for
 *
 * No quota of the kernel can be had without privileges, so the supervisor looks from time to time. Walking through a layer costs,
 * asking for the free space of the disk does not: as long as less has gone than the session has left, it is measured rarely. How often
 * it looks depends on how soon a fast disk could be filled.
 */
#pragma once

#include "supervise/supervise.h"

struct airlock_job;
struct airlock_run;

struct run_usage {
	int64_t measured_us, cost_us; /* when the session was last measured, and how long that took; 0: never */
	uint64_t free, left;	      /* then, on the disk, and to the nearest limit */
	uint64_t tmp;		      /* then, the bytes in /tmp */
	bool ended_session;
};

/* True if the run belongs to a session with such a limit. After run_session_begin. */
bool run_usage_is_limited(const struct airlock_job *job);
struct supervise_verdict run_usage_look(void *run);
/* True: the command was killed for such a limit, and a note says so. */
bool run_usage_note(struct airlock_run *run);
