/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* airlock/files.h: which place it is, and for a project changes that are a run of their own: the new content is put into a
 * layer as a command would have left it there, and scanned, judged and applied like a command's. */
#include "airlock/files.h"

#include "base/error.h"
#include "base/path.h"
#include "files/files.h"
#include "session/decided.h"
#include "run/files_stage.h"
#include "run/run.h"
#include "run/run_session.h"
#include "run/workspace.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

struct airlock_place {
	struct files_place place;
	struct airlock_job *job; /* a project's; NULL for a workspace */
	char *dir;
};

void airlock_place_free(struct airlock_place *place)
{
	if (!place)
		return;
	files_place_done(&place->place);
	airlock_job_free(place->job);
	free(place->dir);
	free(place);
}

int airlock_place_is_workspace(const struct airlock_place *place)
{
	return place->place.workspace;
}

const char *airlock_place_dir(const struct airlock_place *place)
{
	return place->dir;
}

/* ── Opening ── */

static int open_workspace(struct airlock_place *place, const struct airlock_settings *s, const struct settings_view *v,
			  struct airlock_error *err)
{
	struct host host;
	struct workspace w = {0};
	int rc = host_init(s, &host, err);
	if (rc < 0)
		return rc;
	rc = workspace_open(&w, v, host.cwd, err);
	host_done(&host);
	place->place.workspace = true;
	place->place.base = strdup("/");
	place->dir = rc == 0 ? strdup(w.dir) : NULL;
	if (rc == 0 && (!place->place.base || !place->dir))
		rc = base_oom(err);
	if (rc == 0)
		rc = files_place_mount(&place->place, "/", w.dir, NULL, false, err);
	for (size_t i = 0; rc == 0 && i < w.n_binds; i++)
		if (w.binds[i].is_dir)
			rc = files_place_mount(&place->place, w.binds[i].target, w.binds[i].source, NULL, true, err);
	workspace_done(&w);
	return rc;
}

static enum files_access access_of(enum policy_access access)
{
	return access == POLICY_HIDE ? FILES_HIDDEN : access == POLICY_READ ? FILES_READABLE : FILES_WRITABLE;
}

/* Hide what the policy hides from commands. */
static int add_rules(struct airlock_place *place, struct airlock_error *err)
{
	const struct policy *p = &place->job->config->policy;
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < p->n_paths; i++)
		rc = files_place_rule(&place->place, p->paths[i].path, access_of(p->paths[i].access), err);
	const char *const ours[] = {place->job->host.state_dir, place->job->host.config_dir};
	for (size_t i = 0; rc == 0 && i < AL_ARRAY_LEN(ours); i++)
		rc = files_place_rule(&place->place, ours[i], FILES_HIDDEN, err);
	return rc;
}

/* In a session that holds its changes: what its next command would see there. */
static int mount_root(struct airlock_place *place, const char *root, struct airlock_error *err)
{
	char view[32];
	_cleanup_close_ int fd = run_session_view(place->job, root);
	if (fd < 0 && fd != -ENOENT)
		return base_errno(err, AIRLOCK_ERR_IO, fd, "see the session's layers over", root);
	(void)snprintf(view, sizeof view, "/proc/self/fd/%d", fd);
	return files_place_mount(&place->place, root, fd < 0 ? root : view, NULL, false, err);
}

static int open_project_place(struct airlock_place *place, const struct airlock_settings *s,
			      const struct settings_view *v, struct airlock_error *err)
{
	place->job = job_new();
	int rc = place->job ? origin_decide(s, v, &place->job->origin, err) : base_oom(err);
	if (rc == 0)
		rc = job_open(place->job, s, v, err);
	if (rc == 0)
		rc = run_session_join(place->job, v, err);
	if (rc < 0)
		return rc;
	assert(place->job); /* base_oom fails */
	const struct project *project = place->job->project;
	place->place.base = strdup(project->dir);
	place->dir = strdup(project->dir);
	if (!place->place.base || !place->dir)
		return base_oom(err);
	for (size_t i = 0; rc == 0 && i < project->n_roots; i++) {
		const char *root = project->roots[i].path;
		rc = mount_root(place, root, err);
	}
	return rc < 0 ? rc : add_rules(place, err);
}

/* Use the roots of that run, each with its layer, but the rules that are in force now. */
static int open_run(struct airlock_place *place, const struct airlock_settings *s, const struct settings_view *v,
		    const char *run, struct airlock_error *err)
{
	_cleanup_decided_ struct decided d = DECIDED_INIT;
	place->job = job_new();
	int rc = decided_open(&d, s, run, DECIDED_TO_LOOK, err);
	if (rc == 0)
		rc = place->job ? job_open(place->job, s, v, err) : base_oom(err);
	if (rc == 0 && d.run.set->n_roots == 0)
		rc = base_error(err, AIRLOCK_ERR_NOT_FOUND, "open", run, "run %s has no roots", run);
	for (size_t i = 0; rc == 0 && i < d.run.set->n_roots; i++) {
		const struct change_root *r = &d.run.set->roots[i];
		/* A run that changed nothing, or was applied whole, has no layer any more. */
		bool layered = d.run.set->n > 0 && access(r->upper, F_OK) == 0;
		rc = files_place_mount(&place->place, r->path, r->path, layered ? r->upper : NULL, true, err);
	}
	assert(rc != 0 || place->job); /* base_oom fails */
	if (rc == 0)
		rc = add_rules(place, err);
	if (rc == 0) {
		place->place.base = strdup(d.run.set->roots[0].path);
		place->dir = strdup(d.run.set->roots[0].path);
		place->place.set = TAKE_PTR(d.run.set);
		rc = place->place.base && place->dir ? 0 : base_oom(err);
	}
	return rc;
}

