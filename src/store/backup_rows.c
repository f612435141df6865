/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/projects.h"
#include "store/sql.h"

#define SELECT                                                                                                         \
	"SELECT backup.id, file_id, project.path, file.path, date, name, run FROM backup"                              \
	" JOIN file ON file.id = file_id JOIN project ON project.id = project_id"

void store_backups_done(struct store_backups *l)
{
	for (size_t i = 0; i < l->n; i++) {
		char **all[] = {&l->v[i].project, &l->v[i].path, &l->v[i].date, &l->v[i].name, &l->v[i].run};
		for (size_t k = 0; k < AL_ARRAY_LEN(all); k++)
			base_freep(all[k]);
	}
	free(l->v);
	*l = (struct store_backups){0};
}

static int append(struct store_backups *l, struct sql *q)
{
	struct store_backup *v = reallocarray(l->v, l->n + 1, sizeof *v);
	if (!v)
		return base_oom(q->err);
	l->v = v;
	l->v[l->n++] = (struct store_backup){.id = sql_int(q, 0),
					     .file = sql_int(q, 1),
					     .project = sql_text(q, 2),
					     .path = sql_text(q, 3),
					     .date = sql_text(q, 4),
					     .name = sql_text(q, 5),
					     .run = sql_text(q, 6)};
	return q->rc;
}

static int list(struct sql *q, struct store_backups *ret)
{
	_cleanup_backups_ struct store_backups l = {0};
	while (sql_next(q))
		q->rc = append(&l, q);
	if (q->rc < 0)
		return q->rc;
	*ret = l;
	l = (struct store_backups){0};
	return 0;
}

int store_backup_list(struct store *s, int64_t project, const char *path, struct store_backups *ret,
		      struct airlock_error *err)
{
	_cleanup_sql_ struct sql q = sql_begin(
		s,
		SELECT
		" WHERE (?1 = 0 OR project_id = ?1) AND (?2 IS NULL OR file.path = ?2) ORDER BY date DESC, project.path, file.path",
		err);
	sql_bind_int(&q, project);
	sql_bind_blob(&q, path);
	return list(&q, ret);
}

int store_backup_of_file(struct store *s, int64_t file, struct store_backups *ret, struct airlock_error *err)
{
	_cleanup_sql_ struct sql q = sql_begin(s, SELECT " WHERE file_id = ? ORDER BY date DESC", err);
	sql_bind_int(&q, file);
	return list(&q, ret);
}

int store_backup_before(struct store *s, const char *date, struct store_backups *ret, struct airlock_error *err)
{
	_cleanup_sql_ struct sql q = sql_begin(s, SELECT " WHERE date < ? ORDER BY date", err);
	sql_bind_text(&q, date);
	return list(&q, ret);
}

static int set_copy(struct store *s, int64_t file, const char *path, struct airlock_error *err)
{
	_cleanup_sql_ struct sql q = sql_begin(s, "UPDATE file SET last_approved_copy_path = ? WHERE id = ?", err);
	sql_bind_blob(&q, path);
	sql_bind_int(&q, file);
	return sql_run(&q);
}

int store_backup_add(struct store *s, int64_t file, const char *date, const char *name, const char *run,
		     const char *copy_path, struct airlock_error *err)
{
	_cleanup_sql_ struct sql q = sql_begin(
		s, "INSERT OR IGNORE INTO backup(file_id, date, name, run, created) VALUES(?, ?, ?, ?, ?)", err);
	sql_bind_int(&q, file);
	sql_bind_text(&q, date);
	sql_bind_blob(&q, name);
	sql_bind_text(&q, run);
	sql_bind_int(&q, store_now());
	return sql_run(&q) < 0 ? q.rc : set_copy(s, file, copy_path, err);
}

int store_backup_remove(struct store *s, const struct store_backup *b, const char *copy_path, struct airlock_error *err)
{
	_cleanup_sql_ struct sql remove = sql_begin(s, "DELETE FROM backup WHERE id = ?", err);
	sql_bind_int(&remove, b->id);
	if (sql_run(&remove) < 0)
		return remove.rc;
	_cleanup_sql_ struct sql forget = sql_begin(
		s, "UPDATE file SET last_approved_copy_path = x'' WHERE id = ? AND last_approved_copy_path = ?", err);
	sql_bind_int(&forget, b->file);
	sql_bind_blob(&forget, copy_path);
	if (sql_run(&forget) < 0)
		return forget.rc;
	_cleanup_sql_ struct sql gone = sql_begin(
		s,
		"DELETE FROM file WHERE id = ?1 AND is_deleted AND NOT EXISTS (SELECT 1 FROM backup WHERE file_id = ?1)",
		err);
	sql_bind_int(&gone, b->file);
	return sql_run(&gone);
}
