/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Restrictions that a process puts on itself before it executes the command, and cannot undo. Freestanding. */
#pragma once

#include "child/child_job.h"

/* With CHILD_RULESET: drops all capabilities and enforces the ruleset at CHILD_FD_ARGS. Returns 0 or -errno. */
long confine_files(const struct child_job *job);

/* Installs the job's system call filter, for this process and all its descendants. listened: the filter of notify.h is
 * installed already, and handles what refused.h names. Returns 0 or -errno. */
long confine_calls(const struct child_job *job, int listened);