int airlock_place_open(const struct airlock_settings *s, const char *run, struct airlock_place **ret,
		       struct airlock_error *err)
{
	struct settings_view v;
	int rc = settings_view(s, &v, err);
	if (rc < 0)
		return rc;
	struct airlock_place *place = calloc(1, sizeof *place);
	const char *workspace = settings_get(&v, "workspace");
	if (!place)
		rc = base_oom(err);
	else if (run && workspace)
		rc = base_error(err, AIRLOCK_ERR_USAGE, "open", run,
				"a workspace and a run cannot be combined: name one of them");
	else if (run)
		rc = open_run(place, s, &v, run, err);
	else
		rc = workspace ? open_workspace(place, s, &v, err) : open_project_place(place, s, &v, err);
	settings_view_done(&v);
	if (rc < 0) {
		airlock_place_free(place);
		return rc;
	}
	*ret = place;
	return 0;
}

/* ── Looking ── */

int airlock_files_ls(struct airlock_place *place, const char *path, struct airlock_files **ret,
		     struct airlock_error *err)
{
	return files_ls(&place->place, path, ret, err);
}

int airlock_files_read(struct airlock_place *place, const char *path, int64_t offset, int64_t limit,
		       struct airlock_files **ret, struct airlock_error *err)
{
	return files_read(&place->place, path, offset, limit, ret, err);
}

int airlock_files_glob(struct airlock_place *place, const char *pattern, const char *path, int64_t max,
		       struct airlock_files **ret, struct airlock_error *err)
{
	return files_glob(&place->place, pattern, path, max, ret, err);
}

int airlock_files_grep(struct airlock_place *place, const char *text, const char *path, const char *glob, int64_t max,
		       struct airlock_files **ret, struct airlock_error *err)
{
	return files_grep(&place->place, text, path, glob, max, ret, err);
}

/* ── Changing ── */

static bool is_direct(const struct airlock_place *place)
{
	return !place->job || place->job->config->policy.changes == POLICY_CHANGES_DIRECT;
}

int airlock_files_write(struct airlock_place *place, const char *path, const void *content, size_t size,
			struct airlock_files **ret, struct airlock_error *err)
{
	struct stage_request request = {.path = path, .content = content, .size = size, .what = STAGE_WRITE};
	return is_direct(place) ? files_write(&place->place, path, content, size, ret, err)
				: stage_change(place->job, &place->place, &request, ret, err);
}

int airlock_files_edit(struct airlock_place *place, const char *path, const char *old_text, const char *new_text,
		       int all, struct airlock_files **ret, struct airlock_error *err)
{
	struct stage_request request = {
		.path = path, .old_text = old_text, .new_text = new_text, .all = all, .what = STAGE_EDIT};
	return is_direct(place) ? files_edit(&place->place, path, old_text, new_text, all, ret, err)
				: stage_change(place->job, &place->place, &request, ret, err);
}

int airlock_files_delete(struct airlock_place *place, const char *path, struct airlock_files **ret,
			 struct airlock_error *err)
{
	struct stage_request request = {.path = path, .what = STAGE_DELETE};
	return is_direct(place) ? files_delete(&place->place, path, ret, err)
				: stage_change(place->job, &place->place, &request, ret, err);
}

/* ── Large files ── */

int airlock_files_open(struct airlock_place *place, const char *path, int *ret_fd, struct airlock_error *err)
{
	_cleanup_files_at_ struct files_at at = FILES_AT_INIT;
	int rc = files_find(&place->place, path, 0, &at, err);
	if (rc < 0)
		return rc;
	int fd = files_open_file(&at);
	if (fd < 0)
		return files_open_error(path, fd, err);
	*ret_fd = fd;
	return 0;
}

struct airlock_upload {
	struct files_upload upload;
};

int airlock_upload_begin(struct airlock_place *place, const char *path, struct airlock_upload **ret,
			 struct airlock_error *err)
{
	if (!place->place.workspace)
		return base_error(err, AIRLOCK_ERR_INVALID, "write", path, "only a workspace takes files in pieces");
	struct airlock_upload *u = calloc(1, sizeof *u);
	if (!u)
		return base_oom(err);
	int rc = files_upload_begin(&u->upload, &place->place, path, err);
	if (rc < 0)
		free(u);
	else
		*ret = u;
	return rc;
}

int airlock_upload_write(struct airlock_upload *u, const void *bytes, size_t size, struct airlock_error *err)
{
	return files_upload_write(&u->upload, bytes, size, err);
}

int airlock_upload_commit(struct airlock_upload *u, struct airlock_files **ret, struct airlock_error *err)
{
	return files_upload_commit(&u->upload, ret, err);
}

void airlock_upload_free(struct airlock_upload *u)
{
	if (u)
		files_upload_done(&u->upload);
	free(u);
}
