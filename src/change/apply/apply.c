/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The order of a transaction; docs/design/apply.md says why each point of it may be the last one before a crash.
 *
 *   lock → nobody's unfinished journal → conflicts → plan → journal → stage → "commit" → steps → directories → what
 *   the steps have left → sync → record → journal away
 */
#include "change/apply/apply.h"

#include "base/path.h"
#include "change/apply/apply_tx.h"
#include "change/apply/journal.h"
#include "change/apply/lock.h"
#include "change/apply/unlock.h"
#include "change/reason.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define RECOVER_TRIES 3

/* ── Forward and back ── */

static int foreign(struct apply_tx *tx, const struct apply_op *op, struct airlock_error *err)
{
	return base_error(err, AIRLOCK_ERR_CONFLICT, tx->undo ? "undo" : "apply", op->path,
			  "%s: someone else changed it at the same moment", op->path);
}

static const char *call_of(const struct apply_op *op)
{
	static const char *const calls[] = {"look", "remove", "install", "exchange", "set attributes of"};
	return calls[op->step];
}

static int forward_one(struct apply_tx *tx, struct apply_op *op, int *ret_errno, struct airlock_error *err)
{
	int rc = step_forward(tx, op);
	if (rc < 0) {
		*ret_errno = rc;
		return apply_error(err, rc, call_of(op), tx, op->root, op->path);
	}
	op->left = rc == STEP_FOREIGN;
	if (op->left && !tx->recovering)
		return foreign(tx, op, err);
	tx->n_left += op->left;
	return 0;
}

/* A directory gets its mode with all the others. */
static void look_at_result(const struct apply_tx *tx, struct apply_op *op)
{
	if (ops_look_live(tx, op->root, op->path, &op->came) < 0)
		op->came = (struct change_stat){0};
	if (op->came.type == CHANGE_DIRECTORY && op->want.type == CHANGE_DIRECTORY)
		op->came.mode = op->want.mode;
}

int apply_forward(struct apply_tx *tx, int *ret_errno, struct airlock_error *err)
{
	int rc = dirs_open(tx, tx->recovering, err);
	apply_forget_nearby(tx);
	for (size_t i = 0; rc == 0 && i < tx->n_ops; i++)
		rc = forward_one(tx, &tx->ops[i], ret_errno, err);
	apply_forget_nearby(tx);
	for (size_t i = 0; rc == 0 && i < tx->n_ops; i++)
		look_at_result(tx, &tx->ops[i]);
	return rc < 0 ? rc : dirs_finish(tx, true, err);
}

int apply_complete(struct apply_tx *tx, struct airlock_error *err)
{
	apply_forget_nearby(tx);
	for (size_t i = 0; i < tx->n_ops; i++) {
		struct apply_op *op = &tx->ops[i];
		int rc = op->left ? step_unstage(tx, op) : step_retire(tx, op);
		if (rc < 0)
			return apply_error(err, rc, "put away", tx, op->root, op->path);
	}
	int rc = stage_clear(tx, err);
	rc = rc < 0 ? rc : dirs_finish_staged_roots(tx, true, err);
	return rc < 0 ? rc : dirs_sync(tx, err);
}

/* Sync before the journal is removed: after a power cut nothing half done may reappear without its journal (I4). */
int apply_abandon(struct apply_tx *tx, struct airlock_error *err)
{
	apply_forget_nearby(tx);
	int rc = stage_clear(tx, err);
	int modes = dirs_finish(tx, false, err);
	int roots = dirs_finish_staged_roots(tx, false, err);
	rc = rc < 0 ? rc : modes < 0 ? modes : roots;
	return rc < 0 ? rc : dirs_sync(tx, err);
}

/* Go on after a failure: every path that goes back is one less in a wrong state. */
int apply_roll_back(struct apply_tx *tx, struct airlock_error *err)
{
	int failed = dirs_open(tx, true, err);
	apply_forget_nearby(tx);
	for (size_t i = tx->n_ops; i-- > 0;) {
		struct apply_op *op = &tx->ops[i];
		int rc = step_revert(tx, op);
		if (rc < 0)
			failed = apply_error(err, rc, "put back", tx, op->root, op->path);
		if (rc == STEP_FOREIGN)
			NOTE(tx->notes, CHANGED_MEANWHILE, .subject = op->path);
	}
	for (size_t i = 0; i < tx->n_ops && !failed; i++) {
		int rc = step_unstage(tx, &tx->ops[i]);
		if (rc < 0)
			failed = apply_error(err, rc, "put back", tx, tx->ops[i].root, tx->ops[i].path);
	}
	return failed ? failed : apply_abandon(tx, err);
}

