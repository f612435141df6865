/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The database, opened when it is needed.
 *
 *   _cleanup_store_ struct store *store = NULL;
 *   rc = store_open(state_dir, STORE_WAIT_MS, &store, err);
 *   store_begin(store, err); … store_commit(store, err);      several changes that belong together
 *
 * Several processes may use it at once: whoever comes second waits, up to the time given. Every function that changes
 * something is a transaction of its own outside store_begin. Times are nanoseconds since 1970, paths and commands bytes.
 *
 * AIRLOCK_ERR_CORRUPT: damaged; AIRLOCK_ERR_INVALID: of a newer airlock, or not a database of ours; AIRLOCK_ERR_BUSY:
 * waited in vain; AIRLOCK_ERR_IO: read-only, full, unreadable. The message names the file, the hint the way out.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"

#include <stdint.h>

#define STORE_FILE "airlock.db"
#define STORE_WAIT_MS 60000

struct store;

/* Creates the directory and the database if they are missing, and upgrades an older one. */
int store_open(const char *state_dir, int wait_ms, struct store **ret, struct airlock_error *err);
/* AIRLOCK_ERR_NOT_FOUND instead of creating a new one: for readers. */
int store_open_existing(const char *state_dir, int wait_ms, struct store **ret, struct airlock_error *err);
/* How long to wait for another process's transaction from now on. */
void store_set_wait(struct store *s, int wait_ms);
void store_close(struct store *s); /* rolls back what was not committed */
void store_closep(struct store **s);
#define _cleanup_store_ _cleanup_(store_closep)

int store_begin(struct store *s, struct airlock_error *err);
int store_commit(struct store *s, struct airlock_error *err);
void store_rollback(struct store *s);
/* Many transactions follow: checkpoint rarely, until the first transaction after false. */
void store_bulk(struct store *s, bool on);

int64_t store_now(void);
