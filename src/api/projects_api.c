/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `airlock project`. */
#include "api/projects_api.h"

#include "airlock/history.h"
#include "base/error.h"
#include "base/json.h"
#include "base/path.h"
#include "project/project.h"
#include "project/unclaimed.h"
#include "api/list.h"
#include "run/links.h"
#include "history/records.h"

#include <string.h>

/* ── Finding it ── */

void project_view_done(struct project_view *v)
{
	store_close(v->store);
	free(v->dir);
	host_done(&v->host);
}

/* A deleted project can still be queried by its path. */
static int find_dir(struct project_view *v, const char *wanted, struct airlock_error *err)
{
	struct airlock_error why = {0};
	int rc = project_detect_known(wanted, v->host.cwd, v->host.home, v->host.state_dir, &v->dir, &why);
	if (rc == AIRLOCK_ERR_NOT_FOUND && wanted) {
		_cleanup_free_ char *path = path_normalize(v->host.cwd, wanted);
		if (path && project_is_known(v->host.state_dir, path)) {
			v->dir = TAKE_PTR(path);
			return 0;
		}
	}
	if (rc < 0 && err)
		*err = why;
	return rc;
}

static int open_existing(struct project_view *v, struct airlock_error *err)
{
	struct airlock_error why = {0};
	int rc = store_open_existing(v->host.state_dir, STORE_WAIT_MS, &v->store, &why);
	if (rc == AIRLOCK_ERR_NOT_FOUND)
		return 0;
	if (rc < 0 && err)
		*err = why;
	return rc;
}

int project_view_open(struct project_view *v, const struct airlock_settings *s, const char *dir,
		      struct airlock_error *err)
{
	struct settings_view view;
	*v = (struct project_view){0};
	int rc = settings_view(s, &view, err);
	if (rc < 0)
		return rc;
	rc = host_init(s, &v->host, err);
	rc = rc < 0 ? rc : find_dir(v, dir ? dir : settings_get(&view, "project"), err);
	settings_view_done(&view);
	rc = rc < 0 ? rc : open_existing(v, err);
	if (rc == 0 && v->store)
		rc = store_project_find(v->store, v->dir, &v->id, err);
	return rc < 0 ? rc : 0;
}

int project_view_need(const struct project_view *v, struct airlock_error *err)
{
	if (v->id)
		return 0;
	base_error(err, AIRLOCK_ERR_NOT_FOUND, "project", v->dir, "%s is not a project with records", v->dir);
	return base_hint(err, "airlock project add makes it one");
}

/* ── Directories that are nobody's project ── */

int airlock_project_find(const struct airlock_settings *s, const char *dir, char **ret_dir, struct airlock_error *err)
{
	struct host host;
	_cleanup_free_ char *real = NULL;
	int rc = host_init(s, &host, err);
	if (rc < 0)
		return rc;
	rc = project_detect(dir, host.cwd, host.home, &real, err); /* named: any directory that is there */
	if (rc == 0)
		rc = project_detect_known(NULL, real, host.home, host.state_dir, ret_dir, err);
	host_done(&host);
	return rc;
}

int airlock_project_unclaimed(const struct airlock_settings *s, const char *dir, enum airlock_unclaimed *ret,
			      struct airlock_error *err)
{
	struct host host;
	_cleanup_free_ char *real = NULL, *home = NULL;
	int rc = host_init(s, &host, err);
	if (rc < 0)
		return rc;
	rc = project_detect(dir, host.cwd, host.home, &real, err); /* named: any directory that is there */
	home = realpath(host.home, NULL);
	if (rc == 0) {
		enum airlock_unclaimed why = project_unclaimed(real, home ? home : host.home);
		bool added = why > AIRLOCK_UNCLAIMED_ABOVE_HOME && project_is_known(host.state_dir, real);
		*ret = added ? AIRLOCK_CLAIMABLE : why;
	}
	host_done(&host);
	return rc;
}

const char *airlock_unclaimed_words(enum airlock_unclaimed reason)
{
	return project_unclaimed_words(reason);
}

static void list_secrets(const void *data, struct strs *out)
{
	const struct host *host = data;
	for (const char *const *name = policy_secret_names(); *name; name++)
		strs_take(out, path_join(host->home, *name));
	strs_add(out, host->state_dir);
	strs_add(out, host->config_dir);
}

