/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a crash has left. A journal whose process lives is locked by it; one that is not is finished here, or reverted when it
 * cannot be (I4). Everything looks first what is there, so being killed here again only means to begin again. */
#include "change/apply/apply.h"

#include "base/path.h"
#include "change/apply/apply_tx.h"
#include "change/apply/journal.h"
#include "change/apply/lock.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>

static int list_journals(const char *dir, struct strs *ret, struct airlock_error *err)
{
	DIR *d = opendir(dir);
	if (!d)
		return errno == ENOENT ? 0 : base_errno(err, AIRLOCK_ERR_IO, errno, "open", dir);
	for (const struct dirent *e; (e = readdir(d));)
		if (e->d_name[0] != '.')
			strs_add(ret, e->d_name);
	(void)closedir(d);
	strs_sort(ret); /* of one process, in the order it began them */
	return ret->failed ? base_oom(err) : 0;
}

/* ── One journal ── */

/* Brings the record in line with the tree. */
static int save(struct apply_tx *tx, const char *run_dir, bool done, struct airlock_error *err)
{
	_cleanup_changes_ struct change_set *set = NULL;
	_cleanup_free_ char *file = path_join(run_dir, "changes");
	if (!file)
		return base_oom(err);
	struct airlock_error why = {0};
	int rc = change_set_load(file, &set, &why);
	if (rc == AIRLOCK_ERR_NOT_FOUND ||
	    rc == AIRLOCK_ERR_CORRUPT) { /* the tree is consistent; only the record of the run is lost */
		NOTE(tx->notes, RECOVERY_TROUBLE, .cause = why.message);
		return 0;
	}
	if (rc < 0)
		return base_error(err, rc, why.op, why.subject, "%s", why.message);
	if (!done)
		record_reverted(tx, set);
	rc = done ? record_result(tx, set, err) : 0;
	return rc < 0 ? rc : change_set_save(set, file, err);
}

static int settle(struct apply_tx *tx, const char *run_dir, bool done, struct airlock_error *err)
{
	static const enum airlock_note_code codes[2][2] = {{AIRLOCK_NOTE_APPLY_REVERTED, AIRLOCK_NOTE_APPLY_FINISHED},
							   {AIRLOCK_NOTE_UNDO_REVERTED, AIRLOCK_NOTE_UNDO_FINISHED}};
	int rc = save(tx, run_dir, done, err);
	if (rc == 0)
		notes_add(tx->notes, &(struct airlock_note){.code = codes[tx->undo][done], .subject = tx->run});
	return rc;
}

static int go_back(struct apply_tx *tx, const char *run_dir, struct airlock_error *err)
{
	for (size_t i = 0; i < tx->n_ops; i++)
		tx->ops[i].left = false;
	tx->n_left = 0;
	int rc = apply_roll_back(tx, err);
	return rc < 0 ? rc : settle(tx, run_dir, false, err);
}

static int go_forward(struct apply_tx *tx, struct journal *j, const char *run_dir, struct airlock_error *err)
{
	struct airlock_error why = {0};
	int step_errno = 0;
	if (apply_forward(tx, &step_errno, &why) < 0) {
		NOTE(tx->notes, RECOVERY_TROUBLE, .cause = why.message);
		journal_add_back(j);
		int rc = journal_write(j, err);
		return rc < 0 ? rc : go_back(tx, run_dir, err);
	}
	int rc = apply_complete(tx, err);
	return rc < 0 ? rc : settle(tx, run_dir, true, err);
}

/* Directories that are closed again hide those in them. */
static int abandon(struct apply_tx *tx, struct airlock_error *err)
{
	int rc = dirs_open(tx, true, err);
	return rc < 0 ? rc : apply_abandon(tx, err);
}

static int lock_tx(const struct apply_tx *tx, struct lock *lock, struct airlock_error *err)
{
	_cleanup_free_ const char **paths = calloc(tx->n_roots + 1, sizeof *paths);
	if (!paths)
		return base_oom(err);
	for (size_t i = 0; i < tx->n_roots; i++)
		paths[i] = tx->roots[i].path;
	return lock_roots(lock, tx->lock_dir, paths, tx->n_roots, LOCK_WAIT_MS, err);
}