/* ── One transaction ── */

struct transaction {
	const struct apply_request *request;
	struct apply_tx *tx;
	struct journal *journal;
	struct unlock *unlock;
	int failed_errno; /* of the step that could not be done */
	bool unfinished;  /* the journal stays for the next start */
	struct airlock_error *err;
};

static bool copies(const struct apply_tx *tx)
{
	bool any = false;
	for (size_t i = 0; i < tx->n_roots; i++)
		any |= tx->roots[i].copy;
	return any;
}

/* Keep the first error; the failed rollback becomes a note. */
static void say_unfinished(struct transaction *t, const struct airlock_error *why)
{
	t->unfinished = true;
	NOTE(t->tx->notes, INTERRUPTED, .cause = why->message);
	(void)base_hint(t->err, "the next start of airlock finishes or reverts it; so does `airlock recover`");
}

/* So far nothing in the live tree changed, except for our own stage directory. */
static int prepare(struct transaction *t)
{
	int rc = 0;
	journal_add_head(t->journal, t->tx);
	if (copies(t->tx)) {
		rc = journal_write(t->journal, t->err);
		rc = rc < 0 ? rc : dirs_open(t->tx, false, t->err);
	}
	rc = rc < 0 ? rc : stage_make_dirs(t->tx, t->err);
	return rc < 0 ? rc : stage_all(t->tx, t->err);
}

static int finish_journal(struct transaction *t, int rc, const struct airlock_error *why)
{
	struct airlock_error removing = {0};
	if (rc < 0)
		say_unfinished(t, why);
	else if (journal_remove(t->journal, &removing) < 0)
		say_unfinished(t, &removing);
	return rc;
}

/* Where nothing was copied, nothing but before/ was touched. */
static void abandon(struct transaction *t)
{
	struct airlock_error why = {0};
	(void)finish_journal(t, copies(t->tx) ? apply_abandon(t->tx, &why) : 0, &why);
}

static int save(struct transaction *t, struct airlock_error *err)
{
	_cleanup_free_ char *file = path_join(t->request->run_dir, "changes");
	return file ? change_set_save(t->request->set, file, err) : base_oom(err);
}

/* If the "back" mark cannot be written, roll back all the same: it is only needed if we are killed on the way. */
static void roll_back(struct transaction *t)
{
	struct airlock_error why = {0}, marking = {0};
	journal_add_back(t->journal);
	(void)journal_write(t->journal, &marking);
	int rc = apply_roll_back(t->tx, &why);
	record_reverted(t->tx, t->request->set);
	rc = rc < 0 ? rc : save(t, &why);
	(void)finish_journal(t, rc, &why);
}

static int carry_out(struct transaction *t)
{
	int rc = journal_create(t->journal, t->request->journal_dir, t->tx->run, t->err);
	if (rc < 0)
		return rc;
	rc = prepare(t);
	if (rc < 0) {
		abandon(t);
		return rc;
	}
	journal_add_ops(t->journal, t->tx);
	rc = journal_write(t->journal, t->err);
	if (rc == 0)
		unlock_hand_over(t->unlock);
	assert(rc < 0 || t->journal->fd >= 0); /* I4: whoever starts next finds what is begun here */
	rc = rc < 0 ? rc : apply_forward(t->tx, &t->failed_errno, t->err);
	if (rc < 0) {
		roll_back(t);
		return rc;
	}
	rc = apply_complete(t->tx, t->err);
	rc = rc < 0 ? rc : record_result(t->tx, t->request->set, t->err);
	rc = rc < 0 ? rc : save(t, t->err);
	return finish_journal(t, rc, t->err);
}

/* ── Before it ── */

static int add_roots(struct apply_tx *tx, const struct change_set *set)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < set->n_roots; i++) {
		const struct change_root *r = &set->roots[i];
		struct apply_root root = {.path = r->path, .upper = r->upper, .device = r->device, .inode = r->inode};
		rc = apply_tx_add_root(tx, &root);
	}
	return rc;
}

/* Two mounts of one file system share a device number, but renames between them fail with EXDEV: test with names that
 * do not exist. */
static bool is_elsewhere(const struct apply_tx *tx, const struct apply_root *r)
{
	struct stat live, before;
	if (fstat(r->live_fd, &live) < 0 || fstat(tx->before_fd, &before) < 0 || live.st_dev != before.st_dev)
		return true;
	return renameat2(tx->before_fd, "nothing", r->live_fd, "nothing", RENAME_NOREPLACE) < 0 && errno == EXDEV;
}

