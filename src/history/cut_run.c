/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "history/cut_run.h"

#include "base/error.h"
#include "base/path.h"
#include "change/reason.h"
#include "change/scan/copy.h"
#include "fs/fs.h"
#include "history/copied_run.h"
#include "history/history.h"
#include "store/inbox.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The sandbox of a killed airlock ends as soon as the kernel gets to it. What goes on longer is no remainder but a process that is
 * meant to go on. */
#define WAIT_ROUNDS 100
#define WAIT_NS 2000000

void cut_run_close(struct cut_run *c)
{
	begun_done(&c->begun);
	base_freep(&c->dir);
	base_closep(&c->record_fd);
	base_closep(&c->run_fd);
}

/* ── Is it one? ── */

static bool take_lock(int fd)
{
	return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
}

/* The first process of the sandbox has it until nothing is left that could write. */
static bool await_sandbox(int fd)
{
	for (int i = 0; i < WAIT_ROUNDS; i++) {
		if (take_lock(fd))
			return true;
		(void)nanosleep(&(struct timespec){.tv_nsec = WAIT_NS}, NULL);
	}
	return false;
}

static bool has_layer(const struct cut_run *c)
{
	return c->begun.set->n_roots > 0 && access(c->begun.set->roots[0].upper, F_OK) == 0;
}

