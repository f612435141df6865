/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The sandbox of the next run, made while the caller has nothing else to do. Whether it fits is decided when a run starts,
 * by the plan of that run (backend/native_prepared.c); here is only what is worth preparing. */
#include "run/warm.h"

#include "base/error.h"
#include "base/macros.h"
#include "run/caches.h"
#include "run/job.h"

struct airlock_warm *airlock_warm_new(void)
{
	return calloc(1, sizeof(struct airlock_warm));
}

void airlock_warm_drop(struct airlock_warm *w)
{
	backend_prepared_free(w->prepared);
	w->prepared = NULL;
}

void airlock_warm_free(struct airlock_warm *w)
{
	if (w)
		airlock_warm_drop(w);
	free(w);
}

/* What a person must allow first is asked every time, so nothing is made for it; a question about links is optional, and what
 * is made is for a run without them. The mount points of a workspace are in
 * the workspace, where they are only while a command runs. */
static bool is_worth_it(const struct airlock_job *job)
{
	return job->config->warm_start && job->backend->prepare && !job->workspace.dir && !job->plan->network &&
	       (job->question.n_reasons == 0 || job->question.is_optional) && job->cannot_run.code == 0;
}

int airlock_warm_begin(struct airlock_warm *w, struct airlock_error *err)
{
	airlock_warm_drop(w);
	return backend_native.begin(&w->prepared, err);
}

int airlock_warm_prepare(struct airlock_warm *w, const struct airlock_job *job, struct airlock_error *err)
{
	airlock_warm_drop(w);
	if (!is_worth_it(job))
		return 0;
	struct airlock_error why = {0};
	_cleanup_close_ int lock = -EBADF;
	int rc = caches_make(job, &lock, &why);
	if (rc == 0)
		rc = job->backend->prepare(&job->ctx, job->plan, &w->prepared, &why);
	if (rc == AIRLOCK_ERR_UNAVAILABLE)
		return 0;
	if (rc < 0 && err && err->code == 0)
		*err = why;
	return rc < 0 ? rc : 1;
}

int airlock_warm_fd(const struct airlock_warm *w)
{
	return w->prepared && !w->prepared->spoilt ? w->prepared->control_fd : -1;
}

int airlock_warm_dispatch(struct airlock_warm *w)
{
	if (w->prepared && !backend_prepared_look(w->prepared))
		airlock_warm_drop(w);
	return w->prepared != NULL;
}

void airlock_job_use_warm(struct airlock_job *job, struct airlock_warm *w)
{
	job->warm = w;
}
