/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The native backend: carries out the plan in CHILD_FD_PLAN and returns without any privilege left; see view.c.
 * ahead: the plan comes with CHILD_TAKE, and there is a network namespace. Freestanding. */
void view_build(int ahead);
