/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/run_usage.h"

#include "base/text.h"
#include "run/run.h"

#include <time.h>

#define MIN_WAIT_US INT64_C(250000)
#define MAX_WAIT_US INT64_C(5000000)
#define BYTES_PER_US 1000 /* what a fast disk takes */
#define MIN_AGE_US INT64_C(1000000)
/* Measuring takes at most one part of so many of the time: while nothing points to it, and if less is free than the session has left.
 * It is done in either case, because somebody else may free as much as the session takes. */
#define CALM_SHARE 100
#define COST_SHARE 20

bool run_usage_is_limited(const struct airlock_job *job)
{
	return job->work.dir && (job->work.limits.disk != TEXT_NONE || job->work.limits.tmp != TEXT_NONE);
}

static int64_t now_us(void)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static uint64_t left_of(int64_t limit, uint64_t used)
{
	return (uint64_t)limit > used ? (uint64_t)limit - used : 0;
}

static bool must_measure(const struct run_usage *u, uint64_t free_now, int64_t now)
{
	if (u->measured_us == 0)
		return true;
	int64_t age = now - u->measured_us;
	bool may_exceed = free_now + u->left <= u->free;
	return may_exceed ? age >= u->cost_us * COST_SHARE : age >= AL_MAX(MIN_AGE_US, u->cost_us * CALM_SHARE);
}

/* The layer of the run itself. A copy of a root is no layer: it is as large as the project. */
static uint64_t own_bytes(const struct airlock_run *run)
{
	_cleanup_strs_ struct strs uppers = STRS_INIT;
	for (size_t i = 0; i < run->layers.n_layers && !run->layers.mirrored; i++)
		strs_add(&uppers, run->layers.layers[i].upper.text);
	return session_uppers_bytes(&uppers);
}

/* All layers of the session. False: within the limit. */
static bool exceeds_disk(struct airlock_run *run, const struct session *s, struct supervise_verdict *v)
{
	const struct airlock_job *job = run->job;
	if (job->work.limits.disk == TEXT_NONE)
		return false;
	uint64_t own = own_bytes(run),
		 others = session_layers_bytes(s) + session_running_bytes(&job->host, s->project, s->name, run->id);
	run->written.left = AL_MIN(run->written.left, left_of(job->work.limits.disk, own + others));
	if (own + others <= (uint64_t)job->work.limits.disk)
		return false;
	*v = (struct supervise_verdict){AIRLOCK_LIMIT_DISK, .ends_session = others > (uint64_t)job->work.limits.disk};
	return true;
}

/* A command must be able to start with a /tmp that is too full, and to remove what is in it: so it is killed only once there is more
 * than there was. Anybody in the session may have written it. */
static bool exceeds_tmp(struct airlock_run *run, const struct session *s, struct supervise_verdict *v)
{
	struct run_usage *u = &run->written;
	int64_t limit = run->job->work.limits.tmp;
	if (limit == TEXT_NONE)
		return false;
	uint64_t before = u->tmp, bytes = session_tmp_bytes(s);
	bool is_first = u->measured_us == 0;
	u->tmp = bytes;
	u->left = AL_MIN(u->left, left_of(limit, bytes));
	if (bytes <= (uint64_t)limit || is_first || bytes <= before)
		return false;
	*v = (struct supervise_verdict){AIRLOCK_LIMIT_TMP, .ends_session = true};
	return true;
}

struct supervise_verdict run_usage_look(void *data)
{
	struct airlock_run *run = data;
	struct run_usage *u = &run->written;
	struct job_session *work = &run->job->work;
	struct supervise_verdict v = {0};
	uint64_t free_now = session_disk_free(work->dir);
	int64_t now = now_us();
	if (must_measure(u, free_now, now)) {
		_cleanup_session_ struct session s = SESSION_INIT;
		const struct session_place at = {&run->job->host, run->job->project->dir};
		u->left = UINT64_MAX;
		/* The session may be gone; the layer is still there. */
		if (session_open(&s, &at, work->name, SESSION_LOOK, NULL) == 0 && !exceeds_disk(run, &s, &v))
			(void)exceeds_tmp(run, &s, &v);
		u->free = free_now;
		u->measured_us = now;
		u->cost_us = now_us() - now;
	}
	uint64_t gone = u->free > free_now ? u->free - free_now : 0;
	uint64_t room = u->left > gone ? u->left - gone : 0;
	v.wait_us = AL_MAX(MIN_WAIT_US, (int64_t)AL_MIN(room / BYTES_PER_US, (uint64_t)MAX_WAIT_US));
	u->ended_session = v.ends_session && work->holder.pid_fd >= 0;
	return v;
}

bool run_usage_note(struct airlock_run *run)
{
	const struct job_session *work = &run->job->work;
	bool with_hint = run->job->origin.kind == ORIGIN_PERSON;
	const char *ended = run->written.ended_session ? "ended" : NULL;
	enum airlock_limit exceeded = supervise_exceeded(run->supervise);
	if (exceeded == AIRLOCK_LIMIT_DISK)
		NOTE(&run->layers.notes, SESSION_DISK, .subject = work->name, .number = work->limits.disk,
		     .other = with_hint ? "[session] disk" : NULL, .cause = ended);
	else if (exceeded == AIRLOCK_LIMIT_TMP)
		NOTE(&run->layers.notes, SESSION_TMP, .subject = work->name, .number = work->limits.tmp,
		     .other = with_hint ? "[session] tmp_size" : NULL, .cause = ended);
	return exceeded != AIRLOCK_LIMIT_NONE;
}
