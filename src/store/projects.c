/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/projects.h"

#include "store/sql.h"

void store_projects_done(struct store_projects *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i].path);
	free(l->v);
	*l = (struct store_projects){0};
}

int store_project_find(struct store *s, const char *path, int64_t *ret_id, struct airlock_error *err)
{
	_cleanup_sql_ struct sql q = sql_begin(s, "SELECT id FROM project WHERE path = ?", err);
	sql_bind_blob(&q, path);
	if (!sql_next(&q))
		return q.rc;
	*ret_id = sql_int(&q, 0);
	return 1;
}

int store_project_add(struct store *s, const char *path, int64_t *ret_id, struct airlock_error *err)
{
	_cleanup_sql_ struct sql q =
		sql_begin(s, "INSERT INTO project(path, added) VALUES(?, ?) ON CONFLICT(path) DO NOTHING", err);
	sql_bind_blob(&q, path);
	sql_bind_int(&q, store_now());
	if (sql_run(&q) < 0)
		return q.rc;
	int rc = store_project_find(s, path, ret_id, err);
	return rc < 0 ? rc : 0;
}

int store_project_scanned(struct store *s, int64_t id, int64_t when, struct airlock_error *err)
{
	_cleanup_sql_ struct sql q = sql_begin(s, "UPDATE project SET scanned = ? WHERE id = ?", err);
	sql_bind_int(&q, when);
	sql_bind_int(&q, id);
	return sql_run(&q);
}

static int append(struct store_projects *l, struct sql *q)
{
	struct store_project *v = reallocarray(l->v, l->n + 1, sizeof *v);
	if (!v)
		return base_oom(q->err);
	l->v = v;
	l->v[l->n++] = (struct store_project){.id = sql_int(q, 0),
					      .path = sql_text(q, 1),
					      .files = sql_int(q, 2),
					      .added = sql_int(q, 3),
					      .scanned = sql_int(q, 4)};
	return q->rc;
}

int store_project_get(struct store *s, const char *path, struct store_project *ret, struct airlock_error *err)
{
	_cleanup_sql_ struct sql q = sql_begin(s, "SELECT id, added, scanned FROM project WHERE path = ?", err);
	sql_bind_blob(&q, path);
	*ret = (struct store_project){0};
	if (!sql_next(&q))
		return q.rc;
	ret->id = sql_int(&q, 0);
	ret->added = sql_int(&q, 1);
	ret->scanned = sql_int(&q, 2);
	return 1;
}

int store_project_list(struct store *s, struct store_projects *ret, struct airlock_error *err)
{
	_cleanup_projects_ struct store_projects l = {0};
	_cleanup_sql_ struct sql q = sql_begin(
		s,
		"SELECT id, path, (SELECT count(*) FROM file WHERE project_id = project.id AND NOT is_deleted), added, scanned FROM project ORDER BY path",
		err);
	while (sql_next(&q))
		q.rc = append(&l, &q);
	if (q.rc < 0)
		return q.rc;
	*ret = l;
	l = (struct store_projects){0};
	return 0;
}

int store_project_remove(struct store *s, int64_t id, struct airlock_error *err)
{
	_cleanup_sql_ struct sql q = sql_begin(s, "DELETE FROM project WHERE id = ?", err);
	sql_bind_int(&q, id);
	return sql_run(&q);
}
