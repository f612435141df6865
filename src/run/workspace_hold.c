/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* To make and remove ten directories can take longer than a command itself. Whoever holds them has the shared lock that each command has
 * (mount_points.h), so no command removes them. Where they stay, the mounts on them can stay, too (struct backend_view). */
#include "run/workspace_hold.h"

#include <airlock/session.h>

#include "base/error.h"
#include "run/mount_points.h"
#include "run/run_holder.h"

#define PAUSE_MAX 64 /* commands */

struct airlock_workspace_hold {
	struct mount_points points;
	struct backend_view *view; /* NULL: none yet */
	size_t commands;	   /* that used it */
	size_t uses;		   /* of this view */
	size_t pause, left; /* where mounts change all the time: so many commands make their own before the next try */
};

int airlock_job_hold_workspace(const struct airlock_job *job, struct airlock_workspace_hold **ret,
			       struct airlock_error *err)
{
	if (!job->workspace.dir)
		return base_error(err, AIRLOCK_ERR_USAGE, "workspace", "", "the job has no workspace");
	struct airlock_workspace_hold *h = calloc(1, sizeof *h);
	if (!h)
		return base_oom(err);
	int rc = mount_points_make(&h->points, job->plan, job->workspace.dir, err);
	if (rc < 0)
		free(h);
	else
		*ret = h;
	return rc;
}

void airlock_workspace_release(struct airlock_workspace_hold *hold)
{
	if (!hold)
		return;
	backend_view_free(hold->view);
	mount_points_remove(&hold->points);
	free(hold);
}

void airlock_job_use_hold(struct airlock_job *job, struct airlock_workspace_hold *hold)
{
	job->hold = hold;
}

/* ── The mounts ── */

static void pause_longer(struct airlock_workspace_hold *h)
{
	h->left = h->pause = AL_MIN(h->pause * 2 + 1, (size_t)PAUSE_MAX);
}

static void drop(struct airlock_workspace_hold *h)
{
	if (!h->view)
		return;
	backend_view_free(h->view);
	h->view = NULL;
	if (h->uses > 1)
		h->left = h->pause = 0;
	else
		pause_longer(h);
}

static void make(struct airlock_workspace_hold *h, const struct airlock_job *job, const struct backend_shared *shared)
{
	h->uses = 0;
	if (job->backend->view->make(&job->ctx, job->plan, shared, &h->view, NULL) < 0)
		pause_longer(h);
}

/* A sandbox that runs one command needs no view: the second command makes one. */
int workspace_hold_view(struct airlock_job *job)
{
	struct airlock_workspace_hold *h = job->hold;
	const struct backend_shared shared = run_holder_shared(job);
	if (!h || !job->backend->view || !shared.holder_fd || ++h->commands < 2)
		return 0;
	if (h->view && !job->backend->view->fits(&job->ctx, job->plan, &shared, h->view))
		drop(h);
	if (!h->view && h->left > 0) {
		h->left--;
		return 0;
	}
	if (!h->view)
		make(h, job, &shared);
	h->uses += h->view != NULL;
	return h->view ? h->view->mounts_fd : 0;
}

void workspace_hold_drop_view(struct airlock_job *job)
{
	if (job->hold)
		drop(job->hold);
}
