/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* When a run fails because of the machine: prints what the doctor finds, unasked. */
#pragma once

#include <airlock/airlock.h>

/* On stderr, after the error. Prints nothing if the machine is not the reason, if it finds nothing wrong, or if it
 * printed the same within the last day: the error's hint names the doctor. */
void first_aid(const struct airlock_settings *s, const struct airlock_error *failure);
