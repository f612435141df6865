/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which of the caller's variables the command gets. */
#pragma once

#include "plan/plan.h"

/* Fills p->envp, env_kept and env_removed from the policy and the caller's environment. */
void environment_build(struct plan *p, const struct plan_inputs *in);
