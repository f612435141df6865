/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `airlock files` and `airlock backups`. */
#include "airlock/history.h"
#include "base/array.h"
#include "base/error.h"
#include "base/json.h"
#include "base/path.h"
#include "history/backups.h"
#include "api/backups_api.h"
#include "api/list.h"
#include "api/projects_api.h"
#include "history/records_text.h"

#include <string.h>

/* ── files ── */

struct airlock_records {
	struct airlock_record *v;
	size_t n, cap;
	struct strs texts;	 /* behind v */
	bool look;		 /* into files that nobody has looked into */
	struct text_looks looks; /* while it is filled */
	char *json;
};

API_LIST(records, airlock_record)

void airlock_records_free(struct airlock_records *l)
{
	if (!l)
		return;
	strs_done(&l->texts);
	free(l->v);
	free(l->json);
	free(l);
}

static const char *keep(struct strs *texts, const char *text)
{
	strs_add(texts, text);
	return texts->failed ? NULL : texts->v[texts->n - 1];
}

static enum airlock_file_type type_of(const char *word)
{
	enum airlock_file_type type = AIRLOCK_TYPE_FILE;
	while (type < AIRLOCK_TYPE_OTHER && strcmp(word, airlock_file_type_name(type)) != 0)
		type++;
	return type;
}

static int add_record(const struct store_file *f, void *data, struct airlock_error *err)
{
	struct airlock_records *l = data;
	if (!ARRAY_ROOM(l->v, l->n, l->cap, 256))
		return base_oom(err);
	const char *copy = f->last_approved_copy_path;
	l->v[l->n++] = (struct airlock_record){.id = f->id,
					       .path = keep(&l->texts, f->path),
					       .type = type_of(f->type),
					       .target = f->target ? keep(&l->texts, f->target) : NULL,
					       .size = f->size,
					       .mtime_ns = f->mtime,
					       .is_text = l->look ? records_text(&l->looks, f) : f->is_text,
					       .is_ignored = f->is_ignored,
					       .is_deleted = f->is_deleted,
					       .backup = *copy ? keep(&l->texts, copy) : NULL,
					       .first_seen_ns = f->first_seen,
					       .last_seen_ns = f->last_seen};
	return l->texts.failed ? base_oom(err) : 0;
}

int airlock_records_open(const struct airlock_settings *s, const char *dir, unsigned flags,
			 struct airlock_records **ret, struct airlock_error *err)
{
	struct project_view v;
	struct airlock_records *l = calloc(1, sizeof *l);
	if (!l)
		return base_oom(err);
	*l = (struct airlock_records){.look = flags & AIRLOCK_RECORDS_LOOK, .looks = {.root_fd = -EBADF}};
	int rc = project_view_open(&v, s, dir, err);
	rc = rc < 0 ? rc : project_view_need(&v, err);
	if (rc == 0 && l->look)
		l->looks = records_text_begin(v.dir);
	rc = rc < 0 ? rc
		    : (flags & AIRLOCK_RECORDS_DELETED ? store_file_each_deleted : store_file_each)(v.store, v.id,
												    add_record, l, err);
	if (rc == 0)
		records_text_keep(&l->looks, v.store);
	records_text_done(&l->looks);
	project_view_done(&v);
	if (rc == 0)
		*ret = l;
	else
		airlock_records_free(l);
	return rc;
}

const char *airlock_records_json(struct airlock_records *l)
{
	struct buf out = BUF_INIT;
	struct json j = json_begin(&out, true);
	json_open_object(&j, NULL);
	json_open_array(&j, "files");
	for (size_t i = 0; i < l->n; i++) {
		const struct airlock_record *r = &l->v[i];
		json_open_object(&j, NULL);
		json_int(&j, "id", r->id);
		json_path(&j, "path", r->path);
		json_string(&j, "type", airlock_file_type_name(r->type));
		if (r->target)
			json_path(&j, "target", r->target);
		json_int(&j, "size", r->size);
		json_time(&j, "mtime", r->mtime_ns);
		if (r->is_text >= 0)
			json_bool(&j, "is_text", r->is_text);
		else
			json_null(&j, "is_text");
		json_bool(&j, "is_ignored", r->is_ignored);
		json_bool(&j, "is_deleted", r->is_deleted);
		json_path(&j, "last_approved_copy_path", r->backup ? r->backup : "");
		json_time(&j, "first_seen", r->first_seen_ns);
		json_time(&j, "last_seen", r->last_seen_ns);
		json_close(&j);
	}
	json_close(&j);
	json_close(&j);
	return api_json(&out, &l->json);
}

/* ── backups ── */

