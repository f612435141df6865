/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "plan/plan.h"

/* The plan's questions, answered by this machine's file system. */
extern const struct plan_world world_of_this_machine;
