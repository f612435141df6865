/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "history/copied_run.h"

#include "base/error.h"
#include "base/path.h"
#include "change/apply/apply.h"
#include "change/scan/copy.h"
#include "fs/fs.h"

#include <fcntl.h>
#include <stdio.h>

char *copied_run_marker(const struct host *host, const char *run)
{
	_cleanup_free_ char *dir = path_join(host->state_dir, "copies");
	return dir ? path_join(dir, run) : NULL;
}

int copied_run_name_roots(struct change_set *set, const char *run_dir, struct airlock_error *err)
{
	for (size_t i = 0; i < set->n_roots; i++) {
		free(set->roots[i].copy);
		if (asprintf(&set->roots[i].copy, "%s/copy/%zu", run_dir, i + 1) < 0) {
			set->roots[i].copy = NULL;
			return base_oom(err);
		}
	}
	return 0;
}

void copied_run_remove_copies(const char *run_dir)
{
	static const char *const parts[] = {"copy", "origins", "capture", "work"};
	_cleanup_close_ int fd = open(run_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	for (size_t i = 0; fd >= 0 && i < AL_ARRAY_LEN(parts); i++)
		(void)fs_remove_tree_at(fd, parts[i], NULL, NULL);
}

void copied_run_let_go(struct change_set *set, const char *run_dir)
{
	for (size_t i = 0; i < set->n_roots; i++)
		base_freep(&set->roots[i].copy);
	set->origins = NULL;
	copied_run_remove_copies(run_dir);
	copy_settle_images(set, run_dir);
}

int copied_run_adopt(struct change_set *set, const char *run_dir, struct airlock_error *err)
{
	_cleanup_free_ char *record = path_join(run_dir, "changes");
	int rc = record ? copy_adopt(set, run_dir, err) : base_oom(err);
	rc = rc < 0 || set->n == 0 ? rc : change_set_save(set, record, err);
	if (rc < 0)
		return rc;
	copied_run_let_go(set, run_dir);
	return 0;
}

static int undo(struct change_set *set, const struct host *host, const char *run_dir, bool force, struct notes *notes,
		struct airlock_error *err)
{
	_cleanup_free_ char *journal = host_journal_dir(host), *locks = host_lock_dir(host);
	if (!journal || !locks)
		return base_oom(err);
	struct apply_request request = {.set = set,
					.undo = true,
					.force = force,
					.run_dir = run_dir,
					.journal_dir = journal,
					.lock_dir = locks};
	return apply_execute(&request, notes, err);
}

/* Devices and sockets are never applied, but here the command made them in the project itself: remove them with the
 * rest. */
static bool *lift_skips(struct change_set *set)
{
	bool *skipped = calloc(set->n + 1, sizeof *skipped);
	for (size_t i = 0; skipped && i < set->n; i++) {
		skipped[i] = set->v[i].verdict == CHANGE_SKIP;
		if (skipped[i])
			set->v[i].verdict = CHANGE_HOLD;
	}
	return skipped;
}

static void lower_skips(struct change_set *set, const bool *skipped)
{
	for (size_t i = 0; i < set->n; i++) {
		if (skipped[i])
			set->v[i].verdict = CHANGE_SKIP;
		if (skipped[i] && set->v[i].state == CHANGE_HELD)
			set->v[i].state = CHANGE_SKIPPED;
	}
}

/* A concurrent change of one path must not stop the others from going back: the layer keeps that version. */
int copied_run_put_back(struct change_set *set, const struct host *host, const char *run_dir, struct notes *notes,
			struct airlock_error *err)
{
	struct airlock_error why = {0};
	_cleanup_free_ bool *skipped = lift_skips(set);
	if (!skipped)
		return base_oom(err);
	int rc = undo(set, host, run_dir, false, notes, &why);
	for (int tries = 0; rc == AIRLOCK_ERR_CONFLICT && tries < 3; tries++) {
		base_error_clear(&why);
		rc = undo(set, host, run_dir, true, notes, &why);
	}
	lower_skips(set, skipped);
	return rc < 0 ? base_pass(err, &why) : 0;
}
