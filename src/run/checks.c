/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The decisions of a job that can say no: backend, paths, working directory. */
#include "run/job.h"

#include "base/error.h"
#include "base/path.h"
#include "fs/fs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ── Backend ── */

/* Appends to an existing hint, if there is room. */
static void mention_doctor(struct airlock_error *err)
{
	static const char words[] = "`airlock doctor` says more";
	size_t n = strlen(err->hint);
	if (n + sizeof words + 2 <= sizeof err->hint)
		(void)snprintf(err->hint + n, sizeof err->hint - n, "%s%s", n ? "; " : "", words);
}

static int fall_back(struct airlock_job *job, const struct airlock_error *why, char **ret_because,
		     struct airlock_error *err)
{
	if (job->config->fallback == CONFIG_FALLBACK_REFUSE) {
		if (err && err->code == 0) {
			*err = *why;
			mention_doctor(err);
		}
		return AIRLOCK_ERR_UNAVAILABLE;
	}
	job->backend = &backend_passthrough;
	if (job->config->fallback == CONFIG_FALLBACK_WARN)
		NOTE(&job->warnings, FELL_BACK, .cause = why->message);
	else if (!(*ret_because = strdup(why->message)))
		return base_oom(err);
	return 0;
}

/* Inside an application's sandbox (Flatpak) no other sandbox can be made, so every command is asked about instead. */
static bool is_inside_flatpak(const struct airlock_job *job)
{
	static const char name[] = "FLATPAK_ID=";
	for (size_t i = 0; i < job->environ.n; i++)
		if (strncmp(job->environ.v[i], name, sizeof name - 1) == 0 && job->environ.v[i][sizeof name - 1])
			return true;
	return access("/.flatpak-info", F_OK) == 0;
}

static int inside_flatpak(struct airlock_error *err)
{
	base_error(err, AIRLOCK_ERR_UNAVAILABLE, "backend", "flatpak",
		   "a Flatpak application cannot make another sandbox");
	return base_hint(
		err,
		"run airlock outside of the Flatpak application (flatpak-spawn --host), or answer for each command");
}

/* A person who set "refuse" has decided. With the default, a person decides about each command. */
static int choose_in_flatpak(struct airlock_job *job, char **ret_because, struct airlock_error *err)
{
	struct airlock_error why = {0};
	(void)inside_flatpak(&why);
	if (job->config->fallback == CONFIG_FALLBACK_REFUSE &&
	    config_is_set(job->config, "sandbox.fallback_on_unavailable"))
		return fall_back(job, &why, ret_because, err);
	job->backend = &backend_passthrough;
	*ret_because = strdup(why.message);
	return *ret_because ? 0 : base_oom(err);
}

/* Take the first backend that has everything, else the first that works; one with namespaces comes before one
 * without. */
static int choose_automatically(struct airlock_job *job, char **ret_because, struct airlock_error *err)
{
	struct airlock_error why = {0};
	job->backend = NULL;
	for (const struct backend *const *b = backend_preference(); *b; b++) {
		struct airlock_error reason = {0};
		int rc = (*b)->probe(&job->ctx, &reason);
		bool taken = !job->backend ? rc >= 0 : rc == 0 && !(*b)->in_place;
		if (taken)
			job->backend = *b;
		if (rc == 0)
			break;
		if (rc < 0 && why.code == 0)
			why = reason;
	}
	if (!job->backend)
		return fall_back(job, &why, ret_because, err);
	if (job->backend->in_place)
		NOTE(&job->warnings, PARTIAL_ISOLATION, .subject = job->backend->name, .cause = why.message);
	return 0;
}

int job_choose_backend(struct airlock_job *job, char **ret_unsandboxed_because, struct airlock_error *err)
{
	const char *name = job->config->enabled ? job->config->backend : "passthrough";
	if (strcmp(name, "auto") == 0 && is_inside_flatpak(job))
		return choose_in_flatpak(job, ret_unsandboxed_because, err);
	if (strcmp(name, "auto") == 0)
		return choose_automatically(job, ret_unsandboxed_because, err);
	job->backend = backend_by_name(name);
	if (!job->backend)
		return base_error(err, AIRLOCK_ERR_INTERNAL, "backend", name, "backend \"%s\" was not checked", name);
	if (job->backend->unsandboxed) {
		struct buf who = BUF_INIT;
		rule_origin_add(&who,
				job->config->enabled ? &job->config->backend_origin : &job->config->enabled_origin);
		*ret_unsandboxed_because = buf_take(&who);
		return *ret_unsandboxed_because ? 0 : base_oom(err);
	}
	int rc = job->backend->probe(&job->ctx, job->backend->profile ? &job->cannot_run : err);
	if (rc >= 0 || job->backend->profile)
		return 0;
	if (err)
		mention_doctor(err);
	return rc;
}

/* ── Paths ── */

static int check_asked_path(const struct policy_path *p, struct airlock_error *err)
{
	struct stat st;
	if (lstat(p->path, &st) == 0)
		return 0;
	return base_error(err, AIRLOCK_ERR_NOT_FOUND, "stat", p->path, "%s: %s does not exist", p->origin.name,
			  p->path);
}

static int add_extra_writable(const struct policy_path *p, struct strs *ret, struct airlock_error *err)
{
	_cleanup_free_ char *real = realpath(p->path, NULL);
	if (!real)
		return base_errno(err, AIRLOCK_ERR_IO, errno, "realpath", p->path);
	if (strcmp(real, "/") == 0)
		return base_error(err, AIRLOCK_ERR_INVALID, "allow-write", real,
				  "%s: the whole file system cannot be made writable", p->origin.name);
	if (!strs_has(ret, real))
		strs_add(ret, real);
	return ret->failed ? base_oom(err) : 0;
}

