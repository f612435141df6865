/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A command of a session whose airlock was killed: what it changed becomes a step, as if the command alone had been killed. */
#include "session/session_parts.h"

#include "base/error.h"
#include "base/path.h"
#include "change/reason.h"
#include "change/apply/apply.h"
#include "history/backups.h"
#include "history/cut_run.h"
#include "session/holder.h"
#include "session/tail.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <time.h>

/* Opens what each layer lies on: the session's layers of then. Squashed since or not, they are kept until the run was seen to. */
static int see_below(struct begun *b, struct airlock_error *err)
{
	for (size_t i = 0; i < b->set->n_roots; i++) {
		struct change_root *root = &b->set->roots[i];
		_cleanup_strs_ struct strs lowers = STRS_INIT;
		for (size_t k = 0; k < b->lowers.n; k++)
			if (strcmp(b->lower_roots.v[k], root->path) == 0)
				strs_add(&lowers, b->lowers.v[k]);
		if (lowers.failed)
			return base_oom(err);
		int fd = lowers.n ? session_view(&lowers, root->path, -EBADF) : 0;
		if (fd < 0)
			return base_errno(err, AIRLOCK_ERR_IO, fd, "see the session's layers over", root->path);
		root->below_fd = fd;
	}
	return 0;
}

static bool has_step(const struct session *s, const char *run)
{
	for (size_t i = 0; i < s->n_steps; i++)
		if (strcmp(s->steps[i].run, run) == 0)
			return true;
	return false;
}

/* The session is gone: what is left of it is a run of its own. */
static int save_apart(struct cut_run *c, struct airlock_error *err)
{
	_cleanup_free_ char *record = path_join(c->dir, "changes");
	struct change_set *set = c->begun.set;
	set->part = CHANGE_PART_APART;
	set->session = strdup(c->begun.session);
	return record && set->session ? change_set_save(set, record, err) : base_oom(err);
}

/* Changes that background processes made after the end of their command, in a session that applies its changes. */
static int apply_tail(struct cut_run *c, const struct host *host, struct notes *notes, struct airlock_error *err)
{
	struct change_set *set = c->begun.set;
	_cleanup_free_ char *record = path_join(c->dir, "changes");
	_cleanup_free_ char *journal = host_journal_dir(host), *lock = host_lock_dir(host);
	const struct gate_rules rules = {.home = host->home, .environ = &host->git_env};
	if (!record || !journal || !lock)
		return base_oom(err);
	int rc = session_tail_scan(set, host, c->dir, c->begun.tail_of, notes, err);
	rc = rc < 0 ? rc : gate_judge(set, &rules, err);
	if (rc < 0 || set->n == 0)
		return rc;
	struct apply_request request = {
		.set = set, .run_dir = c->dir, .journal_dir = journal, .lock_dir = lock, .rules = &rules};
	struct airlock_error why = {0};
	rc = backups_execute(host, NULL, &request, notes, &why);
	if (rc == AIRLOCK_ERR_CONFLICT)
		(void)change_set_wait(set, AIRLOCK_REASON_OTHER_CONFLICT);
	else if (rc < 0)
		(void)change_set_wait(set, AIRLOCK_REASON_NOT_APPLIED);
	return change_set_save(set, record, err);
}

static int make_step(struct cut_run *c, const struct session_place *at, bool is_there, struct notes *notes,
		     struct airlock_error *err)
{
	struct begun *b = &c->begun;
	const struct session_begun begun = {b->turns, b->last_step, b->lowers.n > 0};
	const struct session_command command = {
		.run = b->run, .run_dir = c->dir, .command = b->command, .exit_code = b->tail_of ? 0 : 128 + SIGKILL};
	uint64_t step = 0;
	int rc = see_below(b, err);
	if (rc == 0)
		rc = b->tail_of ? session_tail_scan(b->set, at->host, c->dir, b->tail_of, notes, err)
				: cut_run_scan(c, notes, err);
	if (rc == 0 && !b->tail_of && change_set_wait(b->set, AIRLOCK_REASON_INTERRUPTED) < 0)
		rc = base_oom(err);
	if (rc < 0 || b->set->n == 0)
		return rc;
	return is_there ? session_add_step(at, b->session, &begun, &command, b->set, &step, err) : save_apart(c, err);
}

