/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A sandbox that is started before its run. Whether it fits is decided when the run starts, by the plan of that run
 * (backend/native_prestart.c); here is only for which runs it is worth the trouble. */
#include "run/prestart.h"

#include "base/error.h"
#include "base/macros.h"
#include "run/agent_home.h"
#include "run/caches.h"
#include "run/job.h"
#include "run/run_holder.h"
#include "run/run_session.h"

struct airlock_prestart *airlock_prestart_new(void)
{
	return calloc(1, sizeof(struct airlock_prestart));
}

void airlock_prestart_drop(struct airlock_prestart *p)
{
	backend_prestart_free(p->sandbox);
	p->sandbox = NULL;
}

void airlock_prestart_free(struct airlock_prestart *p)
{
	if (p)
		airlock_prestart_drop(p);
	free(p);
}

/* What a person must allow first is asked every time, so nothing is started for it; a question about links is optional, and
 * what is started is for a run without them. A workspace has its mount points only while a command runs. */
static bool is_worth_it(const struct airlock_job *job)
{
	return job->config->warm_start && job->backend->prestart && !job->workspace.dir && !job->plan->network &&
	       !job->plan->gate && (job->question.n_reasons == 0 || job->question.is_optional) &&
	       job->cannot_run.code == 0;
}

static int begin(struct airlock_prestart *p, const struct backend_shared *shared, struct airlock_error *err)
{
	/* There is no job yet: take the backend that "auto" would, of those that can. */
	const struct backend *const *b = backend_preference();
	airlock_prestart_drop(p);
	while (*b && !(*b)->prestart)
		b++;
	if (!*b)
		return base_error(err, AIRLOCK_ERR_UNAVAILABLE, "prestart", "",
				  "no backend starts a sandbox before its command");
	return (*b)->prestart->begin(shared, &p->sandbox, err);
}

int airlock_prestart_begin(struct airlock_prestart *p, struct airlock_error *err)
{
	return begin(p, &(struct backend_shared){0}, err);
}

/* Before there is a plan: whether it is in the right namespaces is seen when it is told one. If the holder ends meanwhile, so does it,
 * and the run gets a new sandbox. */
void prestart_begin_in_session(const struct airlock_job *job)
{
	const struct session_place at = {&job->host, job->project ? job->project->dir : NULL};
	_cleanup_holder_ struct session_holder holder = SESSION_HOLDER_INIT;
	if (!job->prestart || !job->work.name || job->workspace.dir || job->agent.recipe || !job->config->warm_start)
		return;
	_cleanup_free_ char *dir = session_dir(&at, job->work.name);
	if (dir && session_holder_find(dir, &holder) == 0)
		(void)begin(job->prestart,
			    &(struct backend_shared){.holder_fd = holder.pid_fd, .holder_pid = holder.pid}, NULL);
}

int airlock_prestart_begin_for(struct airlock_prestart *p, const struct airlock_job *job, struct airlock_error *err)
{
	airlock_prestart_drop(p);
	if (!is_worth_it(job))
		return 0;
	struct airlock_error why = {0};
	_cleanup_close_ int lock = -EBADF;
	int rc = caches_make(job, &lock, &why);
	if (rc == 0)
		rc = agent_home_copy(job, &why);
	if (rc == 0)
		rc = run_session_make_tmp(job, &why);
	_cleanup_holder_ struct session_holder holder = SESSION_HOLDER_INIT;
	if (job->work.name && !run_holder_expect(job, &holder))
		return 0;
	const struct backend_shared shared = {.holder_fd = holder.pid_fd >= 0 ? holder.pid_fd : 0,
					      .holder_pid = holder.pid};
	if (rc == 0)
		rc = job->backend->prestart->begin_for(&job->ctx, job->plan, &shared, &p->sandbox, &why);
	if (rc == AIRLOCK_ERR_UNAVAILABLE)
		return 0;
	return rc < 0 ? base_pass(err, &why) : 1;
}

int airlock_prestart_fd(const struct airlock_prestart *p)
{
	return backend_prestart_is_usable(p->sandbox) ? p->sandbox->control_fd : -1;
}

int airlock_prestart_dispatch(struct airlock_prestart *p)
{
	if (p->sandbox && !backend_prestart_look(p->sandbox))
		airlock_prestart_drop(p);
	return p->sandbox != NULL;
}

void airlock_job_use_prestart(struct airlock_job *job, struct airlock_prestart *p)
{
	job->prestart = p;
}
