/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* When a run fails because of the machine: what the doctor finds, without being asked. */
#pragma once

#include <airlock/airlock.h>

/* On stderr, after the error was told. Nothing when the machine is not the reason, has nothing wrong, or the same
 * was told within the last day: the error's hint names the doctor. */
void first_aid(const struct airlock_settings *s, const struct airlock_error *failure);
