/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/projects.h"
#include "store/sql.h"

#define COLUMNS                                                                                                        \
	"id, path, type, target, size, mtime, ctime, inode, is_text, is_ignored, is_deleted, last_approved_copy_path," \
	" first_seen, last_seen"

void store_file_done(struct store_file *f)
{
	const char **all[] = {&f->path, &f->type, &f->target, &f->last_approved_copy_path};
	for (size_t i = 0; i < AL_ARRAY_LEN(all); i++)
		base_freep(all[i]);
}

static struct store_file read_row(struct sql *q)
{
	return (struct store_file){.id = sql_int(q, 0),
				   .path = sql_text(q, 1),
				   .type = sql_text(q, 2),
				   .target = sql_is_null(q, 3) ? NULL : sql_text(q, 3),
				   .size = sql_int(q, 4),
				   .mtime = sql_int(q, 5),
				   .ctime = sql_int(q, 6),
				   .inode = sql_int(q, 7),
				   .is_text = (int)sql_int(q, 8),
				   .is_ignored = sql_int(q, 9) != 0,
				   .is_deleted = sql_int(q, 10) != 0,
				   .last_approved_copy_path = sql_text(q, 11),
				   .first_seen = sql_int(q, 12),
				   .last_seen = sql_int(q, 13)};
}

static int find_id(struct store *s, int64_t project, const char *path, int64_t *ret_id, struct airlock_error *err)
{
	_cleanup_sql_ struct sql q = sql_begin(s, "SELECT id FROM file WHERE project_id = ? AND path = ?", err);
	sql_bind_int(&q, project);
	sql_bind_blob(&q, path);
	if (sql_next(&q))
		*ret_id = sql_int(&q, 0);
	return q.rc;
}

static void bind_file(struct sql *q, int64_t project, const struct store_file *f)
{
	sql_bind_int(q, project);
	sql_bind_blob(q, f->path);
	sql_bind_text(q, f->type);
	sql_bind_blob(q, f->target);
	sql_bind_int(q, f->size);
	sql_bind_int(q, f->mtime);
	sql_bind_int(q, f->ctime);
	sql_bind_int(q, f->inode);
	sql_bind_int(q, f->is_text);
	sql_bind_int(q, f->is_ignored);
	sql_bind_int(q, f->last_seen); /* the first time, if it is new */
	sql_bind_int(q, f->last_seen);
}

static struct sql begin_put(struct store *s, size_t rows, struct airlock_error *err)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	buf_adds(&text, "INSERT INTO file(project_id, path, type, target, size, mtime, ctime, inode, is_text,"
			" is_ignored, first_seen, last_seen) VALUES");
	for (size_t i = 0; i < rows; i++)
		buf_adds(&text,
			 i == 0 ? "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)" : ", (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
	buf_adds(&text, " ON CONFLICT(project_id, path) DO UPDATE SET type = excluded.type, target = excluded.target,"
			" size = excluded.size, mtime = excluded.mtime, ctime = excluded.ctime, inode = excluded.inode,"
			" is_text = excluded.is_text, is_ignored = excluded.is_ignored, is_deleted = 0,"
			" last_seen = excluded.last_seen");
	if (text.failed)
		return (struct sql){.store = s, .err = err, .next = 1, .rc = base_oom(err)};
	return sql_begin(s, buf_str(&text), err);
}

/* A scan inserts a hundred thousand rows: the statement is prepared once and kept. */
static int put_rows(struct store *s, sqlite3_stmt **kept, int64_t project, const struct store_file *v, size_t n,
		    struct airlock_error *err)
{
	struct sql q = {.store = s, .stmt = *kept, .err = err, .next = 1};
	if (!q.stmt) {
		q = begin_put(s, n, err);
		*kept = q.stmt;
	}
	for (size_t i = 0; i < n; i++)
		bind_file(&q, project, &v[i]);
	(void)sql_run(&q);
	sql_reset(&q);
	return q.rc;
}

int store_file_put(struct store *s, int64_t project, const struct store_file *f, int64_t *ret_id,
		   struct airlock_error *err)
{
	int rc = put_rows(s, &s->put_file, project, f, 1, err);
	return rc < 0 || !ret_id ? rc : find_id(s, project, f->path, ret_id, err);
}

