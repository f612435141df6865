/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is decided otherwise for a job in a workspace. */
#include "run/job.h"

#include "base/error.h"
#include "base/path.h"
#include "files/resolve.h"
#include "fs/fs.h"

#include <string.h>

/* A command could read and change airlock's records and configuration there, so refuse. */
static int check_ours(const struct airlock_job *job, const char *path, struct airlock_error *err)
{
	_cleanup_free_ char *real = realpath(path, NULL);
	if (!path_is_beneath(real ? real : path, job->workspace.dir))
		return 0;
	base_error(err, AIRLOCK_ERR_INVALID, "workspace", job->workspace.dir,
		   "the workspace %s contains airlock's own %s", job->workspace.dir, path);
	return base_hint(err, "choose another directory, or point XDG_STATE_HOME and XDG_CONFIG_HOME elsewhere");
}

/* Rules about paths of the host have no meaning where the host is not seen. */
static int check_settings(const struct settings_view *v, struct airlock_error *err)
{
	static const char *const senseless[] = {"project", "allow-write", "ro", "hide"};
	for (size_t i = 0; i < v->n; i++)
		for (size_t k = 0; k < AL_ARRAY_LEN(senseless); k++) {
			if (strcmp(v->items[i].key, senseless[k]) != 0)
				continue;
			base_error(err, AIRLOCK_ERR_USAGE, "workspace", v->items[i].origin,
				   "%s cannot be combined with --workspace", v->items[i].origin);
			return base_hint(err, "--bind-ro SRC[:DST] makes more of this machine visible in a workspace");
		}
	return 0;
}

int job_open_workspace(struct airlock_job *job, const struct settings_view *v, struct airlock_error *err)
{
	const char *dir = job->workspace.dir;
	int rc = check_settings(v, err);
	if (rc == 0)
		rc = check_ours(job, job->host.state_dir, err);
	if (rc == 0)
		rc = check_ours(job, job->host.config_dir, err);
	if (rc < 0)
		return rc;
	struct project *p = job->project = calloc(1, sizeof *p);
	if (!p || !(p->dir = strdup(dir)) || !(p->roots = calloc(1, sizeof *p->roots)))
		return base_oom(err);
	p->n_roots = 1;
	p->roots[0] = (struct project_root){.path = strdup(dir), .because = RULE_ORIGIN(WORKSPACE)};
	strs_add(&job->untrusted_dirs, dir);
	/* Files of a workspace are meant to stay: make a layer only on request. */
	if (!settings_get(v, "changes"))
		job->config->policy.changes = POLICY_CHANGES_DIRECT;
	return p->roots[0].path ? 0 : base_oom(err);
}

/* In the workspace itself, or below something of the system's that lies over it. */
int job_check_workspace_dir(const struct airlock_job *job, struct airlock_error *err)
{
	const char *cwd = job->plan->cwd;
	struct files_place place = {.workspace = true};
	_cleanup_files_at_ struct files_at at = FILES_AT_INIT;
	_cleanup_free_ char *host = NULL;
	struct stat st;
	enum plan_location where = plan_locate(job->plan, cwd, &host);
	if (where == PLAN_NO_MEMORY)
		return base_oom(err);
	if (where == PLAN_AT_SANDBOX)
		return 0;
	if (host && !path_is_beneath(host, job->workspace.dir)) {
		bool exists = stat(host, &st) == 0;
		return exists && S_ISDIR(st.st_mode) ? 0 : job_no_working_dir(cwd, exists, err);
	}
	int rc = files_place_mount(&place, "/", job->workspace.dir, NULL, false, err);
	if (rc == 0)
		rc = files_resolve(&place, cwd, 0, &at, NULL) < 0 ? 1 : 0;
	files_place_done(&place);
	/* A link into the system's directories: the command itself will see where it leads. */
	if (rc == 0 && !at.found && at.detour)
		return 0;
	if (rc < 0)
		return rc;
	bool found = rc == 0 && at.found;
	return found && S_ISDIR(at.st.st_mode) ? 0 : job_no_working_dir(cwd, found, err);
}

/* ── The plan ── */

/* A file of ours for everybody inside to read; replaced only when it is another one. */
static int provide(const char *path, const struct buf *content, struct airlock_error *err)
{
	_cleanup_buf_ struct buf old = BUF_INIT;
	if (content->failed)
		return base_oom(err);
	if (fs_read_file(path, 65536, &old, NULL) == 0 && old.len == content->len &&
	    memcmp(old.data, content->data, old.len) == 0)
		return 0;
	return fs_write_private_file(path, buf_str(content), content->len, err);
}

static int provide_users(const char *passwd, const char *group, struct airlock_error *err)
{
	_cleanup_buf_ struct buf users = BUF_INIT, groups = BUF_INIT;
	unsigned uid = geteuid(), gid = getegid();
	buf_adds(&users, "root:x:0:0:root:/:/bin/sh\n");
	if (uid != 0)
		buf_printf(&users, "user:x:%u:%u:user:/:/bin/sh\n", uid, gid);
	buf_adds(&users, "nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n");
	buf_adds(&groups, "root:x:0:\n");
	if (gid != 0)
		buf_printf(&groups, "user:x:%u:\n", gid);
	buf_adds(&groups, "nogroup:x:65534:\n");
	int rc = provide(passwd, &users, err);
	return rc < 0 ? rc : provide(group, &groups, err);
}

int job_plan_workspace(struct airlock_job *job, const struct plan_inputs *common, struct airlock_error *err)
{
	const struct workspace *w = &job->workspace;
	_cleanup_free_ char *passwd = path_join(job->host.state_dir, "workspace/passwd");
	_cleanup_free_ char *group = path_join(job->host.state_dir, "workspace/group");
	_cleanup_free_ struct plan_bind *binds = calloc(w->n_binds + 1, sizeof *binds);
	if (!passwd || !group || !binds)
		return base_oom(err);
	if (job->backend->in_place) { /* nothing is mounted */
		base_error(err, AIRLOCK_ERR_UNAVAILABLE, "workspace", w->dir,
			   "with backend %s a workspace cannot be the root directory", job->backend->name);
		return base_hint(err, "run it in the directory itself: -p %s", w->dir);
	}
	int rc = provide_users(passwd, group, err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < w->n_binds; i++)
		binds[i] = (struct plan_bind){w->binds[i].source, w->binds[i].target};
	struct plan_workspace ws = {
		.dir = w->dir, .binds = binds, .n_binds = w->n_binds, .passwd = passwd, .group = group};
	struct plan_inputs in = *common;
	in.workspace = &ws;
	in.home = "/";
	return plan_build(&in, &job->plan, err);
}
