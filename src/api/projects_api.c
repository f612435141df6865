/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `airlock project`. */
#include "api/projects_api.h"

#include "airlock/history.h"
#include "base/error.h"
#include "base/json.h"
#include "base/path.h"
#include "base/text.h"
#include "project/project.h"
#include "project/unclaimed.h"
#include "history/history.h"
#include "run/links.h"
#include "history/records.h"

#include <inttypes.h>
#include <string.h>

/* ── Finding it ── */

void project_view_done(struct project_view *v)
{
	store_close(v->store);
	free(v->dir);
	host_done(&v->host);
}

/* A project whose directory is gone can still be asked about, by its path. */
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

/* ── add, scan ── */

static void list_secrets(const struct host *host, struct strs *out)
{
	for (const char *const *name = policy_secret_names(); *name; name++)
		strs_take(out, path_join(host->home, *name));
	strs_add(out, host->state_dir);
	strs_add(out, host->config_dir);
}

static int open_project(const struct host *host, const char *dir, bool rescan,
			void (*progress)(size_t seen, void *data), void *data, struct project **ret,
			struct airlock_error *err)
{
	_cleanup_strs_ struct strs secrets = STRS_INIT;
	_cleanup_free_ char *home = realpath(host->home, NULL);
	list_secrets(host, &secrets);
	if (secrets.failed)
		return base_oom(err);
	struct project_query q = {.dir = dir,
				  .home = home,
				  .state_dir = host->state_dir,
				  .secrets = (const char *const *)secrets.v,
				  .rescan = rescan,
				  .progress = progress,
				  .progress_data = data};
	return project_open(&q, ret, err);
}

static void roots_text(const struct project *p, struct buf *out)
{
	for (size_t i = 0; i < p->n_roots; i++) {
		text_add_escaped(out, p->roots[i].path, strlen(p->roots[i].path));
		buf_adds(out, "    [");
		_cleanup_free_ char *because = airlock_origin_text(&p->roots[i].because);
		buf_adds(out, because ? because : "");
		buf_adds(out, "]\n");
	}
	for (size_t i = 0; i < p->n_links; i++) {
		const struct project_link *l = &p->links[i];
		buf_printf(out, "link %s: ", airlock_link_state_name(l->state));
		text_add_escaped(out, l->path, strlen(l->path));
		buf_adds(out, " -> ");
		text_add_escaped(out, l->target, strlen(l->target));
		buf_addc(out, '\n');
	}
	for (size_t i = 0; i < p->notes.n; i++) {
		buf_adds(out, "note: ");
		text_add_escaped(out, p->notes.v[i], strlen(p->notes.v[i]));
		buf_addc(out, '\n');
	}
}

static void add_when(struct json *j, const char *key, int64_t ns)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	if (ns)
		history_add_time(&text, ns);
	json_string(j, key, ns ? buf_str(&text) : NULL);
}

static void project_json(const struct project *p, const struct store_project *row, struct buf *out)
{
	struct json j = json_begin(out, true);
	json_open_object(&j, NULL);
	json_int(&j, "id", row->id);
	json_path(&j, "path", p->dir);
	json_int(&j, "files", row->files);
	add_when(&j, "added", row->added);
	add_when(&j, "scanned", row->scanned);
	json_open_array(&j, "roots");
	for (size_t i = 0; i < p->n_roots; i++) {
		json_open_object(&j, NULL);
		json_path(&j, "path", p->roots[i].path);
		_cleanup_buf_ struct buf because = BUF_INIT;
		rule_origin_add(&because, &p->roots[i].because);
		json_path(&j, "because", buf_str(&because));
		json_close(&j);
	}
	json_close(&j);
	links_json(p, &j);
	json_open_array(&j, "notes");
	for (size_t i = 0; i < p->notes.n; i++)
		json_string(&j, NULL, p->notes.v[i]);
	json_close(&j);
	json_close(&j);
	buf_addc(out, '\n');
}

