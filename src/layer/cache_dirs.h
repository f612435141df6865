/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The directories of caches that commands wrote to, one for each project, in <state_dir>/caches (run/caches.h has their layout).
 * Commands wrote what is in them, so it is only measured and removed, beneath descriptors. */
#pragma once

#include "base/buf.h"
#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* Opens the directory of all caches and lists the names in it. Returns a descriptor of the caller's, or -errno; -ENOENT: there
 * are no caches yet. */
int cache_dirs_open(const char *state_dir, struct strs *ret_names);
/* The project that a directory belongs to; "" for the shared one, NULL when it is not known. The caller frees it. */
char *cache_dirs_project(const char *state_dir, const char *name);
/* Empties one directory, except for the files that runs lock and the name of the project. AIRLOCK_ERR_BUSY: a run uses it. */
int cache_dirs_clear(int all_fd, const char *name, const char *project, uint64_t *ret_entries,
		     struct airlock_error *err);
/* Removes the caches of projects that no longer exist; lists these projects. */
void cache_dirs_sweep(const char *state_dir, bool dry_run, struct strs *ret_removed);
