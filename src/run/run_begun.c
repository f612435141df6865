/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The record of a run's beginning: how its changes are found if airlock is killed (history/begun.h). */
#include "history/begun.h"

#include "base/error.h"
#include "base/path.h"
#include "change/fold/fold.h"
#include "run/run_record.h"
#include "run/run_session.h"

#include <time.h>

/* Changes that are discarded or written directly need no record; a run captured by copy has a record of its own. */
static bool is_wanted(const struct airlock_run *run)
{
	return run->layers.enabled && !run->layers.by_copy &&
	       run->job->config->policy.changes != POLICY_CHANGES_DISCARD;
}

static void add_lowers(struct begun *b, const struct airlock_job *job)
{
	for (size_t i = 0; i < b->set->n_roots; i++) {
		const char *root = b->set->roots[i].path;
		const struct strs *lowers = run_session_lowers(job, root);
		for (size_t k = 0; lowers && k < lowers->n; k++) {
			strs_add(&b->lower_roots, root);
			strs_add(&b->lowers, lowers->v[k]);
		}
	}
}

static struct begun begun_of(const struct airlock_run *run, const char *id)
{
	const struct airlock_job *job = run->job;
	const struct run_layers *c = &run->layers;
	return (struct begun){.run = id,
			      .command = job->command_line,
			      .project = job->project->dir,
			      .working_dir = job->plan->cwd,
			      .asked_by = job->origin.who,
			      .started_ns = run->started_ns,
			      .real_ns = c->real_ns,
			      .boot_ns = c->boot_ns,
			      .mirrored = c->mirrored,
			      .set = c->set};
}

int run_record_beginning(struct airlock_run *run, struct airlock_error *err)
{
	const struct airlock_job *job = run->job;
	const struct run_layers *c = &run->layers;
	if (!is_wanted(run))
		return 0;
	struct begun b = begun_of(run, run->id);
	if (run_session_holds(job)) {
		b.session = job->work.name;
		b.turns = job->work.begun.turns;
		b.last_step = job->work.begun.last_step;
		add_lowers(&b, job);
	}
	_cleanup_free_ char *origins = path_join(run->dir, "origins");
	int rc = origins && !b.lowers.failed && !b.lower_roots.failed ? 0 : base_oom(err);
	if (rc == 0 && b.mirrored)
		rc = copy_save(&c->origins, origins, err);
	if (rc == 0)
		rc = run->begun_fd = begun_write(&job->host, &b, err);
	strs_done(&b.lower_roots);
	strs_done(&b.lowers);
	return rc < 0 ? rc : 0;
}

/* The copies that have become the command's own layers lie directly below the tail's. */
static int add_copies(struct begun *b, const struct airlock_run *run)
{
	for (size_t i = 0; i < run->layers.set->n_roots; i++) {
		strs_add(&b->lower_roots, run->layers.set->roots[i].path);
		strs_add(&b->lowers, run->layers.set->roots[i].upper);
	}
	add_lowers(b, run->job);
	return b->lowers.failed || b->lower_roots.failed ? -ENOMEM : 0;
}

static struct change_set *tail_set(const struct airlock_run *run)
{
	const struct change_set *of = run->layers.set;
	struct change_set *set = change_set_new(run->tail.id);
	for (size_t i = 0; set && i < of->n_roots; i++) {
		_cleanup_free_ char *upper = fold_upper_path(run->tail.dir, i);
		if (!upper || change_set_add_root(set, of->roots[i].path, upper, NULL) < 0) {
			change_set_free(set);
			return NULL;
		}
		set->roots[i].device = of->roots[i].device;
		set->roots[i].inode = of->roots[i].inode;
	}
	return set;
}

/* The changes of the command itself are decided: what somebody edits in the project from now on counts as their edit. */
int run_record_tail(const struct airlock_run *run, struct airlock_error *err)
{
	const struct airlock_job *job = run->job;
	_cleanup_changes_ struct change_set *set = tail_set(run);
	struct begun b = begun_of(run, run->tail.id);
	struct timespec real = {0}, boot = {0};
	(void)clock_gettime(CLOCK_REALTIME, &real);
	(void)clock_gettime(CLOCK_BOOTTIME, &boot);
	b.started_ns = b.real_ns = (int64_t)real.tv_sec * 1000000000 + real.tv_nsec;
	b.boot_ns = (int64_t)boot.tv_sec * 1000000000 + boot.tv_nsec;
	b.tail_of = run->id;
	b.session = job->work.name;
	b.turns = job->work.begun.turns;
	b.last_step = job->work.step ? job->work.step : job->work.begun.last_step;
	b.set = set;
	if (set)
		set->started_ns = b.real_ns;
	int rc = !set || (job->work.holds && add_copies(&b, run) < 0) ? base_oom(err) : 0;
	int fd = rc < 0 ? rc : begun_write(&job->host, &b, err);
	strs_done(&b.lower_roots);
	strs_done(&b.lowers);
	if (fd >= 0)
		(void)close(fd);
	return fd < 0 ? fd : 0;
}

void run_record_forget_beginning(struct airlock_run *run)
{
	if (run->begun_fd < 0 || run->layers.try_again)
		return;
	if (run->layers.mirrored) {
		_cleanup_free_ char *origins = path_join(run->dir, "origins");
		if (origins)
			(void)unlink(origins);
	}
	begun_remove(&run->job->host, run->id);
	base_closep(&run->begun_fd);
}
