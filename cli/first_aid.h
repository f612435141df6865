/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* When a run fails because of the machine: prints what the doctor finds, unasked. */
#pragma once

#include <stdbool.h>

#include <airlock/airlock.h>

/* In the sandbox of an agent that we know, says that in one line instead of the error, for the model and for the person who reads over
 * its shoulder. False: it is something else, and nothing was said. */
bool first_aid_around(const struct airlock_error *failure);

/* On stderr, after the error. Prints nothing if the machine is not the reason, if it finds nothing wrong, or if it
 * printed the same within the last day: the error's hint names the doctor. */
void first_aid(const struct airlock_settings *s, const struct airlock_error *failure);
