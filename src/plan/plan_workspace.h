/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The mounts of a workspace: a directory as the root, the system over it. */
#pragma once

#include "plan/plan.h"

int workspace_mounts(struct plan *p, const struct plan_inputs *in, struct airlock_error *err);
