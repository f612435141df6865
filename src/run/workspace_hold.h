/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a server keeps of a workspace from one command to the next: its mount points and, from the second command on, its mounts. */
#pragma once

#include "run/job.h"

/* The mount namespace of the hold that the job uses, borrowed. 0: the sandbox makes its own. */
int workspace_hold_view(struct airlock_job *job);
/* It did not work. */
void workspace_hold_drop_view(struct airlock_job *job);
