/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/permissions.h"

#include "store/sql.h"

#include <inttypes.h>
#include <stdio.h>

#define COLUMNS "id, kind, command, working_dir, project, profile, decision, scope, created"

void store_permission_done(struct store_permission *p)
{
	const char **all[] = {&p->kind,	   &p->command,	 &p->working_dir, &p->project,
			      &p->profile, &p->decision, &p->scope};
	for (size_t i = 0; i < AL_ARRAY_LEN(all); i++)
		base_freep(all[i]);
}

void store_permissions_done(struct store_permissions *l)
{
	for (size_t i = 0; i < l->n; i++)
		store_permission_done(&l->v[i]);
	free(l->v);
	*l = (struct store_permissions){0};
}

static void bind_key(struct sql *q, const struct store_permission *p)
{
	sql_bind_text(q, p->kind);
	sql_bind_blob(q, p->command);
	sql_bind_blob(q, p->working_dir);
	sql_bind_blob(q, p->project);
	sql_bind_text(q, p->profile);
}

static struct store_permission read_row(struct sql *q)
{
	return (struct store_permission){.id = sql_int(q, 0),
					 .kind = sql_text(q, 1),
					 .command = sql_text(q, 2),
					 .working_dir = sql_text(q, 3),
					 .project = sql_text(q, 4),
					 .profile = sql_text(q, 5),
					 .decision = sql_text(q, 6),
					 .scope = sql_text(q, 7),
					 .created = sql_int(q, 8)};
}

int store_permission_add(struct store *s, const struct store_permission *p, int64_t *ret_id, struct airlock_error *err)
{
	_cleanup_sql_ struct sql q = sql_begin(
		s,
		"INSERT OR REPLACE INTO permission(kind, command, working_dir, project, profile, decision, scope, created) VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
		err);
	bind_key(&q, p);
	sql_bind_text(&q, p->decision);
	sql_bind_text(&q, p->scope);
	sql_bind_int(&q, store_now());
	if (sql_run(&q) == 0 && ret_id)
		*ret_id = sqlite3_last_insert_rowid(s->db);
	return q.rc;
}

int store_permission_find(struct store *s, const struct store_permission *key, struct store_permission *ret,
			  struct airlock_error *err)
{
	_cleanup_sql_ struct sql q = sql_begin(
		s,
		"SELECT " COLUMNS
		" FROM permission WHERE kind = ? AND command = ? AND working_dir = ? AND project = ? AND profile = ?",
		err);
	bind_key(&q, key);
	if (!sql_next(&q))
		return q.rc;
	*ret = read_row(&q);
	if (q.rc < 0)
		store_permission_done(ret);
	return q.rc < 0 ? q.rc : 1;
}

static int append(struct store_permissions *l, struct sql *q)
{
	struct store_permission *v = reallocarray(l->v, l->n + 1, sizeof *v);
	if (!v)
		return base_oom(q->err);
	l->v = v;
	l->v[l->n++] = read_row(q);
	return q->rc;
}

int store_permission_list(struct store *s, const char *project, struct store_permissions *ret,
			  struct airlock_error *err)
{
	_cleanup_permissions_ struct store_permissions l = {0};
	_cleanup_sql_ struct sql q = sql_begin(
		s, "SELECT " COLUMNS " FROM permission WHERE ?1 IS NULL OR project = ?1 ORDER BY id DESC", err);
	sql_bind_blob(&q, project);
	while (sql_next(&q))
		q.rc = append(&l, &q);
	if (q.rc < 0)
		return q.rc;
	*ret = l;
	l = (struct store_permissions){0};
	return 0;
}

int store_permission_remove(struct store *s, int64_t id, struct airlock_error *err)
{
	_cleanup_sql_ struct sql q = sql_begin(s, "DELETE FROM permission WHERE id = ?", err);
	sql_bind_int(&q, id);
	if (sql_run(&q) < 0)
		return q.rc;
	if (sqlite3_changes(s->db) > 0)
		return 0;
	char shown[24];
	(void)snprintf(shown, sizeof shown, "%" PRId64, id);
	base_error(err, AIRLOCK_ERR_NOT_FOUND, "permission", shown, "there is no remembered answer %s", shown);
	return base_hint(err, "airlock permissions list shows them");
}

int store_permission_clear(struct store *s, uint64_t *ret_count, struct airlock_error *err)
{
	int rc = sql_exec(s, "DELETE FROM permission", err);
	if (rc == 0 && ret_count)
		*ret_count = (uint64_t)sqlite3_changes64(s->db);
	return rc;
}
