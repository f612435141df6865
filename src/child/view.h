/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

/* The native backend: carries out the plan in CHILD_FD_PLAN and returns without any privilege left; see view.c. The plan of a
 * holder has no mounts, and says how long it may be idle. Freestanding. */
void view_build(int64_t *ret_idle_ms);

/* Drops the capability that bwrap left the first process so that hostile processes of its session could not inspect it. */
void view_drop_capabilities(void);
