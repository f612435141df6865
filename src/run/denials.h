/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a run was refused: whether it is looked at, and where it is told. */
#pragma once

#include "run/run.h"

struct airlock_settings;

/* Is it wanted, by whom; part of preparing a job. */
void denials_decide(struct airlock_job *job, const struct airlock_settings *s);

/* For the supervisor; NULL: nothing is looked at. Lives as long as the run. */
const struct denial_scene *denials_scene(struct airlock_run *run);
/* The run is over: what was seen becomes what was refused. */
void denials_settle(struct airlock_run *run);
void denials_release(struct airlock_run *run);

/* Was it looked at what the command was refused? */
bool denials_known(const struct airlock_run *run);
