/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `airlock files` and `airlock backups`. */
#include "airlock/history.h"
#include "base/error.h"
#include "base/json.h"
#include "base/path.h"
#include "base/text.h"
#include "history/backups.h"
#include "api/backups_api.h"
#include "history/history.h"
#include "api/projects_api.h"
#include "history/records_text.h"

#include <string.h>

/* ── files ── */

struct backup_listing {
	struct json j;
	struct buf *out;
	struct text_looks looks;
};

static void add_when(struct json *j, const char *key, int64_t ns)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	history_add_time(&text, ns);
	json_string(j, key, buf_str(&text));
}

static int file_json(const struct store_file *f, void *data, struct airlock_error *err)
{
	struct backup_listing *l = data;
	struct json *j = &l->j;
	json_open_object(j, NULL);
	json_int(j, "id", f->id);
	json_path(j, "path", f->path);
	json_string(j, "type", f->type);
	if (f->target)
		json_path(j, "target", f->target);
	json_int(j, "size", f->size);
	add_when(j, "mtime", f->mtime);
	json_bool(j, "is_text", records_text(&l->looks, f));
	json_bool(j, "is_ignored", f->is_ignored);
	json_bool(j, "is_deleted", f->is_deleted);
	json_path(j, "last_approved_copy_path", f->last_approved_copy_path);
	add_when(j, "first_seen", f->first_seen);
	add_when(j, "last_seen", f->last_seen);
	json_close(j);
	return 0;
}

static int file_text(const struct store_file *f, void *data, struct airlock_error *err)
{
	struct buf *out = ((struct backup_listing *)data)->out;
	_cleanup_buf_ struct buf size = BUF_INIT;
	text_add_size(&size, f->size);
	buf_printf(out, "%10s  %s", strcmp(f->type, "directory") == 0 ? "" : buf_str(&size),
		   f->is_deleted ? "deleted  " : "");
	text_add_escaped(out, f->path, strlen(f->path));
	if (strcmp(f->type, "directory") == 0)
		buf_addc(out, '/');
	if (f->target) {
		buf_adds(out, " -> ");
		text_add_escaped(out, f->target, strlen(f->target));
	}
	buf_adds(out, f->is_ignored ? "  (ignored)\n" : "\n");
	return 0;
}

int airlock_files(const struct airlock_settings *s, const char *dir, int deleted, int json, char **ret_text,
		  struct airlock_error *err)
{
	struct project_view v;
	struct buf out = BUF_INIT;
	struct backup_listing l = {.j = json_begin(&out, true), .out = &out, .looks = {.root_fd = -1}};
	int rc = project_view_open(&v, s, dir, err);
	rc = rc < 0 ? rc : project_view_need(&v, err);
	if (rc == 0 && json) {
		l.looks = records_text_begin(v.dir);
		json_open_object(&l.j, NULL);
		json_open_array(&l.j, "files");
	}
	rc = rc < 0 ? rc
		    : (deleted ? store_file_each_deleted : store_file_each)(v.store, v.id, json ? file_json : file_text,
									    &l, err);
	if (rc == 0 && json) {
		json_close(&l.j);
		json_close(&l.j);
		buf_addc(&out, '\n');
		records_text_keep(&l.looks, v.store);
	}
	records_text_done(&l.looks);
	project_view_done(&v);
	*ret_text = rc == 0 ? buf_take(&out) : NULL;
	buf_done(&out);
	return rc < 0 ? rc : *ret_text ? 0 : base_oom(err);
}

/* ── backups ── */

static void backups_json(const struct host *host, const struct store_backups *l, struct buf *out)
{
	struct json j = json_begin(out, true);
	json_open_object(&j, NULL);
	json_open_array(&j, "backups");
	for (size_t i = 0; i < l->n; i++) {
		_cleanup_buf_ struct buf path = BUF_INIT;
		buf_printf(&path, "%s/%s/%s", host->state_dir, BACKUPS_DIR, l->v[i].name);
		json_open_object(&j, NULL);
		json_int(&j, "id", l->v[i].file);
		json_path(&j, "path", l->v[i].path);
		json_string(&j, "date", l->v[i].date);
		json_path(&j, "backup", buf_str(&path));
		json_path(&j, "project", l->v[i].project);
		json_string(&j, "run", l->v[i].run);
		json_close(&j);
	}
	json_close(&j);
	json_close(&j);
	buf_addc(out, '\n');
}

static void backups_text(const struct host *host, const struct store_backups *l, struct buf *out)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct store_backup *b = &l->v[i];
		_cleanup_free_ char *path = *b->path == '/' ? strdup(b->path) : path_join(b->project, b->path);
		buf_printf(out, "%s  ", b->date);
		if (path)
			text_add_escaped(out, path, strlen(path));
		buf_addc(out, '\n');
	}
}

/* A path of the caller's: relative to where they are; its directory may be gone with it. */
char *files_record_path(const struct project_view *v, const char *path)
{
	_cleanup_free_ char *full = path_normalize(v->host.cwd, path);
	_cleanup_free_ char *parent = full ? path_dirname(full) : NULL, *real = parent ? realpath(parent, NULL) : NULL;
	_cleanup_free_ char *exact = real ? path_join(real, path_basename(full)) : NULL;
	const char *used = exact ? exact : full;
	const char *rest = used ? path_rest(used, v->dir) : NULL;
	return !used ? NULL : strdup(rest ? rest : used);
}

/* The project a path lies in, when it is not where the caller is. */
int files_open_project_of(struct project_view *v, const struct airlock_settings *s, const char *path,
			  struct airlock_error *err)
{
	_cleanup_projects_ struct store_projects l = {0};
	int rc = project_view_open(v, s, NULL, NULL);
	if (rc < 0) { /* not in a project: any that has the path will do */
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

int airlock_backups(const struct airlock_settings *s, const char *path, int json, char **ret_text,
		    struct airlock_error *err)
{
	struct project_view v;
	struct buf out = BUF_INIT;
	_cleanup_backups_ struct store_backups l = {0};
	_cleanup_free_ char *recorded = NULL;
	int rc = path ? files_open_project_of(&v, s, path, err) : project_view_open(&v, s, NULL, NULL);
	if (rc < 0 && !path) { /* all there are need no project */
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
		rc = store_backup_list(v.store, path ? v.id : 0, recorded, &l, err);
	if (rc == 0)
		(json ? backups_json : backups_text)(&v.host, &l, &out);
	project_view_done(&v);
	*ret_text = rc == 0 ? buf_take(&out) : NULL;
	buf_done(&out);
	return rc < 0 ? rc : *ret_text ? 0 : base_oom(err);
}
