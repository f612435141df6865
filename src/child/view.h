/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The native backend: carries out the plan in CHILD_FD_PLAN and returns without any privilege left; see view.c.
 * Freestanding. */
void view_build(void);
