/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Restrictions that a process puts on itself before it executes the command, and cannot undo. Freestanding. */
#pragma once

#include "child/child_job.h"

/* With CHILD_RULESET: drops all capabilities and enforces the ruleset at CHILD_FD_ARGS. Returns 0 or -errno. */
long confine_files(const struct child_job *job);

/* Installs the job's system call filter, for this process and all its descendants. Returns 0 or -errno. */
long confine_calls(const struct child_job *job);
/* The same, and the first process answers what notify.h names. It is one program: the kernel compiles a filter when it is installed, and looks
 * at what it says about every call. Returns the listener, or -errno if the kernel does not support it; then nothing is installed. */
long confine_listened(const struct child_job *job);