static int open_all(struct apply_tx *tx, const struct apply_request *request, bool copy_all, struct airlock_error *err)
{
	const struct change_set *set = request->set;
	tx->undo = request->undo;
	tx->force = request->force;
	tx->run = strdup(set->run);
	tx->lock_dir = strdup(request->lock_dir);
	if (!tx->run || !tx->lock_dir || add_roots(tx, set) < 0)
		return base_oom(err);
	int rc = apply_tx_open(tx, request->run_dir, set->started_ns, err);
	for (size_t i = 0; rc == 0 && i < tx->n_roots; i++) {
		struct stat st;
		tx->roots[i].copy = copy_all || is_elsewhere(tx, &tx->roots[i]);
		if (fstat(tx->roots[i].live_fd, &st) == 0)
			tx->roots[i].device = st.st_dev;
	}
	return rc;
}

static bool is_decided_otherwise(const struct change *c, const struct change *now)
{
	return now &&
	       ((now->state == CHANGE_APPLIED) != (c->state == CHANGE_APPLIED) || now->state == CHANGE_DISCARDED);
}

static bool take_decided(struct change_set *set, struct change_set *now)
{
	bool any = false;
	for (size_t i = 0; i < set->n; i++) {
		struct change *c = &set->v[i];
		const struct change *n = change_set_find(now, c->root, c->path);
		if (!is_decided_otherwise(c, n))
			continue;
		c->state = n->state;
		c->slot = n->slot;
		c->before = n->before;
		c->after = n->after;
		c->settled = n->settled;
		c->image_ns = n->image_ns;
		any = true;
	}
	return any;
}

/* Read the record again: another process may have applied or undone some of this run since. */
static int refresh(const struct apply_request *request, struct airlock_error *err)
{
	struct change_set *set = request->set;
	_cleanup_changes_ struct change_set *now = NULL;
	_cleanup_free_ char *file = path_join(request->run_dir, "changes");
	struct airlock_error why = {0};
	if (!file)
		return base_oom(err);
	int rc = change_set_load(file, &now, &why);
	if (rc == AIRLOCK_ERR_NOT_FOUND) /* recovery needs it */
		return change_set_save(set, file, err);
	if (rc < 0)
		return base_error(err, rc, why.op, why.subject, "%s", why.message);
	if (take_decided(set, now)) {
		struct change_dir *dirs = set->dirs;
		size_t n = set->n_dirs;
		set->dirs = now->dirs;
		set->n_dirs = now->n_dirs;
		now->dirs = dirs;
		now->n_dirs = n;
	}
	return 0;
}

static int check_apply(const struct apply_request *request, const struct apply_tx *tx, struct airlock_error *err)
{
	struct change_set *set = request->set;
	int rc = conflict_check(set, tx, err);
	if (rc <= 0 || request->force)
		return rc < 0 ? rc : 0;
	for (size_t i = 0; i < set->n; i++) {
		const struct change *c = &set->v[i];
		/* Check also the changes that wait for a person: applying a command in part around a conflict makes a
		 * state that nobody has seen (I3). */
		bool ours = request->selected ? request->selected[i] : c->verdict != CHANGE_SKIP;
		if (c->state != CHANGE_CONFLICT || !ours)
			continue;
		assert(c->n_reasons > 0); /* I3: conflict_check says what somebody else did */
		return change_reason_refuse(err, "apply", c->path, &c->reasons[0]);
	}
	return 0;
}

static int check(const struct apply_request *request, struct apply_tx *tx, struct airlock_error *err)
{
	if (!request->undo)
		return check_apply(request, tx, err);
	return request->force ? 0 : undo_check(tx, request->set, request->selected, err);
}

static int count_changes(const struct apply_tx *tx)
{
	int n = 0;
	for (size_t i = 0; i < tx->n_ops; i++)
		n += !tx->ops[i].from;
	return n;
}

/* How to go about it, and what did not work. */
struct manner {
	bool copy;   /* a rename that should work does not (quota trees, overlays, no flags): once more, by copying */
	bool unlock; /* a directory of ours cannot be searched: once more, opening it up */
	bool split;  /* a live file can get no further name: once more, without links */
	bool again;  /* for the sake of the last */
};

static bool is_locked_out(int rc, const struct airlock_error *err)
{
	return geteuid() != 0 && (rc == AIRLOCK_ERR_CONFLICT || (rc < 0 && err && err->errnum == EACCES));
}

static int plan(const struct apply_request *request, struct apply_tx *tx, struct unlock *unlock, struct manner *manner,
		struct airlock_error *err)
{
	bool unlocking = manner->unlock;
	manner->unlock = false; /* each is tried once, whatever fails in it */
	int rc = open_all(tx, request, manner->copy, err);
	if (rc == 0 && unlocking)
		rc = unlock_dirs(unlock, tx, request, err);
	if (rc < 0)
		return rc;
	rc = check(request, tx, err);
	rc = rc < 0 ? rc : ops_plan(tx, request->set, request->selected, err);
	manner->unlock = !unlocking && is_locked_out(rc, err);
	return rc;
}