/* Killed after its changes were recorded: in the session, or as a run that stands apart from it. */
static bool is_recorded(const struct cut_run *c, const struct session *s, struct change_set **ret)
{
	_cleanup_free_ char *record = path_join(c->dir, "changes");
	if (!record || change_set_load(record, ret, NULL) < 0)
		return false;
	return has_step(s, c->begun.run) || (*ret)->part == CHANGE_PART_APART;
}

#define WAIT_ROUNDS 300
#define WAIT_NS 3000000

/* By processes that go on. When the last one has ended the kernel takes a moment to take its mounts down: that is waited for. */
static bool is_written_to(const struct cut_run *c, const struct host *host)
{
	const struct session_place at = {host, c->begun.project};
	_cleanup_free_ char *dir = session_dir(&at, c->begun.session);
	_cleanup_processes_ struct session_processes left = {0};
	if (!session_layers_in_use(c->begun.set, c->dir))
		return false;
	if (!dir || session_processes(dir, &left) < 0 || left.n > 0)
		return true;
	for (int i = 0; i < WAIT_ROUNDS; i++) {
		(void)nanosleep(&(struct timespec){.tv_nsec = WAIT_NS}, NULL);
		if (!session_layers_in_use(c->begun.set, c->dir))
			return false;
	}
	return true;
}

/* 1: its changes are held now. */
static int hold_one(const struct host *host, const char *run, const struct session_place *only, const char *name,
		    struct notes *notes, struct airlock_error *err)
{
	_cleanup_cut_run_ struct cut_run c = CUT_RUN_INIT;
	_cleanup_session_ struct session s = SESSION_INIT;
	_cleanup_changes_ struct change_set *known = NULL;
	struct airlock_error why = {0};
	int rc = cut_run_open(&c, host, run, err);
	if (rc <= 0 || !c.begun.session ||
	    (name && (strcmp(c.begun.session, name) != 0 || strcmp(c.begun.project, only->project) != 0)))
		return rc < 0 ? rc : 0;
	if (is_written_to(&c, host))
		return 0;
	const struct session_place at = {host, c.begun.project};
	rc = session_open(&s, &at, c.begun.session, SESSION_LOOK, &why);
	if (rc < 0 && rc != AIRLOCK_ERR_NOT_FOUND)
		return base_pass(err, &why);
	if (is_recorded(&c, &s, &known)) {
		cut_run_finish(&c, host, known, notes);
		return 0;
	}
	bool applies = rc == 0 && !s.holds && c.begun.tail_of;
	rc = applies ? apply_tail(&c, host, notes, err) : make_step(&c, &at, rc == 0, notes, err);
	if (rc < 0)
		return rc;
	bool has_changes = c.begun.set->n > 0;
	if (has_changes && !c.begun.tail_of)
		NOTE(notes, CUT_SHORT, .subject = run, .other = c.begun.session);
	cut_run_finish(&c, host, has_changes ? c.begun.set : NULL, notes);
	return has_changes;
}

int session_hold_cut(const struct session_place *at, const char *name, size_t *count, struct notes *notes,
		     struct airlock_error *err)
{
	_cleanup_strs_ struct strs runs = STRS_INIT;
	int rc = begun_list(at->host, &runs, err);
	for (size_t i = 0; rc == 0 && i < runs.n; i++) {
		struct airlock_error why = {0};
		int held = hold_one(at->host, runs.v[i], at, name, notes, &why);
		*count += held > 0;
		if (held < 0)
			NOTE(notes, CUT_NOT_READ, .subject = runs.v[i], .cause = why.message);
	}
	return rc < 0 ? rc : notes->failed ? base_oom(err) : 0;
}
