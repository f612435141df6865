/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The inbox: <state>/inbox, where the history comes in. A run appends what is to be known of it and opens no database;
 * whoever looks at the history (store_open_history) moves all of it there first.
 *
 *   _cleanup_buf_ struct buf news = BUF_INIT;
 *   inbox_add_run(&news, &row);
 *   rc = inbox_put(state_dir, &news, STORE_WAIT_MS, err);
 *
 * Everything that is written of runs and of the end of the audit file goes this way, so there is one order. The news are
 * such that taking them twice, from the first on, ends where taking them once does: nothing has to remember what was taken.
 */
#pragma once

#include "store/runs.h"

#define INBOX_FILE "inbox"
#define INBOX_LARGE (256 << 10) /* the run that sees this size empties it: about five hundred runs */

/* A run that has started ("running"), or its end: once each, in this order. */
void inbox_add_run(struct buf *news, const struct store_run *run);
/* What was decided later about its changes. */
void inbox_add_changes(struct buf *news, const char *run, const char *state, int64_t count);
/* The last line of the audit file. */
void inbox_add_audit_end(struct buf *news, int64_t number, const char *hash);

/* Appends all of them or none. AIRLOCK_ERR_BUSY: waited in vain; AIRLOCK_ERR_LIMIT: the inbox is too large, because
 * nobody can move it. Returns 1 if it was appended and someone should move the inbox into the database. */
int inbox_put(const char *state_dir, const struct buf *news, int wait_ms, struct airlock_error *err);
/* Moves everything into the database, which it creates if missing. On failure everything stays where it is. */
int inbox_take_over(const char *state_dir, int wait_ms, struct airlock_error *err);
/* A descriptor of inotify that becomes readable when somebody has appended to the inbox, or moved it into the database. */
int inbox_watch(const char *state_dir, int *ret_fd, struct airlock_error *err);