/* *manner is the one to try next, after a failure; nothing in it: none. */
static int attempt(const struct apply_request *request, struct manner *manner, struct notes *notes,
		   struct airlock_error *err)
{
	_cleanup_free_ char *runs = path_dirname(request->run_dir);
	_cleanup_returns_ struct returns known = RETURNS_INIT(runs);
	_cleanup_unlock_ struct unlock unlock = UNLOCK_INIT;
	_cleanup_tx_ struct apply_tx tx = APPLY_TX_INIT;
	_cleanup_journal_ struct journal journal = JOURNAL_INIT;
	struct transaction t = {.request = request, .tx = &tx, .journal = &journal, .unlock = &unlock, .err = err};
	bool unlocked = manner->unlock, copied = manner->copy;
	tx.notes = notes;
	tx.no_links = manner->split;
	manner->again = false;
	tx.known = &known;
	int rc = plan(request, &tx, &unlock, manner, err);
	if (rc == 0 && tx.n_ops > 0) {
		rc = carry_out(&t);
		bool other_way = t.failed_errno == -EXDEV || t.failed_errno == -EINVAL;
		manner->copy = other_way && !copied && !t.unfinished;
		manner->unlock = manner->copy && unlocked;
		manner->again = rc < 0 && tx.link_refused && !t.unfinished;
		if (manner->again)
			*manner = (struct manner){.copy = copied, .unlock = unlocked, .split = true, .again = true};
		rc = rc < 0 ? rc : count_changes(&tx);
	} else
		manner->copy = manner->unlock && copied;
	unlock_restore(&unlock);
	return rc;
}

/* ── Locks ── */

static int lock_all(const struct apply_request *request, struct lock *lock, struct airlock_error *err)
{
	const struct change_set *set = request->set;
	_cleanup_free_ const char **paths = calloc(set->n_roots + 1, sizeof *paths);
	if (!paths)
		return base_oom(err);
	for (size_t i = 0; i < set->n_roots; i++)
		paths[i] = set->roots[i].path;
	return lock_roots(lock, request->lock_dir, paths, set->n_roots, LOCK_WAIT_MS, err);
}

static int is_pending(const struct apply_request *request, struct airlock_error *err)
{
	_cleanup_tx_ struct apply_tx tx = APPLY_TX_INIT;
	if (add_roots(&tx, request->set) < 0)
		return base_oom(err);
	return recover_is_pending(&tx, request->journal_dir, err);
}

/* With the locks, and nothing half done in the roots. */
static int lock_clean(const struct apply_request *request, struct lock *lock, struct notes *notes,
		      struct airlock_error *err)
{
	_cleanup_free_ char *runs = path_dirname(request->run_dir);
	if (!runs)
		return base_oom(err);
	for (unsigned i = 0; i < RECOVER_TRIES; i++) {
		int rc = lock_all(request, lock, err);
		rc = rc < 0 ? rc : is_pending(request, err);
		if (rc <= 0)
			return rc;
		lock_release(lock);
		rc = apply_recover(request->journal_dir, runs, NULL, notes, err);
		if (rc < 0)
			return rc;
	}
	return base_error(err, AIRLOCK_ERR_BUSY, "recover", request->set->roots[0].path,
			  "an interrupted apply in %s is not finished yet", request->set->roots[0].path);
}

/* Judge again under the lock: of two runs that ended together, each was judged without the other. One may bring a git
 * configuration, the other the directories that make it a repository. */
static int judge_again(const struct apply_request *request, struct airlock_error *err)
{
	if (!request->rules || request->undo)
		return 0;
	struct gate_rules rules = *request->rules;
	rules.only_tighten = true;
	return gate_judge(request->set, &rules, err);
}

int apply_execute(const struct apply_request *request, struct notes *notes, struct airlock_error *err)
{
	_cleanup_lock_ struct lock lock = LOCK_INIT;
	struct manner manner = {0};
	int rc = lock_clean(request, &lock, notes, err);
	rc = rc < 0 ? rc : refresh(request, err);
	rc = rc < 0 ? rc : judge_again(request, err);
	if (rc < 0)
		return rc;
	do {
		struct airlock_error why = {0};
		rc = attempt(request, &manner, notes, &why);
		if (err)
			*err = why;
	} while (rc < 0 && (manner.copy || manner.unlock || manner.again));
	return rc;
}
