/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which ids a sandbox gets besides the caller's own: decided before the run, kept in the plan (struct plan_ids). */
#pragma once

#include "run/capture.h"
#include "run/job.h"

/* Root's sandbox has the ids of base/other_ids.h where the backend can map them, this process may, and what the command gives away is
 * captured: only there ids are translated back. */
int ids_decide_others(struct airlock_job *job, struct airlock_error *err);

/* An ordinary user's roots belong to groups that a user namespace of his own does not know: has newgidmap(1) map them where
 * /etc/subgid allows it. True: job->user_ns_fd has them. False: choice->detail says why not. */
bool ids_map_groups(struct airlock_job *job, struct capture_choice *choice);
/* Closes it. */
void ids_forget_groups(struct airlock_job *job);
