/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Options and their environment variables. */
#pragma once

#include "config/merge.h"

/* First the settings of [sandbox], including the profile's name; then, once the profile is merged, those of the
 * policy. An impossible value: AIRLOCK_ERR_USAGE with the option as subject. Ignores keys that are not ours. */
int settings_apply_sandbox(struct merge *m, struct airlock_error *err);
int settings_apply_policy(struct merge *m, struct airlock_error *err);
