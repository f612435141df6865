/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A run that was captured by copy and whose process died. What it had changed is put back and held, as if it had been killed
 * alone. Every step of it can be repeated: the copy stays whole until the record is saved, and from then on there is a
 * journal. */
#include "history/copied_run.h"

#include "base/error.h"
#include "base/path.h"
#include "change/apply/apply.h"
#include "change/scan/copy.h"
#include "change/reason.h"
#include "fs/fs.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>

bool copied_run_is_pending(const struct host *host, const char *run)
{
	_cleanup_free_ char *marker = copied_run_marker(host, run);
	return !marker || access(marker, F_OK) == 0;
}

static int list_markers(const struct host *host, struct strs *ret, struct airlock_error *err)
{
	_cleanup_free_ char *dir = path_join(host->state_dir, "copies");
	DIR *d = dir ? opendir(dir) : NULL;
	if (!d)
		return !dir ? base_oom(err) : errno == ENOENT ? 0 : base_errno(err, AIRLOCK_ERR_IO, errno, "open", dir);
	for (const struct dirent *e; (e = readdir(d));)
		if (e->d_name[0] != '.')
			strs_add(ret, e->d_name);
	(void)closedir(d);
	strs_sort(ret);
	return ret->failed ? base_oom(err) : 0;
}

/* From the copy: what was done to the roots. */
static int find_changes(const struct host *host, const char *run_dir, struct change_set **ret, struct notes *notes,
			struct airlock_error *err)
{
	_cleanup_free_ char *capture = path_join(run_dir, "capture"), *origins = path_join(run_dir, "origins");
	_cleanup_origins_ struct copy_origins found = COPY_ORIGINS_INIT;
	const struct gate_rules rules = {.home = host->home, .environ = &host->git_env};
	if (!capture || !origins)
		return base_oom(err);
	int rc = change_set_load(capture, ret, err);
	rc = rc < 0 ? rc : copy_load(&found, origins, err);
	rc = rc < 0 ? rc : copied_run_name_roots(*ret, run_dir, err);
	if (rc < 0)
		return rc;
	(*ret)->origins = &found;
	rc = change_scan(*ret, notes, err);
	rc = rc < 0 ? rc : gate_judge(*ret, &rules, err);
	rc = rc < 0 ? rc : copied_run_adopt(*ret, run_dir, err);
	(*ret)->origins = NULL;
	return rc;
}

static int put_back(const struct host *host, const char *run_dir, struct notes *notes, struct airlock_error *err)
{
	_cleanup_changes_ struct change_set *set = NULL;
	_cleanup_free_ char *record = path_join(run_dir, "changes");
	struct airlock_error why = {0};
	if (!record)
		return base_oom(err);
	int rc = change_set_load(record, &set, &why);
	if (rc == AIRLOCK_ERR_NOT_FOUND)
		rc = find_changes(host, run_dir, &set, notes, err);
	else if (rc < 0)
		return base_error(err, rc, why.op, why.subject, "%s", why.message);
	else
		copied_run_let_go(set, run_dir);
	if (rc == 0 && set->n > 0)
		rc = copied_run_put_back(set, host, run_dir, notes, err);
	if (rc < 0)
		return rc;
	(void)change_set_wait(set, AIRLOCK_REASON_INTERRUPTED);
	return change_set_save(set, record, err);
}

/* 1: done. 0: it is at work, or somebody else is about to do this. */
static int recover_one(const struct host *host, const char *run, struct notes *notes, struct airlock_error *err)
{
	_cleanup_free_ char *marker = copied_run_marker(host, run), *runs = path_join(host->state_dir, "runs"),
			    *run_dir = runs ? path_join(runs, run) : NULL;
	if (!marker || !run_dir)
		return base_oom(err);
	_cleanup_close_ int fd = open(run_dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno != ENOENT)
		return base_errno(err, AIRLOCK_ERR_IO, errno, "open", run_dir);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0)
		return 0;
	int rc = fd >= 0 && access(marker, F_OK) == 0 ? put_back(host, run_dir, notes, err) : 0;
	if (rc == 0 && unlink(marker) < 0 && errno != ENOENT)
		rc = base_errno(err, AIRLOCK_ERR_IO, errno, "unlink", marker);
	if (rc == 0)
		NOTE(notes, TAKEN_OUT, .subject = run);
	return rc < 0 ? rc : 1;
}

/* Go on after a failure: one broken run must not block the others, or every later command of this user. */
int copied_run_recover(const struct host *host, size_t *count, struct notes *notes, struct airlock_error *err)
{
	_cleanup_strs_ struct strs runs = STRS_INIT;
	int rc = list_markers(host, &runs, err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < runs.n; i++) {
		struct airlock_error why = {0};
		rc = recover_one(host, runs.v[i], notes, &why);
		*count += rc > 0;
		if (rc < 0)
			NOTE(notes, NOT_TAKEN_OUT, .subject = runs.v[i], .cause = why.message);
	}
	return notes->failed ? base_oom(err) : 0;
}