static int open_project(const struct host *host, const char *dir, bool rescan,
			void (*progress)(size_t seen, void *data), void *data, struct project **ret,
			struct airlock_error *err)
{
	_cleanup_free_ char *home = realpath(host->home, NULL);
	struct project_query q = {.dir = dir,
				  .home = home,
				  .state_dir = host->state_dir,
				  .list_secrets = list_secrets,
				  .secrets_data = host,
				  .rescan = rescan,
				  .progress = progress,
				  .progress_data = data};
	return project_open(&q, ret, err);
}

/* ── One project ── */

struct airlock_project {
	struct project *project;
	struct airlock_project_record record;
	struct airlock_project_root *roots;
	struct airlock_link *links;
	struct strs because; /* of the links */
	char *json;
};

void airlock_project_free(struct airlock_project *p)
{
	if (!p)
		return;
	project_free(p->project);
	free(p->roots);
	free(p->links);
	strs_done(&p->because);
	free(p->json);
	free(p);
}

const struct airlock_project_record *airlock_project_record(const struct airlock_project *p)
{
	return &p->record;
}

const struct airlock_project_root *airlock_project_root(const struct airlock_project *p, size_t i)
{
	return i < p->project->n_roots ? &p->roots[i] : NULL;
}

const struct airlock_link *airlock_project_link_at(const struct airlock_project *p, size_t i)
{
	return i < p->project->n_links ? &p->links[i] : NULL;
}

const struct airlock_note *airlock_project_note(const struct airlock_project *p, size_t i)
{
	return notes_at(&p->project->notes, i);
}

static struct airlock_project_record record_of(const struct store_project *row, const char *path)
{
	return (struct airlock_project_record){.id = row->id,
					       .path = path,
					       .file_count = row->files,
					       .added_ns = row->added,
					       .scanned_ns = row->scanned};
}

/* files: NULL when they have to be counted. */
static int fill(struct airlock_project *p, struct project_view *v, const int64_t *files, struct airlock_error *err)
{
	struct store_project row;
	const struct project *from = p->project;
	int rc = store_project_get(v->store, v->dir, &row, err);
	if (rc >= 0 && files)
		row.files = *files;
	else if (rc >= 0)
		rc = store_file_count(v->store, row.id, &row.files, err);
	if (rc < 0)
		return rc;
	p->record = record_of(&row, from->dir);
	p->links = link_values(from->links, from->n_links, &p->because);
	p->roots = calloc(from->n_roots + 1, sizeof *p->roots);
	for (size_t i = 0; p->roots && i < from->n_roots; i++)
		p->roots[i] = (struct airlock_project_root){from->roots[i].path, from->roots[i].because};
	return p->roots && p->links ? 0 : base_oom(err);
}

static void add_record(struct json *j, const struct airlock_project_record *r)
{
	json_int(j, "id", r->id);
	json_path(j, "path", r->path);
	json_int(j, "files", r->file_count);
	if (r->added_ns)
		json_time(j, "added", r->added_ns);
	else
		json_null(j, "added");
	if (r->scanned_ns)
		json_time(j, "scanned", r->scanned_ns);
	else
		json_null(j, "scanned");
}

const char *airlock_project_json(struct airlock_project *p)
{
	struct buf out = BUF_INIT;
	struct json j = json_begin(&out, true);
	json_open_object(&j, NULL);
	add_record(&j, &p->record);
	json_open_array(&j, "roots");
	for (size_t i = 0; i < p->project->n_roots; i++) {
		json_open_object(&j, NULL);
		json_path(&j, "path", p->roots[i].path);
		_cleanup_buf_ struct buf because = BUF_INIT;
		rule_origin_add(&because, &p->roots[i].because);
		json_path(&j, "because", buf_str(&because));
		json_close(&j);
	}
	json_close(&j);
	links_json(p->project, &j);
	notes_add_json(&j, "notes", &p->project->notes);
	json_close(&j);
	return api_json(&out, &p->json);
}

/* Set the mark last: every apply relies on the records once it is set. */
static int scan(struct project_view *v, const struct project *p, void (*progress)(size_t seen, void *data), void *data,
		int64_t *ret_files, struct airlock_error *err)
{
	int rc = v->store ? 0 : store_open(v->host.state_dir, STORE_WAIT_MS, &v->store, err);
	rc = rc < 0 ? rc : records_scan(v->store, p, ret_files, progress, data, err);
	return rc < 0 ? rc : project_set_known(v->host.state_dir, v->dir, true, err);
}

