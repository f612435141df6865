/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/run_session.h"

#include "base/error.h"
#include "base/path.h"
#include "fs/fs.h"
#include "history/history.h"
#include "run/run_holder.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static struct session_place place_of(const struct airlock_job *job)
{
	return (struct session_place){&job->host, job->project->dir};
}

/* ── Which ── */

/* The mode that the settings ask for, and not only the configuration. */
static const char *asked_mode(const struct settings_view *v)
{
	return settings_get(v, "changes");
}

static int other_mode(const struct airlock_job *job, const char *asked, struct airlock_error *err)
{
	const struct job_session *s = &job->work;
	base_error(err, AIRLOCK_ERR_INVALID, "changes", asked,
		   "session %s %s its changes, so a command of it cannot have \"--changes %s\"", s->name,
		   s->holds ? "holds" : "applies", asked);
	return base_hint(err, "leave --changes out, or start another session: airlock session new --changes %s",
			 s->holds ? "apply" : "hold");
}

/* The session says what happens to changes. Throwing them away concerns only the run itself. */
static int take_mode(struct airlock_job *job, const struct settings_view *v, struct airlock_error *err)
{
	struct policy *p = &job->config->policy;
	const char *asked = asked_mode(v);
	if (asked && p->changes == POLICY_CHANGES_DISCARD)
		return 0;
	bool fits = job->work.holds ? p->changes == POLICY_CHANGES_HOLD
				    : p->changes == POLICY_CHANGES_APPLY || p->changes == POLICY_CHANGES_ASK ||
					      p->changes == POLICY_CHANGES_DIRECT;
	if (asked && !fits)
		return other_mode(job, asked, err);
	if (!fits)
		p->changes = job->work.holds ? POLICY_CHANGES_HOLD : POLICY_CHANGES_APPLY;
	return 0;
}

/* A session belongs to one project. Naming the project as well means that one was meant, so a new one in another is a slip. */
static int check_other_projects(const struct airlock_job *job, const struct settings_view *v, const char *name,
				struct airlock_error *err)
{
	_cleanup_strs_ struct strs all = STRS_INIT;
	if (!settings_get(v, "project") || job->origin.kind == ORIGIN_AGENT || /* which goes from project to project */
	    session_list(&(struct session_place){&job->host, NULL}, &all, NULL) < 0)
		return 0;
	for (size_t i = 0; i < all.n; i++) {
		_cleanup_session_ struct session other = SESSION_INIT;
		const char *slash = strchr(all.v[i], '/');
		if (!slash || strcmp(slash + 1, name) != 0 ||
		    session_open_entry(&other, &job->host, all.v[i], NULL) < 0)
			continue;
		base_error(err, AIRLOCK_ERR_INVALID, "session", name, "session %s belongs to the project %s, not to %s",
			   name, other.project, job->project->dir);
		return base_hint(err, "leave -p out and run it in that project, or choose another name");
	}
	return 0;
}

int run_session_join(struct airlock_job *job, const struct settings_view *v, struct airlock_error *err)
{
	const char *name = settings_get(v, "session");
	_cleanup_session_ struct session s = SESSION_INIT;
	const struct session_place at = place_of(job);
	struct airlock_error why = {0};
	if (!name || !*name)
		return 0;
	job->work.name = strdup(name);
	if (!job->work.name)
		return base_oom(err);
	int rc = session_open(&s, &at, name, SESSION_LOOK, &why);
	if (rc == AIRLOCK_ERR_NOT_FOUND) {
		enum policy_changes mode = job->config->policy.changes;
		job->work.holds = mode == POLICY_CHANGES_HOLD || mode == POLICY_CHANGES_ASK;
		rc = check_other_projects(job, v, name, err);
	} else if (rc < 0)
		return base_pass(err, &why);
	else
		job->work.holds = s.holds;
	if (rc == 0 && job->workspace.dir && job->work.holds)
		rc = base_error(err, AIRLOCK_ERR_INVALID, "session", name,
				"a workspace is written to directly, so its session cannot hold changes");
	if (rc == 0)
		job->work.tmp = session_tmp(&at, name);
	if (rc == 0 && !job->work.tmp)
		rc = base_oom(err);
	return rc < 0 ? rc : take_mode(job, v, err);
}

int run_session_make_tmp(const struct airlock_job *job, struct airlock_error *err)
{
	if (!job->work.tmp || job->backend->in_place)
		return 0;
	int rc = fs_make_private_dir(job->work.tmp, err);
	if (rc == 0 && chmod(job->work.tmp, 01777) < 0) /* nobody else gets through the directories above it */
		rc = base_errno(err, AIRLOCK_ERR_IO, errno, "chmod", job->work.tmp);
	return rc;
}

bool run_session_holds(const struct airlock_job *job)
{
	return job->work.name && job->work.holds && job->config->policy.changes == POLICY_CHANGES_HOLD;
}

int run_session_check(const struct airlock_job *job, struct airlock_error *err)
{
	if (!job->work.name || !job->work.holds || layers_capture(job) == AIRLOCK_CAPTURE_OVERLAY)
		return 0;
	base_error(err, AIRLOCK_ERR_UNAVAILABLE, "session", job->work.name,
		   "session %s holds its changes, which takes overlays, and they cannot be had: %s", job->work.name,
		   job->capture_because ? job->capture_because : "this backend mounts nothing");
	return base_hint(err, "a session that applies its changes works here: airlock session new --changes apply");
}

/* ── The beginning ── */

