/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "child/launch.h"

/* In the child; returns only when it failed: -errno, with l->failed_call set. */
int child_exec(struct launch *l);

/* In a process that has just made a user namespace: its own ids are the same in there. 0, or -errno with l->failed_call set. */
int child_map_ids(struct launch *l);

/* May the caller make mounts without a user namespace of its own? */
int child_is_privileged(void);
