/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The project's links and a person's answers to them, kept in <state_dir>/projects/<16 hex of sha256 of the project>/links.
 *
 * Format: strings, each ended by NUL: "airlock links 2", the project (two projects may share the hash), then path, target and
 * state of each link, and last the SHA-256 of every byte before it. Version 1 had no states: airlock itself had taken the
 * links as roots, nobody was asked, so all of them are unanswered.
 */
#pragma once

#include "project/link_search.h"

/* AIRLOCK_ERR_NOT_FOUND: never seen; AIRLOCK_ERR_CORRUPT: not trustworthy, search again; anything else: unreadable.
 * ret is filled only on success. */
int memory_load(const char *state_dir, const char *project, struct links *ret, struct airlock_error *err);

/* Writes only if something changed. Leaves refused links out: they are judged again each time. */
int memory_save(const char *state_dir, const char *project, const struct links *links, struct airlock_error *err);

/* Between these two calls no other airlock changes the file: whoever reads it to rewrite it holds the lock. Returns a
 * descriptor to close, or an error. */
int memory_lock(const char *state_dir, const char *project, struct airlock_error *err);

int memory_forget(const char *state_dir, const char *project, struct airlock_error *err);
