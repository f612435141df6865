/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A run's captured changes into the live tree as one transaction, and back (docs/design/apply.md).
 *
 *   apply_recover(journal_dir, runs_dir, &n, &notes, err)          on every start
 *   apply_select(set, paths, false, &selected, err)                 some paths only
 *   struct apply_request r = {.set = set, .selected = selected, .run_dir = …, .journal_dir = …, .lock_dir = …};
 *   apply_execute(&r, &notes, err)
 *
 * I3: nothing that somebody else changed is overwritten. I4: after a crash at any point, apply_recover leaves each path as
 * its old or its new self. I5: what was replaced is kept with the run and comes back with .undo. I6: everything happens
 * beneath descriptors of the roots and of the run's directory, never through a symlink.
 */
#pragma once

#include "change/change.h"

struct apply_request {
	struct change_set *set; /* updated on success; on AIRLOCK_ERR_CONFLICT the reasons say where */
	const bool *selected;	/* per change; NULL: apply those with verdict CHANGE_APPLY, undo all that are applied */
	bool undo;
	bool force; /* take ours also where somebody changed the path since; theirs is kept */
	const char *run_dir, *journal_dir, *lock_dir;
	const struct gate_rules *rules; /* judge once more, with the locks; NULL: do not */
};

/* Returns how many changes were carried out. What is not in the state that the direction needs (held or conflict for apply,
 * applied for undo) is passed over. AIRLOCK_ERR_CONFLICT: nothing was done. AIRLOCK_ERR_BUSY: another airlock is at work on
 * a root. Any other error: the live tree is the old one, or, when the message says so, the next start finishes. Notes:
 * sentences about what was done differently than one might think. On success the set is saved as run_dir/changes. */
int apply_execute(const struct apply_request *request, struct notes *notes, struct airlock_error *err);

/* Finishes or reverts what a crash has left. Costs one failing or empty directory read when there is nothing. Journals of
 * running applies are left alone. ret_recovered may be NULL. */
int apply_recover(const char *journal_dir, const char *runs_dir, size_t *ret_recovered, struct notes *notes,
		  struct airlock_error *err);

/* The same; ret_runs (may be NULL): the ids of the runs whose record has changed by it. */
int apply_recover_runs(const char *journal_dir, const char *runs_dir, size_t *ret_recovered, struct strs *ret_runs,
		       struct notes *notes, struct airlock_error *err);

/* The changes at or beneath the paths (relative to the first root, or absolute in any) and the parent directories they need;
 * all of them when paths is NULL.
 * AIRLOCK_ERR_NOT_FOUND: a path without a change. The result has set->n entries and is the caller's to free. */
int apply_select(struct change_set *set, const char *const *paths, bool undo, bool **ret_selected,
		 struct airlock_error *err);
