/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Commands that answer for a person. An agent that is marked as one is refused them: invoke.c asks here, for every command. */
#pragma once

#include "commands.h"

/* 0, or AIRLOCK_ERR_DENIED when an agent is about to do what a person decides. inv has its settings. */
int person_check(const struct invocation *inv, struct airlock_error *err);
