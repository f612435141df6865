/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "session/ids.h"

#include "base/ids.h"
#include "session/layers.h"
#include "sys/ids.h"

void ids_decide_others(struct airlock_job *job)
{
	job->plan->ids.others = job->backend == &backend_native && layers_wanted(job) && geteuid() == 0 &&
				getegid() == 0 && sys_may_map_ids(IDS_FIRST, IDS_COUNT);
}
