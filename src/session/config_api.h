/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session/settings.h"

/* The merged configuration where no command is run; config_free. */
int config_of_settings(const struct airlock_settings *s, struct config **ret, struct airlock_error *err);