int cut_run_open(struct cut_run *c, const struct host *host, const char *run, struct airlock_error *err)
{
	_cleanup_free_ char *record = begun_path(host, run), *runs = path_join(host->state_dir, "runs");
	struct airlock_error why = {0};
	c->dir = runs ? path_join(runs, run) : NULL;
	if (!record || !c->dir)
		return base_oom(err);
	c->run_fd = open(c->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (c->run_fd >= 0 && !take_lock(c->run_fd))
		return 0;
	c->record_fd = open(record, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (c->record_fd < 0 || !await_sandbox(c->record_fd))
		return 0;
	if (!begun_is_at(c->record_fd, record)) /* another program handled it between our open and our lock */
		return 0;
	int rc = begun_load(host, run, &c->begun, &why);
	if (rc < 0 && rc != AIRLOCK_ERR_CORRUPT)
		return base_pass(err, &why);
	if (rc == 0 && c->run_fd >= 0 && has_layer(c))
		return 1;
	(void)unlink(record); /* the command never started, or its layer was thrown away */
	return 0;
}

/* ── What it changed ── */

/* As at the end of a run (run/layers.c): when the clock was set back since, so is the start, or edits would be overlooked (I3). */
static void allow_for_clock(struct begun *b)
{
	struct timespec boot = {0}, real = {0};
	(void)clock_gettime(CLOCK_BOOTTIME, &boot);
	(void)clock_gettime(CLOCK_REALTIME, &real);
	int64_t elapsed = (int64_t)boot.tv_sec * 1000000000 + boot.tv_nsec - b->boot_ns;
	int64_t back = elapsed - ((int64_t)real.tv_sec * 1000000000 + real.tv_nsec - b->real_ns);
	if (back > elapsed / 1000 + 5000000) /* after a reboot elapsed is too small, never too large */
		b->set->started_ns -= back;
}

static int scan_mirrors(struct cut_run *c, struct notes *notes, struct airlock_error *err)
{
	_cleanup_free_ char *file = path_join(c->dir, "origins");
	_cleanup_origins_ struct copy_origins origins = COPY_ORIGINS_INIT;
	struct change_set *set = c->begun.set;
	int rc = file ? copy_load(&origins, file, err) : base_oom(err);
	if (rc < 0)
		return rc;
	set->origins = &origins;
	for (size_t i = 0; i < set->n_roots; i++)
		set->roots[i].mirror = true;
	rc = change_scan(set, notes, err);
	rc = rc < 0 ? rc : mirror_prune(set, err);
	set->origins = NULL;
	return rc;
}

int cut_run_scan(struct cut_run *c, struct notes *notes, struct airlock_error *err)
{
	allow_for_clock(&c->begun);
	return c->begun.mirrored ? scan_mirrors(c, notes, err) : change_scan(c->begun.set, notes, err);
}

/* ── Done ── */

static void remove_parts(const struct cut_run *c, bool changed_nothing)
{
	static const char *const parts[] = {"work", "caches", "origins", "upper"};
	size_t n = AL_ARRAY_LEN(parts) - (changed_nothing ? 0 : 1);
	for (size_t i = 0; i < n; i++)
		(void)fs_remove_tree_at(c->run_fd, parts[i], NULL, NULL);
}

/* Killed before it had told the history of its beginning, perhaps. */
static void tell_history(const struct cut_run *c, const struct host *host, const struct change_set *set,
			 struct notes *notes)
{
	_cleanup_buf_ struct buf news = BUF_INIT;
	struct airlock_error err = {0};
	_cleanup_free_ char *ended = path_join(c->dir, HISTORY_FILE);
	const struct store_run row = {.id = c->begun.run,
				      .project = c->begun.project,
				      .command = c->begun.command,
				      .asked_by = c->begun.asked_by,
				      .working_dir = c->begun.working_dir,
				      .started = c->begun.started_ns,
				      .status = "error",
				      .exit_code = -1,
				      .changes_state = set ? change_set_state_name(set) : "none",
				      .changes_count = set ? (int64_t)set->n : 0,
				      .detail = ""};
	if (!ended || access(ended, F_OK) == 0) /* its end was told */
		return;
	inbox_add_run(&news, &row);
	history_put(host->state_dir, &news, notes, &err);
	history_note(notes, &err);
	if (set)
		history_decided(host, set, "recover", set->n, notes);
}

void cut_run_finish(struct cut_run *c, const struct host *host, const struct change_set *set, struct notes *notes)
{
	tell_history(c, host, set, notes);
	remove_parts(c, !set || set->n == 0);
	begun_remove(host, c->begun.run);
}

/* ── All of them ── */

static int hold(struct cut_run *c, const struct host *host, struct notes *notes, struct airlock_error *err)
{
	_cleanup_free_ char *record = path_join(c->dir, "changes");
	const struct gate_rules rules = {.home = host->home, .environ = &host->git_env};
	struct change_set *set = c->begun.set;
	int rc = record ? cut_run_scan(c, notes, err) : base_oom(err);
	rc = rc < 0 ? rc : gate_judge(set, &rules, err);
	rc = rc < 0 ? rc : change_set_wait(set, AIRLOCK_REASON_INTERRUPTED) < 0 ? base_oom(err) : 0;
	return rc < 0 ? rc : change_set_save(set, record, err);
}

/* 1: its changes are held now. */
static int hold_one(const struct host *host, const char *run, struct notes *notes, struct airlock_error *err)
{
	_cleanup_cut_run_ struct cut_run c = CUT_RUN_INIT;
	_cleanup_changes_ struct change_set *known = NULL;
	_cleanup_free_ char *record = NULL;
	struct airlock_error why = {0};
	int rc = cut_run_open(&c, host, run, err);
	if (rc <= 0 || c.begun.session)
		return rc < 0 ? rc : 0;
	record = path_join(c.dir, "changes");
	rc = record ? change_set_load(record, &known, &why) : base_oom(err);
	if (rc == 0) { /* only the last clean-up was missing */
		cut_run_finish(&c, host, known, notes);
		return 0;
	}
	if (rc != AIRLOCK_ERR_NOT_FOUND)
		return record ? base_pass(err, &why) : rc;
	rc = hold(&c, host, notes, err);
	if (rc < 0)
		return rc;
	if (c.begun.set->n > 0)
		NOTE(notes, CUT_SHORT, .subject = run);
	cut_run_finish(&c, host, c.begun.set, notes);
	return c.begun.set->n > 0;
}

int cut_runs_hold(const struct host *host, size_t *count, struct notes *notes, struct airlock_error *err)
{
	_cleanup_strs_ struct strs runs = STRS_INIT;
	int rc = begun_list(host, &runs, err);
	for (size_t i = 0; rc == 0 && i < runs.n; i++) {
		struct airlock_error why = {0};
		int held = hold_one(host, runs.v[i], notes, &why);
		*count += held > 0;
		if (held < 0)
			NOTE(notes, CUT_NOT_READ, .subject = runs.v[i], .cause = why.message);
	}
	return rc < 0 ? rc : notes->failed ? base_oom(err) : 0;
}
