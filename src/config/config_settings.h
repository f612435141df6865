/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Options and their environment twins. */
#pragma once

#include "config/merge.h"

/* Those about [sandbox], the profile's name among them; then, once the profile is merged, those about the policy.
 * A value that cannot be: AIRLOCK_ERR_USAGE, its subject the option. Keys that are not ours are left alone. */
int settings_apply_sandbox(struct merge *m, struct airlock_error *err);
int settings_apply_policy(struct merge *m, struct airlock_error *err);
