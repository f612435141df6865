/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The tables, as the list of migrations that lead to them. Never change a released migration: existing databases have
 * it. PRAGMA user_version counts the migrations that were done. */
#include "store/sql.h"

#include <stdio.h>

static const char *const migrations[] = {
	/* 1 */
	"CREATE TABLE project("
	" id INTEGER PRIMARY KEY AUTOINCREMENT,"
	" path BLOB NOT NULL UNIQUE,"
	" added INTEGER NOT NULL,"
	" scanned INTEGER NOT NULL DEFAULT 0);"
	/* A record's id is in the names of its backups: AUTOINCREMENT never reuses one for another file. */
	"CREATE TABLE file("
	" id INTEGER PRIMARY KEY AUTOINCREMENT,"
	" project_id INTEGER NOT NULL REFERENCES project(id) ON DELETE CASCADE,"
	" path BLOB NOT NULL,"
	" type TEXT NOT NULL,"
	" target BLOB,"
	" size INTEGER NOT NULL,"
	" mtime INTEGER NOT NULL,"
	" ctime INTEGER NOT NULL,"
	" inode INTEGER NOT NULL,"
	" is_text INTEGER NOT NULL,"
	" is_ignored INTEGER NOT NULL,"
	" is_deleted INTEGER NOT NULL DEFAULT 0,"
	" last_approved_copy_path BLOB NOT NULL DEFAULT x'',"
	" first_seen INTEGER NOT NULL,"
	" last_seen INTEGER NOT NULL,"
	" UNIQUE(project_id, path));"
	"CREATE TABLE backup("
	" id INTEGER PRIMARY KEY,"
	" file_id INTEGER NOT NULL REFERENCES file(id) ON DELETE CASCADE,"
	" date TEXT NOT NULL,"
	" name BLOB NOT NULL UNIQUE,"
	" run TEXT NOT NULL,"
	" created INTEGER NOT NULL,"
	" UNIQUE(file_id, date));"
	"CREATE INDEX backup_by_date ON backup(date);"
	"CREATE TABLE run("
	" id TEXT PRIMARY KEY,"
	" project BLOB NOT NULL,"
	" command BLOB NOT NULL,"
	" asked_by TEXT NOT NULL,"
	" working_dir BLOB NOT NULL,"
	" started INTEGER NOT NULL,"
	" status TEXT NOT NULL,"
	" exit_code INTEGER,"
	" changes_state TEXT NOT NULL,"
	" changes_count INTEGER NOT NULL,"
	" detail BLOB NOT NULL) WITHOUT ROWID;"
	"CREATE INDEX run_by_project ON run(project, id);"
	"CREATE TABLE permission("
	" id INTEGER PRIMARY KEY AUTOINCREMENT,"
	" kind TEXT NOT NULL,"
	" command BLOB NOT NULL,"
	" working_dir BLOB NOT NULL,"
	" project BLOB NOT NULL,"
	" profile TEXT NOT NULL,"
	" decision TEXT NOT NULL,"
	" scope TEXT NOT NULL,"
	" created INTEGER NOT NULL,"
	" UNIQUE(kind, command, working_dir, project, profile));"
	/* The last line of the audit file, so that lines cut off its end are noticed. */
	"CREATE TABLE audit("
	" id INTEGER PRIMARY KEY CHECK(id = 1),"
	" number INTEGER NOT NULL,"
	" hash TEXT NOT NULL);",
};

int store_schema_latest(void)
{
	return (int)AL_ARRAY_LEN(migrations);
}

int store_schema_version(struct store *s, int *ret, struct airlock_error *err)
{
	_cleanup_sql_ struct sql q = sql_begin(s, "PRAGMA user_version", err);
	*ret = sql_next(&q) ? (int)sql_int(&q, 0) : 0;
	return q.rc;
}

static int take_steps(struct store *s, int from, int to, struct airlock_error *err)
{
	char mark[48];
	int rc = 0;
	for (int i = from; rc == 0 && i < to; i++)
		rc = sql_exec(s, migrations[i], err);
	(void)snprintf(mark, sizeof mark, "PRAGMA user_version = %d", to);
	return rc < 0 ? rc : sql_exec(s, mark, err);
}

int store_schema_create(struct store *s, int version, struct airlock_error *err)
{
	return take_steps(s, 0, version, err);
}

/* A database with tables but without our number belongs to another program. */
int store_schema_check_empty(struct store *s, struct airlock_error *err)
{
	_cleanup_sql_ struct sql q = sql_begin(s, "SELECT count(*) FROM sqlite_schema", err);
	bool empty = !sql_next(&q) || sql_int(&q, 0) == 0;
	if (q.rc < 0 || empty)
		return q.rc;
	return base_error(err, AIRLOCK_ERR_INVALID, "open", s->file, "%s is a database of another program", s->file);
}

int store_schema_upgrade(struct store *s, struct airlock_error *err)
{
	int version, rc = store_schema_version(s, &version, err);
	if (rc == 0 && version == 0)
		rc = store_schema_check_empty(s, err);
	if (rc < 0 || version >= store_schema_latest()) /* another process was faster */
		return rc;
	return take_steps(s, version, store_schema_latest(), err);
}