/* Resolves a path that the caller typed, relative to their working directory. Its directory may no longer exist. */
char *files_record_path(const struct project_view *v, const char *path)
{
	_cleanup_free_ char *full = path_normalize(v->host.cwd, path);
	_cleanup_free_ char *parent = full ? path_dirname(full) : NULL, *real = parent ? realpath(parent, NULL) : NULL;
	_cleanup_free_ char *exact = real ? path_join(real, path_basename(full)) : NULL;
	const char *used = exact ? exact : full;
	const char *rest = used ? path_rest(used, v->dir) : NULL;
	return !used ? NULL : strdup(rest ? rest : used);
}

/* Finds the project of a path that lies outside the caller's own project. */
int files_open_project_of(struct project_view *v, const struct airlock_settings *s, const char *path,
			  struct airlock_error *err)
{
	_cleanup_projects_ struct store_projects l = {0};
	int rc = project_view_open(v, s, NULL, NULL);
	if (rc < 0) { /* the caller is in no project: take any that has the path */
		project_view_done(v);
		*v = (struct project_view){0};
		rc = host_init(s, &v->host, err);
		if (rc == 0)
			rc = store_open_existing(v->host.state_dir, STORE_WAIT_MS, &v->store, err);
	}
	if (rc < 0 || !v->store || !path)
		return rc;
	_cleanup_free_ char *full = path_normalize(v->host.cwd, path);
	rc = full ? store_project_list(v->store, &l, err) : base_oom(err);
	for (size_t i = 0; rc == 0 && i < l.n; i++) {
		bool better = !v->id || !path_is_beneath(full, v->dir);
		if (!path_is_beneath(full, l.v[i].path) || !better)
			continue;
		free(v->dir);
		v->dir = TAKE_PTR(l.v[i].path);
		v->id = l.v[i].id;
	}
	return rc;
}

struct airlock_backups {
	struct airlock_backup *v;
	size_t n;
	struct store_backups rows; /* owns the strings of v, except the paths of the copies */
	struct strs copies;
	char *json;
};

API_LIST(backups, airlock_backup)

void airlock_backups_free(struct airlock_backups *l)
{
	if (!l)
		return;
	store_backups_done(&l->rows);
	strs_done(&l->copies);
	free(l->v);
	free(l->json);
	free(l);
}

static int fill(struct airlock_backups *l, const char *state_dir, struct airlock_error *err)
{
	l->v = calloc(l->rows.n + 1, sizeof *l->v);
	for (size_t i = 0; l->v && i < l->rows.n; i++) {
		const struct store_backup *b = &l->rows.v[i];
		strs_addf(&l->copies, "%s/%s/%s", state_dir, BACKUPS_DIR, b->name);
		if (l->copies.failed)
			return base_oom(err);
		l->v[l->n++] = (struct airlock_backup){b->file, b->project, b->path, b->date, l->copies.v[i], b->run};
	}
	return l->v ? 0 : base_oom(err);
}

static int list_backups(struct airlock_backups *l, const struct airlock_settings *s, const char *path,
			struct airlock_error *err)
{
	struct project_view v;
	_cleanup_free_ char *recorded = NULL;
	int rc = path ? files_open_project_of(&v, s, path, err) : project_view_open(&v, s, NULL, NULL);
	if (rc < 0 && !path) { /* a list of all backups needs no project */
		project_view_done(&v);
		v = (struct project_view){0};
		rc = host_init(s, &v.host, err);
		if (rc == 0 &&
		    store_open_existing(v.host.state_dir, STORE_WAIT_MS, &v.store, err) == AIRLOCK_ERR_NOT_FOUND)
			base_error_clear(err);
	}
	if (rc == 0 && path && v.id && !(recorded = files_record_path(&v, path)))
		rc = base_oom(err);
	if (rc == 0 && v.store && (!path || v.id))
		rc = store_backup_list(v.store, path ? v.id : 0, recorded, &l->rows, err);
	rc = rc < 0 ? rc : fill(l, v.host.state_dir, err);
	project_view_done(&v);
	return rc;
}

int airlock_backups_open(const struct airlock_settings *s, const char *path, struct airlock_backups **ret,
			 struct airlock_error *err)
{
	struct airlock_backups *l = calloc(1, sizeof *l);
	int rc = l ? list_backups(l, s, path, err) : base_oom(err);
	if (rc == 0)
		*ret = l;
	else
		airlock_backups_free(l);
	return rc;
}

const char *airlock_backups_json(struct airlock_backups *l)
{
	struct buf out = BUF_INIT;
	struct json j = json_begin(&out, true);
	json_open_object(&j, NULL);
	json_open_array(&j, "backups");
	for (size_t i = 0; i < l->n; i++) {
		const struct airlock_backup *b = &l->v[i];
		json_open_object(&j, NULL);
		json_int(&j, "id", b->file_id);
		json_path(&j, "path", b->path);
		json_string(&j, "date", b->date);
		json_path(&j, "backup", b->copy);
		json_path(&j, "project", b->project);
		json_string(&j, "run", b->run);
		json_close(&j);
	}
	json_close(&j);
	json_close(&j);
	return api_json(&out, &l->json);
}
