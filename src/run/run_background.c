/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/run_background.h"

#include "run/run_holder.h"
#include "run/run_record.h"
#include "run/run_session.h"

#include <string.h>
#include <time.h>

#define SHOWN 3
#define SHOWN_MAX 60 /* bytes of a command; `airlock session show` has all */
#define WAIT_MS 100  /* for the kernel to take the mounts of an ended command down */

/* Whether somebody else has a file of the layers open. Where no other process of the session runs there is nobody. */
static bool has_writers(const struct airlock_run *run)
{
	const struct supervise_result *r = supervise_result(run->supervise);
	if (r->goes_on || !(r->has_company || run_holder_has_others(run->job, run->id)))
		return r->goes_on;
	supervise_await_end(run->supervise);
	for (int i = 0; i < WAIT_MS; i++) {
		if (!session_layers_in_use(run->layers.set, run->dir))
			return false;
		(void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	return true;
}

int run_background_set_aside(struct airlock_run *run, struct airlock_error *err)
{
	if (!run->layers.enabled || run->layers.n_layers == 0 || !has_writers(run))
		return 0;
	run->layers.aside = true;
	const struct change_set *set = run->layers.set;
	struct strs *below = calloc(set->n_roots + 1, sizeof *below);
	int rc = below ? 0 : base_oom(err);
	for (size_t i = 0; rc == 0 && i < set->n_roots; i++) {
		const struct strs *lowers = run_session_lowers(run->job, set->roots[i].path);
		if (lowers)
			strs_add_all(&below[i], lowers);
		strs_add(&below[i], set->roots[i].path);
		rc = below[i].failed ? base_oom(err) : 0;
	}
	if (rc == 0)
		rc = session_tail_take(&run->tail, &run->job->host, run->dir, set, below, err);
	for (size_t i = 0; below && i < set->n_roots; i++)
		strs_done(&below[i]);
	free(below);
	return rc;
}

/* Changes that are discarded need no record. */
void run_background_record(struct airlock_run *run)
{
	struct airlock_error why = {0};
	if (!run->tail.taken || run->job->config->policy.changes == POLICY_CHANGES_DISCARD)
		return;
	if (run_record_tail(run, &why) < 0)
		NOTE(&run->layers.notes, STEP_NOT_TOLD, .subject = run->job->work.name, .cause = why.message);
}

static void add_command(struct buf *out, const struct session_process *p)
{
	if (out->len > 0)
		buf_adds(out, ", ");
	size_t len = strlen(p->command), shown = AL_MIN(len, (size_t)SHOWN_MAX);
	while (shown < len && shown > 0 && ((unsigned char)p->command[shown] & 0xc0) == 0x80)
		shown--; /* not in the middle of a character */
	buf_add(out, p->command, shown);
	if (shown < len)
		buf_adds(out, "…");
}

void run_background_look(struct airlock_run *run)
{
	const struct supervise_result *r = supervise_result(run->supervise);
	struct job_session *work = &run->job->work;
	_cleanup_buf_ struct buf what = BUF_INIT;
	if (!work->dir || !(r->goes_on || r->has_company) || session_processes(work->dir, &work->processes) < 0)
		return;
	for (size_t i = 0; i < work->processes.n; i++) {
		if (!work->processes.v[i].is_background) /* of a command that runs at the same time */
			continue;
		if (++work->background <= SHOWN)
			add_command(&what, &work->processes.v[i]);
	}
	if (work->background > SHOWN)
		buf_adds(&what, ", …");
	if (work->background > 0)
		NOTE(&run->layers.notes, BACKGROUND, .number = (int64_t)work->background, .subject = buf_str(&what));
}