/* Several rows per statement: the fixed cost of a statement is as large as that of its rows. */
int store_file_put_many(struct store *s, int64_t project, const struct store_file *v, size_t n,
			struct airlock_error *err)
{
	int rc = 0;
	for (; rc == 0 && n >= STORE_FILES_AT_ONCE; v += STORE_FILES_AT_ONCE, n -= STORE_FILES_AT_ONCE)
		rc = put_rows(s, &s->put_files, project, v, STORE_FILES_AT_ONCE, err);
	for (; rc == 0 && n > 0; v++, n--)
		rc = put_rows(s, &s->put_file, project, v, 1, err);
	return rc;
}

int store_file_find(struct store *s, int64_t project, const char *path, struct store_file *ret,
		    struct airlock_error *err)
{
	_cleanup_sql_ struct sql q =
		sql_begin(s, "SELECT " COLUMNS " FROM file WHERE project_id = ? AND path = ?", err);
	sql_bind_int(&q, project);
	sql_bind_blob(&q, path);
	if (!sql_next(&q))
		return q.rc;
	*ret = read_row(&q);
	if (q.rc < 0)
		store_file_done(ret);
	return q.rc < 0 ? q.rc : 1;
}

int store_file_set_text(struct store *s, int64_t id, int64_t ctime, bool is_text, struct airlock_error *err)
{
	_cleanup_sql_ struct sql q =
		sql_begin(s, "UPDATE file SET is_text = ? WHERE id = ? AND ctime = ? AND is_text < 0", err);
	sql_bind_int(&q, is_text);
	sql_bind_int(&q, id);
	sql_bind_int(&q, ctime);
	return sql_run(&q);
}

static int run_on(struct store *s, const char *text, int64_t id, struct airlock_error *err)
{
	_cleanup_sql_ struct sql q = sql_begin(s, text, err);
	sql_bind_int(&q, id);
	return sql_run(&q);
}

int store_file_mark_deleted(struct store *s, int64_t id, struct airlock_error *err)
{
	return run_on(s, "UPDATE file SET is_deleted = 1 WHERE id = ?", id, err);
}

int store_file_remove(struct store *s, int64_t id, struct airlock_error *err)
{
	return run_on(s, "DELETE FROM file WHERE id = ?", id, err);
}

int store_file_rename(struct store *s, int64_t id, const char *path, struct airlock_error *err)
{
	_cleanup_sql_ struct sql q = sql_begin(s, "UPDATE file SET path = ? WHERE id = ?", err);
	sql_bind_blob(&q, path);
	sql_bind_int(&q, id);
	return sql_run(&q);
}

static int each_of(struct sql *q, store_file_function *each, void *data, struct airlock_error *err)
{
	while (sql_next(q)) {
		struct store_file f = read_row(q);
		if (q->rc == 0)
			q->rc = each(&f, data, err);
		store_file_done(&f);
	}
	return q->rc;
}

int store_file_each(struct store *s, int64_t project, store_file_function *each, void *data, struct airlock_error *err)
{
	_cleanup_sql_ struct sql q =
		sql_begin(s, "SELECT " COLUMNS " FROM file WHERE project_id = ? ORDER BY path", err);
	sql_bind_int(&q, project);
	return each_of(&q, each, data, err);
}

int store_file_each_deleted(struct store *s, int64_t project, store_file_function *each, void *data,
			    struct airlock_error *err)
{
	_cleanup_sql_ struct sql q =
		sql_begin(s, "SELECT " COLUMNS " FROM file WHERE project_id = ? AND is_deleted ORDER BY path", err);
	sql_bind_int(&q, project);
	return each_of(&q, each, data, err);
}

int store_file_count(struct store *s, int64_t project, int64_t *ret, struct airlock_error *err)
{
	_cleanup_sql_ struct sql q =
		sql_begin(s, "SELECT count(*) FROM file WHERE project_id = ? AND NOT is_deleted", err);
	sql_bind_int(&q, project);
	*ret = sql_next(&q) ? sql_int(&q, 0) : 0;
	return q.rc;
}
