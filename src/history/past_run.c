/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "history/past_run.h"

#include "base/error.h"
#include "base/path.h"
#include "change/apply/apply.h"
#include "history/cut_run.h"
#include "history/history.h"
#include "history/history_read.h"
#include "history/recovery.h"
#include "project/project.h"
#include "store/runs.h"
#include "store/store.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void past_run_done(struct past_run *e)
{
	host_done(&e->host);
	char **all[] = {&e->runs, &e->dir, &e->record, &e->journal, &e->locks};
	for (size_t i = 0; i < AL_ARRAY_LEN(all); i++)
		base_freep(all[i]);
	change_set_free(e->set);
	e->set = NULL;
}

/* ── Finding a run ── */

int past_run_list(const struct past_run *e, struct strs *ret, struct airlock_error *err)
{
	DIR *dir = opendir(e->runs);
	if (!dir)
		return errno == ENOENT ? 0 : base_errno(err, AIRLOCK_ERR_IO, errno, "open", e->runs);
	errno = 0;
	for (struct dirent *d; (d = readdir(dir)); errno = 0)
		if (d->d_name[0] != '.')
			strs_add(ret, d->d_name);
	int rc = errno ? base_errno(err, AIRLOCK_ERR_IO, errno, "read", e->runs) : ret->failed ? base_oom(err) : 0;
	(void)closedir(dir);
	strs_sort(ret);
	return rc;
}

static int find_by_prefix(const struct strs *runs, const char *name, const char **ret, struct airlock_error *err)
{
	size_t n = 0;
	for (size_t i = 0; i < runs->n; i++) {
		if (strcmp(runs->v[i], name) == 0) {
			*ret = runs->v[i];
			return 0;
		}
		if (strncmp(runs->v[i], name, strlen(name)) == 0) {
			*ret = runs->v[i];
			n++;
		}
	}
	if (n == 1 && *name)
		return 0;
	if (n > 1)
		return base_error(err, AIRLOCK_ERR_USAGE, "run", name,
				  "\"%s\" matches %zu runs; type more of the id; airlock log lists them", name, n);
	base_error(err, AIRLOCK_ERR_NOT_FOUND, "run", name, "there is no run \"%s\"", name);
	return base_hint(err, "airlock log lists the runs");
}

/* Why a run has no record of its changes. */
static int without_record(const char *dir, const char *run, struct airlock_error *err)
{
	_cleanup_free_ char *ended = path_join(dir, HISTORY_FILE), *upper = path_join(dir, "upper");
	if (!ended || !upper)
		return base_oom(err);
	if (history_is_alive(dir))
		return base_error(err, AIRLOCK_ERR_NOT_FOUND, "run", run, "run %s has not ended yet", run);
	const char *why = access(ended, F_OK) == 0 ? "they could not be read or recorded"
						   : "airlock ended before it could record them";
	base_error(err, AIRLOCK_ERR_NOT_FOUND, "run", run, "run %s has no changes to decide about: %s", run, why);
	if (access(upper, F_OK) == 0)
		base_hint(err, "what the command wrote is in %s until `airlock gc` removes it", upper);
	return AIRLOCK_ERR_NOT_FOUND;
}

int past_run_load(struct past_run *e, const char *run, struct airlock_error *err)
{
	base_freep(&e->dir);
	base_freep(&e->record);
	change_set_free(e->set);
	e->set = NULL;
	e->dir = path_join(e->runs, run);
	e->record = e->dir ? path_join(e->dir, "changes") : NULL;
	if (!e->record)
		return base_oom(err);
	struct airlock_error why = {0};
	int rc = change_set_load(e->record, &e->set, &why);
	if (rc == AIRLOCK_ERR_NOT_FOUND)
		return without_record(e->dir, run, err);
	if (rc < 0 && err)
		*err = why;
	return rc;
}

bool past_run_is_unknown(int rc)
{
	return rc == AIRLOCK_ERR_IO || rc == AIRLOCK_ERR_INTERNAL;
}

/* ── The last one ── */

int past_run_project(const struct past_run *e, char **ret, struct airlock_error *err)
{
	struct settings_view view;
	int rc = settings_view(e->settings, &view, err);
	if (rc < 0)
		return rc;
	rc = project_detect_known(settings_get(&view, "project"), e->host.cwd, e->host.home, e->host.state_dir, ret,
				  err);
	settings_view_done(&view);
	return rc;
}

static bool is_of_project(const struct change_set *set, const char *project)
{
	assert(set); /* past_run_load succeeded */
	return set->n_roots > 0 && strcmp(set->roots[0].path, project) == 0;
}

bool past_run_is_draft(const struct change_set *set)
{
	if (!set->session || set->part != CHANGE_PART_WHOLE)
		return false;
	for (size_t i = 0; i < set->n; i++)
		if (set->v[i].state == CHANGE_APPLIED || set->v[i].undone)
			return false;
	return true;
}

