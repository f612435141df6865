/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `airlock project links`, `link` and `unlink`. The project is opened as a run opens it, with the same configuration: what a
 * run would refuse cannot be allowed here. */
#include "run/links.h"

#include "base/error.h"
#include "base/json.h"
#include "base/path.h"
#include "base/text.h"
#include "api/projects_api.h"

#include <assert.h>
#include <string.h>
#include <sys/stat.h>

struct airlock_links {
	struct airlock_job *job;    /* its project holds what is handed out, unless items does */
	struct project_link *items; /* those that were answered, owned; NULL: all of the project */
	size_t n;
	struct airlock_link *shown;
	struct strs because;
	char *json;
};

void airlock_links_free(struct airlock_links *l)
{
	if (!l)
		return;
	for (size_t i = 0; l->items && i < l->n; i++)
		project_link_done(&l->items[i]);
	free(l->items);
	free(l->shown);
	strs_done(&l->because);
	free(l->json);
	airlock_job_free(l->job);
	free(l);
}

const char *airlock_link_state_name(enum airlock_link_state state)
{
	static const char *const names[] = {
		[AIRLOCK_LINK_UNANSWERED] = "unanswered",
		[AIRLOCK_LINK_ALLOWED] = "allowed",
		[AIRLOCK_LINK_DENIED] = "denied",
		[AIRLOCK_LINK_REFUSED] = "refused",
	};
	return (unsigned)state < AL_ARRAY_LEN(names) ? names[state] : "";
}

/* ── Opening the project ── */

static int links_open(const struct airlock_settings *s, const struct job_opening *opening, struct airlock_links **ret,
		      struct airlock_error *err)
{
	struct settings_view v;
	int rc = settings_view(s, &v, err);
	if (rc < 0)
		return rc;
	struct airlock_links *l = calloc(1, sizeof *l);
	if (l)
		l->job = job_new();
	rc = l && l->job ? 0 : base_oom(err);
	if (rc == 0) {
		assert(l && l->job); /* base_oom fails */
		l->job->opening = *opening;
		rc = job_open(l->job, s, &v, err);
		l->job->opening.dir = NULL; /* borrowed */
	}
	if (rc == 0 && l->job->workspace.dir) {
		base_error(err, AIRLOCK_ERR_USAGE, "links", l->job->workspace.dir,
			   "a workspace has no links to answer");
		rc = base_hint(err, "--bind-ro SRC[:DST] makes more of this machine visible in a workspace");
	}
	settings_view_done(&v);
	if (rc < 0) {
		airlock_links_free(l);
		return rc;
	}
	*ret = l;
	return 0;
}

struct airlock_link *link_values(const struct project_link *from, size_t n, struct strs *because)
{
	struct airlock_link *v = calloc(n + 1, sizeof *v);
	for (size_t i = 0; i < n; i++) {
		_cleanup_buf_ struct buf words = BUF_INIT;
		links_add_because(&from[i], &words);
		strs_add(because, buf_str(&words));
	}
	for (size_t i = 0; v && !because->failed && i < n; i++)
		v[i] = (struct airlock_link){from[i].path,  from[i].target, from[i].before,
					     from[i].state, from[i].reason, because->v[i]};
	if (because->failed)
		base_freep(&v);
	return v;
}

static int fill(struct airlock_links *l, struct airlock_error *err)
{
	if (!l->items)
		l->n = l->job->project->n_links;
	l->shown = link_values(l->items ? l->items : l->job->project->links, l->n, &l->because);
	return l->shown ? 0 : base_oom(err);
}

static int hand_out(struct airlock_links *l, int rc, struct airlock_links **ret, struct airlock_error *err)
{
	if (rc == 0)
		rc = fill(l, err);
	if (rc == 0)
		*ret = l;
	else
		airlock_links_free(l);
	return rc;
}

int airlock_project_links(const struct airlock_settings *s, const char *dir, void (*progress)(size_t seen, void *data),
			  void *data, struct airlock_links **ret, struct airlock_error *err)
{
	const struct job_opening opening = {.dir = dir, .rescan = true, .progress = progress, .progress_data = data};
	struct airlock_links *l = NULL;
	int rc = links_open(s, &opening, &l, err);
	return rc < 0 ? rc : hand_out(l, 0, ret, err);
}

/* ── Naming a link ── */

/* The path of the link itself: what leads to it is resolved, the last component is not. NULL when there is no such entry or
 * it is no symlink. */
