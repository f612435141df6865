/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "history/recovery.h"

#include "base/error.h"
#include "base/path.h"
#include "change/apply/apply.h"
#include "history/copied_run.h"
#include "history/history.h"

/* The interrupted process never told the history. An unreadable record has been noted already. */
static void tell_history(const struct host *host, const char *run_dir, struct notes *notes)
{
	_cleanup_changes_ struct change_set *set = NULL;
	_cleanup_free_ char *file = path_join(run_dir, "changes");
	struct airlock_error unused = {0};
	if (file && change_set_load(file, &set, &unused) >= 0)
		history_decided(host, set, "recover", set->n, notes);
}

int recovery_run(const struct host *host, size_t *ret_count, struct notes *notes, struct airlock_error *err)
{
	_cleanup_free_ char *journal = host_journal_dir(host), *runs = path_join(host->state_dir, "runs");
	_cleanup_strs_ struct strs recovered = STRS_INIT;
	if (!journal || !runs)
		return base_oom(err);
	int rc = apply_recover_runs(journal, runs, ret_count, &recovered, notes, err);
	for (size_t i = 0; i < recovered.n; i++) {
		_cleanup_free_ char *dir = path_join(runs, recovered.v[i]);
		if (dir)
			tell_history(host, dir, notes);
	}
	return rc < 0 ? rc : copied_run_recover(host, ret_count, notes, err);
}
