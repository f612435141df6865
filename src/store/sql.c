/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/sql.h"

#include <string.h>

/* Translates SQLite's codes into a message and a hint. */
static const struct sql_meaning {
	int sqlite;
	int code;
	const char *what;
	const char *hint;
} meanings[] = {
	{SQLITE_NOTADB, AIRLOCK_ERR_CORRUPT, "it is not a database",
	 "move it away and a new one is made; runs, backups and changes that are held are files of their own and stay"},
	{SQLITE_CORRUPT, AIRLOCK_ERR_CORRUPT, "it is damaged",
	 "move it away and a new one is made; runs, backups and changes that are held are files of their own and stay"},
	{SQLITE_BUSY, AIRLOCK_ERR_BUSY, "another airlock is using it and does not finish", "try again"},
	{SQLITE_PROTOCOL, AIRLOCK_ERR_BUSY, "too many others are using it at once", "try again"},
	{SQLITE_LOCKED, AIRLOCK_ERR_BUSY, "another airlock is using it and does not finish", "try again"},
	{SQLITE_FULL, AIRLOCK_ERR_IO, "there is no room left on the disk", "free some space, then try again"},
	{SQLITE_READONLY, AIRLOCK_ERR_IO, "it cannot be written",
	 "make the directory writable, or point XDG_STATE_HOME to one that is"},
	{SQLITE_CANTOPEN, AIRLOCK_ERR_IO, "it cannot be opened",
	 "look at the owner and the mode of the file and its directory"},
	{SQLITE_PERM, AIRLOCK_ERR_IO, "it cannot be opened",
	 "look at the owner and the mode of the file and its directory"},
	{SQLITE_NOMEM, AIRLOCK_ERR_INTERNAL, "out of memory", NULL},
};

int sql_error(struct store *s, const char *op, struct airlock_error *err)
{
	int sqlite = sqlite3_errcode(s->db) & 0xff;
	const char *text = sqlite3_errmsg(s->db);
	for (size_t i = 0; i < AL_ARRAY_LEN(meanings); i++) {
		const struct sql_meaning *m = &meanings[i];
		if (m->sqlite != sqlite)
			continue;
		base_error(err, m->code, op, s->file, "the database %s cannot be used: %s (%s)", s->file, m->what,
			   text);
		if (m->hint)
			base_hint(err, "%s", m->hint);
		return m->code;
	}
	return base_error(err, AIRLOCK_ERR_IO, op, s->file, "the database %s cannot be used: %s", s->file, text);
}

struct sql sql_begin(struct store *s, const char *text, struct airlock_error *err)
{
	struct sql q = {.store = s, .err = err, .next = 1};
	if (sqlite3_prepare_v2(s->db, text, -1, &q.stmt, NULL) != SQLITE_OK)
		q.rc = sql_error(s, "prepare", err);
	return q;
}

static void check_bind(struct sql *q, int sqlite)
{
	if (sqlite != SQLITE_OK)
		q->rc = sql_error(q->store, "bind", q->err);
	q->next++;
}

void sql_bind_int(struct sql *q, int64_t value)
{
	if (q->rc == 0)
		check_bind(q, sqlite3_bind_int64(q->stmt, q->next, value));
}

void sql_bind_text(struct sql *q, const char *value)
{
	if (q->rc == 0)
		check_bind(q, sqlite3_bind_text(q->stmt, q->next, value, -1, SQLITE_STATIC));
}

void sql_bind_blob(struct sql *q, const char *value)
{
	if (q->rc < 0)
		return;
	if (value)
		check_bind(q, sqlite3_bind_blob64(q->stmt, q->next, value, strlen(value), SQLITE_STATIC));
	else
		check_bind(q, sqlite3_bind_null(q->stmt, q->next));
}

bool sql_next(struct sql *q)
{
	if (q->rc < 0)
		return false;
	int sqlite = sqlite3_step(q->stmt);
	if (sqlite != SQLITE_ROW && sqlite != SQLITE_DONE)
		q->rc = sql_error(q->store, "step", q->err);
	return sqlite == SQLITE_ROW;
}

int sql_run(struct sql *q)
{
	while (sql_next(q))
		;
	return q->rc;
}

void sql_reset(struct sql *q)
{
	if (q->stmt)
		(void)sqlite3_reset(q->stmt);
	q->next = 1;
}

void sql_done(struct sql *q)
{
	(void)sqlite3_finalize(q->stmt);
	q->stmt = NULL;
}

int64_t sql_int(struct sql *q, int column)
{
	return sqlite3_column_int64(q->stmt, column);
}

bool sql_is_null(struct sql *q, int column)
{
	return sqlite3_column_type(q->stmt, column) == SQLITE_NULL;
}

char *sql_text(struct sql *q, int column)
{
	/* The order matters: the length is that of the form that was requested last. */
	const void *bytes = sqlite3_column_blob(q->stmt, column);
	size_t len = (size_t)sqlite3_column_bytes(q->stmt, column);
	char *copy = malloc(len + 1);
	if (!copy) {
		q->rc = base_oom(q->err);
		return NULL;
	}
	if (len > 0)
		memcpy(copy, bytes, len);
	copy[len] = '\0';
	return copy;
}

int sql_exec(struct store *s, const char *text, struct airlock_error *err)
{
	return sqlite3_exec(s->db, text, NULL, NULL, NULL) == SQLITE_OK ? 0 : sql_error(s, "exec", err);
}
