/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a process does to itself before it executes the command, and cannot undo. Freestanding. */
#pragma once

#include "child/job.h"

/* With CHILD_RULESET: drops all capabilities, and puts the ruleset at CHILD_FD_ARGS in force. Returns 0 or -errno. */
long confine_files(const struct child_job *job);

/* Puts the job's system call filter in force, for this process and all it will ever start. listened: the filter of notify.h is in
 * force already, and refuses what refused.h names. Returns 0 or -errno. */
long confine_calls(const struct child_job *job, int listened);
