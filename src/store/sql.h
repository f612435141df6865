/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Prepared statements, for the files of this folder only.
 *
 *   _cleanup_sql_ struct sql q = sql_begin(store, "SELECT path FROM file WHERE id = ?", err);
 *   sql_bind_int(&q, id);
 *   while (sql_next(&q))
 *           path = sql_text(&q, 0);
 *   return q.rc;
 *
 * The first failure is kept in rc and fills err; later calls do nothing.
 */
#pragma once

#include "base/error.h"
#include "store/store.h"

#include <sqlite3.h>
#include <stdbool.h>

struct store {
	sqlite3 *db;
	char *file;
	int wait_ms;
	bool in_transaction;
	sqlite3_stmt *put_file, *put_files; /* kept between calls */
};

struct sql {
	struct store *store;
	sqlite3_stmt *stmt;
	struct airlock_error *err;
	int next; /* number of the parameter that is bound next */
	int rc;
};

struct sql sql_begin(struct store *s, const char *text, struct airlock_error *err);
void sql_bind_int(struct sql *q, int64_t value);
void sql_bind_text(struct sql *q, const char *value); /* NULL binds NULL; borrowed until sql_done or sql_reset */
void sql_bind_blob(struct sql *q, const char *value); /* a string of bytes, without its NUL */
bool sql_next(struct sql *q);			      /* true: there is a row */
int sql_run(struct sql *q);			      /* to the end; 0 or a code */
void sql_reset(struct sql *q);			      /* for binding and running again */
void sql_done(struct sql *q);
#define _cleanup_sql_ _cleanup_(sql_done)

int64_t sql_int(struct sql *q, int column);
bool sql_is_null(struct sql *q, int column);
/* A copy, owned by the caller; "" for NULL. Out of memory sets rc. */
char *sql_text(struct sql *q, int column);

/* One statement without parameters or result. */
int sql_exec(struct store *s, const char *text, struct airlock_error *err);
/* SQLite's current error, in our words. */
int sql_error(struct store *s, const char *op, struct airlock_error *err);

/* migrations.c */
int store_schema_upgrade(struct store *s, struct airlock_error *err); /* in a transaction */
int store_schema_version(struct store *s, int *ret, struct airlock_error *err);
int store_schema_latest(void);
int store_schema_check_empty(struct store *s, struct airlock_error *err); /* AIRLOCK_ERR_INVALID: it is not */
/* Runs the first `version` migrations on an empty database: for tests of upgrades. */
int store_schema_create(struct store *s, int version, struct airlock_error *err);
