/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the search for symlinks found, kept in <state_dir>/projects/<16 hex of sha256 of the project>/links.
 *
 * Format: strings, each ended by NUL: "airlock links 1", the project (two projects may share the hash), then path and
 * target of each link, and last the SHA-256 of every byte before it.
 */
#pragma once

#include "project/links.h"

/* AIRLOCK_ERR_NOT_FOUND: never seen; AIRLOCK_ERR_CORRUPT: not one we can trust, search again; anything else: the file
 * cannot be read. ret is filled only on success. */
int memory_load(const char *state_dir, const char *project, struct links *ret, struct airlock_error *err);

/* Writes only when it differs from what is there. */
int memory_save(const char *state_dir, const char *project, const struct links *links, struct airlock_error *err);