/* files: NULL when they have to be counted. */
static int tell(struct project_view *v, const struct project *p, const int64_t *files, bool json, char **ret_text,
		struct airlock_error *err)
{
	struct buf out = BUF_INIT;
	struct store_project row;
	int rc = store_project_get(v->store, v->dir, &row, err);
	if (rc >= 0 && files)
		row.files = *files;
	else if (rc >= 0)
		rc = store_file_count(v->store, row.id, &row.files, err);
	if (rc < 0)
		return rc;
	if (json) {
		project_json(p, &row, &out);
	} else {
		roots_text(p, &out);
		buf_printf(&out, "%" PRId64 " files and directories recorded\n", row.files);
	}
	*ret_text = buf_take(&out);
	return *ret_text ? 0 : base_oom(err);
}

/* The mark comes last: with it every apply relies on the records. */
static int scan(struct project_view *v, void (*progress)(size_t seen, void *data), void *data, bool json,
		char **ret_text, struct airlock_error *err)
{
	struct project *p = NULL;
	int64_t files = 0;
	int rc = open_project(&v->host, v->dir, true, progress, data, &p, err);
	if (rc == 0 && !v->store)
		rc = store_open(v->host.state_dir, STORE_WAIT_MS, &v->store, err);
	rc = rc < 0 ? rc : records_scan(v->store, p, &files, progress, data, err);
	rc = rc < 0 ? rc : project_set_known(v->host.state_dir, v->dir, true, err);
	rc = rc < 0 ? rc : tell(v, p, &files, json, ret_text, err);
	project_free(p);
	return rc;
}

int airlock_project_scan(const struct airlock_settings *s, const char *dir, void (*progress)(size_t seen, void *data),
			 void *data, int json, char **ret_text, struct airlock_error *err)
{
	struct project_view v;
	int rc = project_view_open(&v, s, dir, err);
	rc = rc < 0 ? rc : scan(&v, progress, data, json, ret_text, err);
	project_view_done(&v);
	return rc;
}

/* The directory itself, not the project it lies in. */
int airlock_project_add(const struct airlock_settings *s, const char *dir, void (*progress)(size_t seen, void *data),
			void *data, int json, char **ret_text, struct airlock_error *err)
{
	return airlock_project_scan(s, dir, progress, data, json, ret_text, err);
}

/* ── list, show, remove ── */

static void list_json(const struct store_projects *l, struct buf *out)
{
	struct json j = json_begin(out, true);
	json_open_object(&j, NULL);
	json_open_array(&j, "projects");
	for (size_t i = 0; i < l->n; i++) {
		json_open_object(&j, NULL);
		json_int(&j, "id", l->v[i].id);
		json_path(&j, "path", l->v[i].path);
		json_int(&j, "files", l->v[i].files);
		add_when(&j, "added", l->v[i].added);
		add_when(&j, "scanned", l->v[i].scanned);
		json_close(&j);
	}
	json_close(&j);
	json_close(&j);
	buf_addc(out, '\n');
}

static void list_text(const struct store_projects *l, struct buf *out)
{
	for (size_t i = 0; i < l->n; i++) {
		buf_printf(out, "%6" PRId64 " files  ", l->v[i].files);
		text_add_escaped(out, l->v[i].path, strlen(l->v[i].path));
		buf_addc(out, '\n');
	}
}

int airlock_project_list(const struct airlock_settings *s, int json, char **ret_text, struct airlock_error *err)
{
	struct project_view v = {0};
	struct buf out = BUF_INIT;
	_cleanup_projects_ struct store_projects l = {0};
	int rc = host_init(s, &v.host, err);
	rc = rc < 0 ? rc : open_existing(&v, err);
	if (rc == 0 && v.store)
		rc = store_project_list(v.store, &l, err);
	if (rc == 0)
		(json ? list_json : list_text)(&l, &out);
	project_view_done(&v);
	*ret_text = rc == 0 ? buf_take(&out) : NULL;
	return rc < 0 ? rc : *ret_text ? 0 : base_oom(err);
}

int airlock_project_show(const struct airlock_settings *s, const char *dir, int json, char **ret_text,
			 struct airlock_error *err)
{
	struct project_view v;
	struct project *p = NULL;
	int rc = project_view_open(&v, s, dir, err);
	rc = rc < 0 ? rc : project_view_need(&v, err);
	rc = rc < 0 ? rc : open_project(&v.host, v.dir, false, NULL, NULL, &p, err);
	rc = rc < 0 ? rc : tell(&v, p, NULL, json, ret_text, err);
	project_free(p);
	project_view_done(&v);
	return rc;
}

/* The mark goes first: without it nobody misses the records. */
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