/* Resolves "last": the newest finished run of the caller's project, else of any project, else one that was killed and
 * has no record. */
static int find_last(struct past_run *e, char **ret, struct airlock_error *err)
{
	_cleanup_strs_ struct strs runs = STRS_INIT;
	_cleanup_free_ char *project = NULL;
	const char *any = NULL, *killed = NULL, *here = NULL;
	int detected = past_run_project(e, &project, NULL);
	int listed = past_run_list(e, &runs, err);
	if (listed < 0)
		return listed;
	for (size_t i = runs.n; i > 0 && !here; i--) {
		const char *run = runs.v[i - 1];
		struct airlock_error why = {0};
		int rc = past_run_load(e, run, &why);
		if (rc == AIRLOCK_ERR_NOT_FOUND) {
			killed = killed || history_is_alive(e->dir) ? killed : run;
			continue;
		}
		if (past_run_is_unknown(rc))
			return base_pass(err, &why);
		if (rc == 0 && past_run_is_draft(e->set))
			continue;
		any = any ? any : run;
		if (detected < 0 || (rc == 0 && is_of_project(e->set, project)))
			here = run;
	}
	here = here ? here : any ? any : killed;
	*ret = here ? strdup(here) : NULL;
	if (here)
		return *ret ? 0 : base_oom(err);
	return base_error(err, AIRLOCK_ERR_NOT_FOUND, "run", "last", "there is no run yet");
}

/* Is this a whole id? There may be tens of thousands of runs, and then only this one is looked at. */
static bool is_run(const struct past_run *e, const char *name)
{
	struct stat st;
	_cleanup_free_ char *path = *name && *name != '.' && !strchr(name, '/') ? path_join(e->runs, name) : NULL;
	return path && lstat(path, &st) == 0;
}

static int find_by_name(const struct past_run *e, const char *name, char **ret, struct airlock_error *err)
{
	if (is_run(e, name)) {
		*ret = strdup(name);
		return *ret ? 0 : base_oom(err);
	}
	_cleanup_strs_ struct strs runs = STRS_INIT;
	const char *found = NULL;
	int rc = past_run_list(e, &runs, err);
	if (rc == 0)
		rc = find_by_prefix(&runs, name, &found, err);
	if (rc < 0)
		return rc;
	assert(found); /* find_by_prefix succeeded */
	*ret = strdup(found);
	return *ret ? 0 : base_oom(err);
}

int past_run_find(struct past_run *e, const char *name, char **ret, struct airlock_error *err)
{
	return strcmp(name, "last") == 0 ? find_last(e, ret, err) : find_by_name(e, name, ret, err);
}

int past_run_init(struct past_run *e, const struct airlock_settings *s, struct airlock_error *err)
{
	*e = (struct past_run){.settings = s};
	int rc = host_init(s, &e->host, err);
	if (rc < 0)
		return rc;
	e->runs = path_join(e->host.state_dir, "runs");
	e->journal = host_journal_dir(&e->host);
	e->locks = host_lock_dir(&e->host);
	if (!e->runs || !e->journal || !e->locks)
		return base_oom(err);
	_cleanup_notes_ struct notes notes = NOTES_INIT;
	size_t count = 0;
	rc = recovery_run(&e->host, &count, &notes, err);
	return rc < 0 ? rc : cut_runs_hold(&e->host, &count, &notes, err);
}

/* A run that was refused has a row in the log and nothing else: it changed nothing. */
static bool open_refused(struct past_run *e, const char *name)
{
	_cleanup_strs_ struct strs ids = STRS_INIT;
	_cleanup_store_ struct store *store = NULL;
	if (!*name || store_open_history(e->host.state_dir, STORE_WAIT_MS, &store, NULL) < 0 ||
	    store_run_find(store, name, &ids, NULL) < 0 || ids.n != 1)
		return false;
	e->set = change_set_new(ids.v[0]);
	e->dir = path_join(e->runs, ids.v[0]);
	e->record = e->dir ? path_join(e->dir, "changes") : NULL;
	return e->set && e->record;
}

int past_run_open(struct past_run *e, const struct airlock_settings *s, const char *run, struct airlock_error *err)
{
	_cleanup_free_ char *id = NULL;
	struct airlock_error why = {0};
	int rc = past_run_init(e, s, err);
	if (rc < 0)
		return rc;
	rc = past_run_find(e, run, &id, &why);
	if (rc == 0)
		return past_run_load(e, id, err);
	if (rc == AIRLOCK_ERR_NOT_FOUND && strcmp(run, "last") != 0 && open_refused(e, run))
		return 0;
	return base_pass(err, &why);
}
