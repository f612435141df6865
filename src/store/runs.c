/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/runs.h"

#include "base/array.h"
#include "store/sql.h"

#include <string.h>

#define COLUMNS "id, project, command, asked_by, working_dir, started, status, exit_code, changes_state, changes_count"

void store_run_done(struct store_run *run)
{
	const char **all[] = {&run->id,	    &run->project,	 &run->command, &run->asked_by, &run->working_dir,
			      &run->status, &run->changes_state, &run->detail,	&run->session};
	for (size_t i = 0; i < AL_ARRAY_LEN(all); i++)
		base_freep(all[i]);
}

void store_runs_done(struct store_runs *l)
{
	for (size_t i = 0; i < l->n; i++)
		store_run_done(&l->v[i]);
	free(l->v);
	*l = (struct store_runs){0};
}

static struct store_run read_row(struct sql *q)
{
	return (struct store_run){.id = sql_text(q, 0),
				  .project = sql_text(q, 1),
				  .command = sql_text(q, 2),
				  .asked_by = sql_text(q, 3),
				  .working_dir = sql_text(q, 4),
				  .started = sql_int(q, 5),
				  .status = sql_text(q, 6),
				  .exit_code = sql_int(q, 7),
				  .changes_state = sql_text(q, 8),
				  .changes_count = sql_int(q, 9),
				  .detail = sql_text(q, 10)};
}

int store_run_get(struct store *s, const char *id, struct store_run *ret, struct airlock_error *err)
{
	_cleanup_sql_ struct sql q = sql_begin(s, "SELECT " COLUMNS ", detail FROM run WHERE id = ?", err);
	sql_bind_text(&q, id);
	if (!sql_next(&q))
		return q.rc;
	*ret = read_row(&q);
	if (q.rc < 0)
		store_run_done(ret);
	return q.rc < 0 ? q.rc : 1;
}

static int append(struct store_runs *l, struct sql *q, size_t *cap)
{
	if (!ARRAY_ROOM(l->v, l->n, *cap, 64))
		return base_oom(q->err);
	l->v[l->n++] = read_row(q);
	return q->rc;
}

int store_run_list(struct store *s, const char *project, int64_t limit, struct store_runs *ret,
		   struct airlock_error *err)
{
	_cleanup_runs_ struct store_runs l = {0};
	size_t cap = 0;
	_cleanup_sql_ struct sql q =
		sql_begin(s,
			  project ? "SELECT " COLUMNS ", x'' FROM run WHERE project = ? ORDER BY id DESC LIMIT ?"
				  : "SELECT " COLUMNS ", x'' FROM run ORDER BY id DESC LIMIT ?",
			  err);
	if (project)
		sql_bind_blob(&q, project);
	sql_bind_int(&q, limit);
	while (sql_next(&q))
		q.rc = append(&l, &q, &cap);
	if (q.rc < 0)
		return q.rc;
	*ret = l;
	l = (struct store_runs){0};
	return 0;
}

static int list_ids(struct sql *q, struct strs *ret)
{
	while (sql_next(q))
		strs_take(ret, sql_text(q, 0));
	return q->rc < 0 ? q->rc : ret->failed ? base_oom(q->err) : 0;
}

int store_run_find(struct store *s, const char *prefix, struct strs *ret, struct airlock_error *err)
{
	/* Ids are ASCII: everything that begins with the prefix sorts below the prefix plus one higher byte. */
	_cleanup_sql_ struct sql q =
		sql_begin(s, "SELECT id FROM run WHERE id >= ?1 AND id < ?1 || '~' ORDER BY id LIMIT 2", err);
	sql_bind_text(&q, prefix);
	return list_ids(&q, ret);
}

int store_run_before(struct store *s, const char *id, struct strs *ret, struct airlock_error *err)
{
	_cleanup_sql_ struct sql q = sql_begin(s, "SELECT id FROM run WHERE id < ? ORDER BY id", err);
	sql_bind_text(&q, id);
	return list_ids(&q, ret);
}

int store_run_remove(struct store *s, const char *id, struct airlock_error *err)
{
	_cleanup_sql_ struct sql q = sql_begin(s, "DELETE FROM run WHERE id = ?", err);
	sql_bind_text(&q, id);
	return sql_run(&q);
}