static int read_lowers(struct airlock_job *job, const struct session *s, struct airlock_error *err)
{
	const struct strs *roots = &job->plan->roots;
	job->work.lowers = calloc(roots->n + 1, sizeof *job->work.lowers);
	if (!job->work.lowers)
		return base_oom(err);
	job->work.n_lowers = roots->n;
	for (size_t i = 0; i < roots->n; i++) {
		session_lowers(s, roots->v[i], &job->work.lowers[i]);
		if (job->work.lowers[i].failed)
			return base_oom(err);
	}
	return 0;
}

/* Only what was there before the command: what others write meanwhile is looked at while it runs (run_usage.h). */
static int check_disk(const struct airlock_job *job, const struct session *s, struct airlock_error *err)
{
	_cleanup_buf_ struct buf used = BUF_INIT, limit = BUF_INIT;
	int64_t bytes = (int64_t)session_layers_bytes(s);
	if (bytes <= job->work.limits.disk)
		return 0;
	text_add_size(&used, bytes);
	text_add_size(&limit, job->work.limits.disk);
	base_error(err, AIRLOCK_ERR_LIMIT, "limit", "disk",
		   "session %s has written %s, and its limit is %s: the command was not started", s->name,
		   buf_str(&used), buf_str(&limit));
	return base_hint(err, job->origin.kind == ORIGIN_PERSON
				      ? "apply or discard its changes, or raise disk in [session] of airlock.toml(5)"
				      : "a person can apply or discard its changes");
}

int run_session_begin(struct airlock_job *job, struct notes *notes, struct airlock_error *err)
{
	_cleanup_session_ struct session s = SESSION_INIT;
	const struct session_place at = place_of(job);
	if (!job->work.name)
		return 0;
	size_t cut = 0;
	int rc = session_hold_cut(&at, job->work.name, &cut, notes, err);
	if (rc == 0)
		rc = session_open_or_create(&s, &at, job->work.name, job->work.holds, err);
	if (rc < 0)
		return rc;
	if (rc > 0)
		history_session(&job->host, "session-begin", s.name, s.project, 0, notes);
	if (s.holds != job->work.holds) /* made since by somebody else */
		return other_mode(job, policy_changes_name(job->config->policy.changes), err);
	bool was_ended = s.ended;
	s.ended = false;
	rc = session_squash(&s, &job->host, err);
	if (rc == 0 && was_ended)
		rc = session_save(&s, err);
	if (rc == 0)
		rc = read_lowers(job, &s, err);
	job->work.limits = session_limits_of(job->config, s.free_bytes);
	if (rc == 0)
		rc = check_disk(job, &s, err);
	job->work.begun =
		(struct session_begun){s.turns, s.n_steps ? s.steps[s.n_steps - 1].number : 0, s.n_layers > 0};
	session_touch(&s);
	if (rc == 0 && !(job->work.dir = strdup(s.dir)))
		rc = base_oom(err);
	session_group_name(s.dir, job->work.group);
	return rc < 0 ? rc : run_holder_join(job, &s, notes, err);
}

const struct strs *run_session_lowers(const struct airlock_job *job, const char *root)
{
	for (size_t i = 0; i < job->work.n_lowers; i++)
		if (strcmp(job->plan->roots.v[i], root) == 0)
			return &job->work.lowers[i];
	return NULL;
}

int run_session_view(const struct airlock_job *job, const char *root)
{
	_cleanup_session_ struct session s = SESSION_INIT;
	_cleanup_strs_ struct strs lowers = STRS_INIT;
	const struct session_place at = place_of(job);
	if (!job->work.name || !job->work.holds || session_open(&s, &at, job->work.name, SESSION_LOOK, NULL) < 0)
		return -ENOENT;
	session_lowers(&s, root, &lowers);
	if (lowers.failed)
		return -ENOMEM;
	return lowers.n == 0 ? -ENOENT : session_view(&lowers, root, -EBADF);
}

/* ── The end ── */

int run_session_see_below(const struct airlock_job *job, const struct run_layers *c, struct airlock_error *err)
{
	for (size_t i = 0; i < c->set->n_roots; i++) {
		struct change_root *root = &c->set->roots[i];
		const struct strs *lowers = run_session_lowers(job, root->path);
		if (!lowers || lowers->n == 0)
			continue;
		int fd = session_view(lowers, root->path, job->user_ns_fd > 0 ? job->user_ns_fd : -EBADF);
		if (fd < 0)
			return base_errno(err, AIRLOCK_ERR_IO, fd, "see the session's layers over", root->path);
		root->below_fd = fd;
	}
	return 0;
}

static struct session_command command_of(const struct airlock_job *job, const char *run_dir,
					 const struct supervise_result *result)
{
	return (struct session_command){.run = path_basename(run_dir),
					.run_dir = run_dir,
					.command = job->command_line,
					.exit_code = result->exit_code};
}

int run_session_add_step(struct airlock_job *job, const char *run_dir, const struct supervise_result *result,
			 struct change_set *set, struct airlock_error *err)
{
	const struct session_command command = command_of(job, run_dir, result);
	const struct session_place at = place_of(job);
	return session_add_step(&at, job->work.name, &job->work.begun, &command, set, &job->work.step, err);
}

void run_session_changed_nothing(struct airlock_job *job, const char *run_dir)
{
	const struct session_place at = place_of(job);
	/* The session may be gone; nothing is lost then. */
	(void)session_end_checkpoints(&at, job->work.name, &job->work.begun, path_basename(run_dir), NULL);
}

int run_session_note_step(struct airlock_job *job, const char *run_dir, const struct supervise_result *result,
			  const struct change_set *set, struct airlock_error *err)
{
	const struct session_command command = command_of(job, run_dir, result);
	const struct session_place at = place_of(job);
	size_t count = set ? set->n : 0;
	return count == 0 ? 0 : session_note_step(&at, job->work.name, &command, count, &job->work.step, err);
}