static char *find_link(const char *base, const char *path)
{
	struct stat st;
	_cleanup_free_ char *joined = path[0] == '/' ? strdup(path) : path_join(base, path);
	for (size_t len = joined ? strlen(joined) : 0; len > 1 && joined[len - 1] == '/'; len--)
		joined[len - 1] = '\0';
	_cleanup_free_ char *parent = joined ? path_dirname(joined) : NULL;
	_cleanup_free_ char *real = parent ? realpath(parent, NULL) : NULL;
	char *whole = real ? path_join(real, path_basename(joined)) : NULL;
	if (whole && lstat(whole, &st) == 0 && S_ISLNK(st.st_mode))
		return whole;
	free(whole);
	return NULL;
}

/* Accepts a path relative to the working directory, or relative to the project as the list shows it. A deleted link
 * keeps the name it had in the list. */
static char *name_of_link(const struct airlock_job *job, const char *path)
{
	const char *project = job->project->dir;
	char *whole = find_link(job->host.cwd, path);
	if (!whole)
		whole = find_link(project, path);
	if (!whole)
		whole = path_normalize(project, path);
	const char *rest = whole ? path_rest(whole, project) : NULL;
	char *name = rest && *rest ? strdup(rest) : whole ? strdup(whole) : NULL;
	free(whole);
	return name;
}

/* ── Answering ── */

static int look_at(const struct airlock_links *l, const struct project_query *q, const char *path,
		   enum airlock_link_state answer, struct project_link *ret, struct airlock_error *err)
{
	struct airlock_error why = {0};
	_cleanup_free_ char *name = name_of_link(l->job, path);
	if (!name)
		return base_oom(err);
	int rc = project_look_at_link(q, l->job->project, name, ret, &why);
	if (rc < 0 && (answer != AIRLOCK_LINK_DENIED || project_find_answer(q, name, ret) != 1))
		return base_pass(err, &why);
	ret->state = answer;
	return 0;
}

static int answer_all(struct airlock_links *l, const char *const *paths, enum airlock_link_state answer,
		      struct airlock_error *err)
{
	_cleanup_free_ char *home = NULL;
	struct project_query q;
	size_t n = 0;
	int rc = job_project_query(l->job, l->job->project->dir, &home, &q, err);
	while (paths[n])
		n++;
	l->items = calloc(n + 1, sizeof *l->items);
	if (rc == 0 && !l->items)
		rc = base_oom(err);
	assert(rc != 0 || l->items); /* base_oom fails */
	for (; rc == 0 && l->n < n; l->n += rc == 0)
		rc = look_at(l, &q, paths[l->n], answer, &l->items[l->n], err);
	return rc < 0 ? rc : project_answer(&q, l->items, n, answer, err);
}

static int answer(const struct airlock_settings *s, const char *dir, const char *const *paths,
		  enum airlock_link_state state, struct airlock_links **ret, struct airlock_error *err)
{
	const struct job_opening opening = {.dir = dir};
	struct airlock_links *l = NULL;
	if (!paths || !paths[0])
		return base_error(err, AIRLOCK_ERR_USAGE, "link", "", "no link was named");
	int rc = links_open(s, &opening, &l, err);
	return rc < 0 ? rc : hand_out(l, answer_all(l, paths, state, err), ret, err);
}

int airlock_project_link(const struct airlock_settings *s, const char *dir, const char *const *paths,
			 struct airlock_links **ret, struct airlock_error *err)
{
	return answer(s, dir, paths, AIRLOCK_LINK_ALLOWED, ret, err);
}

int airlock_project_unlink(const struct airlock_settings *s, const char *dir, const char *const *paths,
			   struct airlock_links **ret, struct airlock_error *err)
{
	return answer(s, dir, paths, AIRLOCK_LINK_DENIED, ret, err);
}

/* ── Handing out ── */

size_t airlock_links_count(const struct airlock_links *l)
{
	return l->n;
}

const struct airlock_link *airlock_links_at(const struct airlock_links *l, size_t i)
{
	return i < l->n ? &l->shown[i] : NULL;
}

const char *airlock_links_project(const struct airlock_links *l)
{
	return l->job->project->dir;
}

size_t airlock_links_note_count(const struct airlock_links *l)
{
	return l->job->warnings.n;
}

const struct airlock_note *airlock_links_note(const struct airlock_links *l, size_t i)
{
	return notes_at(&l->job->warnings, i);
}

const char *airlock_links_json(struct airlock_links *l)
{
	const struct project part = {.links = l->items, .n_links = l->n};
	struct buf out = BUF_INIT;
	struct json j = json_begin(&out, true);
	free(l->json);
	json_open_object(&j, NULL);
	json_path(&j, "project", l->job->project->dir);
	links_json(l->items ? &part : l->job->project, &j);
	notes_add_json(&j, "notes", &l->job->warnings);
	json_close(&j);
	buf_addc(&out, '\n');
	l->json = buf_take(&out);
	return l->json ? l->json : "";
}