int airlock_project_scan(const struct airlock_settings *s, const char *dir, void (*progress)(size_t seen, void *data),
			 void *data, struct airlock_project **ret, struct airlock_error *err)
{
	struct project_view v;
	int64_t files = 0;
	struct airlock_project *p = calloc(1, sizeof *p);
	if (!p)
		return base_oom(err);
	int rc = project_view_open(&v, s, dir, err);
	rc = rc < 0 ? rc : open_project(&v.host, v.dir, true, progress, data, &p->project, err);
	rc = rc < 0 ? rc : scan(&v, p->project, progress, data, &files, err);
	rc = rc < 0 ? rc : fill(p, &v, &files, err);
	project_view_done(&v);
	if (rc == 0)
		*ret = p;
	else
		airlock_project_free(p);
	return rc;
}

int airlock_project_open(const struct airlock_settings *s, const char *dir, struct airlock_project **ret,
			 struct airlock_error *err)
{
	struct project_view v;
	struct airlock_project *p = calloc(1, sizeof *p);
	if (!p)
		return base_oom(err);
	int rc = project_view_open(&v, s, dir, err);
	rc = rc < 0 ? rc : project_view_need(&v, err);
	rc = rc < 0 ? rc : open_project(&v.host, v.dir, false, NULL, NULL, &p->project, err);
	rc = rc < 0 ? rc : fill(p, &v, NULL, err);
	project_view_done(&v);
	if (rc == 0)
		*ret = p;
	else
		airlock_project_free(p);
	return rc;
}

/* ── All projects ── */

struct airlock_projects {
	struct airlock_project_record *v;
	size_t n;
	struct store_projects rows; /* behind v */
	char *json;
};

API_LIST(projects, airlock_project_record)

void airlock_projects_free(struct airlock_projects *l)
{
	if (!l)
		return;
	store_projects_done(&l->rows);
	free(l->v);
	free(l->json);
	free(l);
}

int airlock_projects_open(const struct airlock_settings *s, struct airlock_projects **ret, struct airlock_error *err)
{
	struct project_view v = {0};
	struct airlock_projects *l = calloc(1, sizeof *l);
	int rc = l ? host_init(s, &v.host, err) : base_oom(err);
	rc = rc < 0 ? rc : open_existing(&v, err);
	if (rc == 0 && v.store)
		rc = store_project_list(v.store, &l->rows, err);
	project_view_done(&v);
	if (rc == 0 && !(l->v = calloc(l->rows.n + 1, sizeof *l->v)))
		rc = base_oom(err);
	if (rc < 0) {
		airlock_projects_free(l);
		return rc;
	}
	for (; l->n < l->rows.n; l->n++)
		l->v[l->n] = record_of(&l->rows.v[l->n], l->rows.v[l->n].path);
	*ret = l;
	return 0;
}

const char *airlock_projects_json(struct airlock_projects *l)
{
	struct buf out = BUF_INIT;
	struct json j = json_begin(&out, true);
	json_open_object(&j, NULL);
	json_open_array(&j, "projects");
	for (size_t i = 0; i < l->n; i++) {
		json_open_object(&j, NULL);
		add_record(&j, &l->v[i]);
		json_close(&j);
	}
	json_close(&j);
	json_close(&j);
	return api_json(&out, &l->json);
}

/* ── remove ── */

/* Remove the mark first: without it nobody expects records. */
int airlock_project_remove(const struct airlock_settings *s, const char *dir, char **ret_dir, struct airlock_error *err)
{
	struct project_view v;
	int rc = project_view_open(&v, s, dir, err);
	rc = rc < 0 ? rc : project_view_need(&v, err);
	rc = rc < 0 ? rc : project_set_known(v.host.state_dir, v.dir, false, err);
	rc = rc < 0 ? rc : project_forget_links(v.host.state_dir, v.dir, err);
	rc = rc < 0 ? rc : store_project_remove(v.store, v.id, err);
	*ret_dir = rc == 0 ? TAKE_PTR(v.dir) : NULL;
	project_view_done(&v);
	return rc;
}
