/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Room for the last words of a run. A command that fills the disk fills it for us too, and changes without a record could
 * neither be found nor applied: a file of some size lies in the state directory only to be removed then. */
#pragma once

#include "base/error.h"

#include <stdbool.h>

/* Makes it when it is not there. Quietly: without it a full disk only costs more. */
void spare_keep(const char *state_dir);

/* AIRLOCK_ERR_IO when there is less room than that below dir: a command could write nothing, and what it did could not be
 * told. Better not to begin. */
int spare_check(const char *dir, struct airlock_error *err);

/* Removes it; true when that has made room. */
bool spare_spend(const char *state_dir);
