/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which ids a sandbox gets besides the caller's own: decided before the run, kept in the plan (struct plan_ids). */
#pragma once

#include "session/job.h"

/* Root's sandbox has the ids of base/ids.h where the backend can map them, this process may, and what the command gives away is
 * captured: only there ids are translated back. */
void ids_decide_others(struct airlock_job *job);