static int resume(struct apply_tx *tx, struct journal *j, enum journal_part part, int64_t started, const char *runs_dir,
		  struct airlock_error *err)
{
	_cleanup_lock_ struct lock lock = LOCK_INIT;
	_cleanup_free_ char *run_dir = path_join(runs_dir, tx->run);
	if (!run_dir)
		return base_oom(err);
	int rc = lock_tx(tx, &lock, err);
	rc = rc < 0 ? rc : apply_tx_open(tx, run_dir, started, err);
	rc = rc < 0 ? rc : stage_open_again(tx, err);
	if (rc < 0)
		return rc;
	if (part == JOURNAL_COMMIT)
		rc = go_forward(tx, j, run_dir, err);
	else
		rc = part == JOURNAL_BACK ? go_back(tx, run_dir, err) : abandon(tx, err);
	return rc < 0 ? rc : journal_remove(j, err);
}

/* 1: done. 0: somebody else's. */
static int recover_one(const char *dir, const char *name, const char *runs_dir, struct strs *ret_runs,
		       struct notes *notes, struct airlock_error *err)
{
	_cleanup_tx_ struct apply_tx tx = APPLY_TX_INIT;
	_cleanup_journal_ struct journal j = JOURNAL_INIT;
	_cleanup_returns_ struct returns known = RETURNS_INIT(runs_dir);
	enum journal_part part = JOURNAL_TORN;
	int64_t started = 0;
	int rc = journal_open(&j, dir, name, err);
	if (rc <= 0)
		return rc;
	tx.notes = notes;
	tx.recovering = true;
	tx.known = &known;
	rc = journal_read(&j, &tx, &part, &started, err);
	if (rc == 0)
		rc = part == JOURNAL_TORN ? journal_remove(&j, err) : resume(&tx, &j, part, started, runs_dir, err);
	if (rc == 0 && part != JOURNAL_TORN && ret_runs)
		strs_add(ret_runs, tx.run);
	return rc < 0 ? rc : 1;
}

/* Go on after a failure: one broken journal must not block the others, or every later command of this user. */
int apply_recover_runs(const char *journal_dir, const char *runs_dir, size_t *ret_recovered, struct strs *ret_runs,
		       struct notes *notes, struct airlock_error *err)
{
	_cleanup_strs_ struct strs names = STRS_INIT;
	size_t n = 0;
	int rc = list_journals(journal_dir, &names, err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < names.n; i++) {
		struct airlock_error why = {0};
		rc = recover_one(journal_dir, names.v[i], runs_dir, ret_runs, notes, &why);
		n += rc > 0;
		if (rc < 0)
			NOTE(notes, NOT_RECOVERED, .subject = names.v[i], .cause = why.message);
	}
	if (ret_recovered)
		*ret_recovered = n;
	return notes->failed || (ret_runs && ret_runs->failed) ? base_oom(err) : 0;
}

int apply_recover(const char *journal_dir, const char *runs_dir, size_t *ret_recovered, struct notes *notes,
		  struct airlock_error *err)
{
	return apply_recover_runs(journal_dir, runs_dir, ret_recovered, NULL, notes, err);
}

/* ── Others' ── */

static bool share_root(const struct apply_tx *a, const struct apply_tx *b)
{
	for (size_t i = 0; i < a->n_roots; i++)
		for (size_t k = 0; k < b->n_roots; k++)
			if (a->roots[i].inode == b->roots[k].inode && strcmp(a->roots[i].path, b->roots[k].path) == 0)
				return true;
	return false;
}

static int is_about(const char *dir, const char *name, const struct apply_tx *tx, struct airlock_error *err)
{
	_cleanup_tx_ struct apply_tx other = APPLY_TX_INIT;
	_cleanup_journal_ struct journal j = JOURNAL_INIT;
	enum journal_part part = JOURNAL_TORN;
	int64_t started = 0;
	int rc = journal_peek(&j, dir, name, err);
	rc = rc <= 0 ? rc : journal_read(&j, &other, &part, &started, err);
	return rc < 0 ? rc : part != JOURNAL_TORN && share_root(tx, &other);
}

int recover_is_pending(const struct apply_tx *tx, const char *journal_dir, struct airlock_error *err)
{
	_cleanup_strs_ struct strs names = STRS_INIT;
	int rc = list_journals(journal_dir, &names, err);
	for (size_t i = 0; rc == 0 && i < names.n; i++)
		rc = is_about(journal_dir, names.v[i], tx, err);
	return rc;
}
