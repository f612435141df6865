/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a run is called: "20261115-193012.482731-7f3a", in UTC. Sorts by time; of two runs the later one sorts later even
 * when the clock was set back in between. */
#pragma once

#include "base/error.h"

#include <stddef.h>

/* By the clock alone; -errno. */
int run_id_make(char *out, size_t size);

/* The name of a new directory in runs, which is made: two runs never share one. *ret_dir is owned by the caller. */
int run_id_claim(const char *runs, char *out, size_t size, char **ret_dir, struct airlock_error *err);
