/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Commands that answer for a person. A marked agent may not run them: invoke.c checks every command here. */
#pragma once

#include "commands.h"

/* 0, or AIRLOCK_ERR_DENIED if an agent is about to do what only a person may do. inv has its settings. */
int person_check(const struct invocation *inv, struct airlock_error *err);