int job_check_paths(const struct airlock_job *job, struct strs *ret_extra_writable, struct airlock_error *err)
{
	const struct policy *policy = &job->config->policy;
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < policy->n_paths; i++) {
		const struct policy_path *p = &policy->paths[i];
		bool asked = p->origin.kind == AIRLOCK_ORIGIN_CALLER, write = p->access == POLICY_WRITE && asked;
		if (write || (p->access == POLICY_READ && asked))
			rc = check_asked_path(p, err);
		if (rc == 0 && write)
			rc = add_extra_writable(p, ret_extra_writable, err);
		/* Hiding the project from the command that works in it is a contradiction, not a policy. */
		if (rc == 0 && p->access == POLICY_HIDE && strcmp(p->path, job->project->dir) == 0) {
			_cleanup_buf_ struct buf who = BUF_INIT;
			rule_origin_add(&who, &p->origin);
			base_error(err, AIRLOCK_ERR_BLOCKED, "project", p->path, "the project %s is hidden by %s",
				   p->path, buf_str(&who));
			rc = base_hint(err, "choose another project with -p, or remove the path from blocked_paths");
		}
	}
	return rc;
}

/* ── The program ── */

/* Paths with other content inside than on the host: checking them from here proves nothing. */
static bool is_private(const struct airlock_job *job, const char *path)
{
	static const char *const places[] = {"/proc", "/dev", "/tmp", "/var/tmp", "/run"};
	_cleanup_free_ char *playground = path_join(job->host.home, "playground");
	if (path_is_beneath(path, job->project->dir))
		return false;
	for (size_t i = 0; i < AL_ARRAY_LEN(places); i++)
		if (path_is_beneath(path, places[i]))
			return true;
	return !playground || path_is_beneath(path, playground);
}

static bool may_exist(const struct airlock_job *job, const char *dir, const char *name)
{
	struct stat st;
	_cleanup_free_ char *path = path_normalize(dir, name);
	if (!path || lstat(path, &st) == 0)
		return true;
	return is_private(job, path) || (errno != ENOENT && errno != ENOTDIR);
}

static const char *path_inside(const struct airlock_job *job)
{
	for (size_t i = 0; i < job->plan->envp.n; i++)
		if (strncmp(job->plan->envp.v[i], "PATH=", 5) == 0)
			return job->plan->envp.v[i] + 5;
	return NULL;
}

bool job_may_have_program(const struct airlock_job *job)
{
	const char *program = job->plan && job->plan->argv.n ? job->plan->argv.v[0] : NULL;
	const char *path = program ? path_inside(job) : NULL;
	if (!program || !*program || job->workspace.dir || !path)
		return true;
	if (strchr(program, '/'))
		return may_exist(job, job->plan->cwd, program);
	while (path) {
		const char *end = strchrnul(path, ':');
		_cleanup_free_ char *part = strndup(path, (size_t)(end - path));
		_cleanup_free_ char *dir = part ? path_normalize(job->plan->cwd, *part ? part : ".") : NULL;
		if (!dir || may_exist(job, dir, program))
			return true;
		path = *end ? end + 1 : NULL;
	}
	return false;
}

/* ── Working directory ── */

int job_find_working_dir(const struct airlock_job *job, const char *wanted, char **ret, struct airlock_error *err)
{
	bool playground = wanted && strcmp(wanted, "playground") == 0;
	_cleanup_free_ char *path = NULL;
	if (job->workspace.dir) { /* a path inside; there is no playground */
		*ret = path_normalize("/", wanted && *wanted ? wanted : "/");
		return *ret ? 0 : base_oom(err);
	}
	if (playground && job->backend->in_place)
		path = strdup(job->host.playground); /* nothing is mounted there without a sandbox */
	else if (playground)
		path = path_join(job->host.home, "playground");
	else
		path = wanted && *wanted ? path_normalize(job->host.cwd, wanted) : strdup(job->project->dir);
	if (!path)
		return base_oom(err);
	char *real = playground ? NULL : realpath(path, NULL);
	*ret = real ? real : TAKE_PTR(path);
	return 0;
}

int job_no_working_dir(const char *path, bool exists, struct airlock_error *err)
{
	return base_error(err, exists ? AIRLOCK_ERR_INVALID : AIRLOCK_ERR_NOT_FOUND, "chdir", path,
			  exists ? "Working directory is not a directory: %s" : "Working directory does not exist: %s",
			  path);
}

int job_check_working_dir(const struct airlock_job *job, const char *shown, struct airlock_error *err)
{
	_cleanup_free_ char *host = NULL;
	const char *cwd = job->plan->cwd;
	if (!shown || (!job->workspace.dir && path_is_beneath(cwd, job->host.playground)))
		return 0;
	if (job->workspace.dir)
		return job_check_workspace_dir(job, err);
	enum plan_location where = job->backend->in_place ? PLAN_AT_HOST : plan_locate(job->plan, cwd, &host);
	if (where == PLAN_AT_SANDBOX)
		return 0;
	if (where == PLAN_NO_MEMORY)
		return base_oom(err);
	if (host && path_is_beneath(host, job->host.playground) && access(job->host.playground, F_OK) < 0)
		return strcmp(host, job->host.playground) == 0 ? 0 : job_no_working_dir(shown, false, err);
	struct stat st;
	if (where == PLAN_AT_NOTHING || (stat(host ? host : cwd, &st) < 0 && (errno == ENOENT || errno == ENOTDIR)))
		return job_no_working_dir(shown, false, err);
	return stat(host ? host : cwd, &st) == 0 && !S_ISDIR(st.st_mode) ? job_no_working_dir(shown, true, err) : 0;
}
