/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "history/history_read.h"

#include "base/path.h"
#include "fs/fs.h"
#include "history/history.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>

#define FILE_MAX ((size_t)64 << 20)

int history_read_file(const char *run_dir, struct buf *ret_text, struct json_value *ret, struct airlock_error *err)
{
	_cleanup_free_ char *file = path_join(run_dir, HISTORY_FILE);
	int rc = file ? fs_read_file(file, FILE_MAX, ret_text, err) : base_oom(err);
	if (rc < 0)
		return rc;
	if (!json_value_parse(buf_str(ret_text), ret_text->len, ret) || json_value_kind(*ret) != '{')
		return base_error(err, AIRLOCK_ERR_CORRUPT, "read", file, "%s is damaged", file);
	return 0;
}

/* ── Runs ── */

bool history_is_alive(const char *run_dir)
{
	_cleanup_close_ int fd = open(run_dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

/* "20261115-193012.482731-7f3a" is a time too. */
int64_t history_time_of_id(const char *id)
{
	struct tm tm = {0};
	long micro = 0;
	/* NOLINTNEXTLINE(cert-err34-c): 6 digits fit */
	if (sscanf(id, "%4d%2d%2d-%2d%2d%2d.%6ld", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour, &tm.tm_min,
		   &tm.tm_sec, &micro) < 7)
		return 0;
	tm.tm_year -= 1900;
	tm.tm_mon -= 1;
	return (int64_t)timegm(&tm) * 1000000000 + micro * 1000;
}

void history_id_of_time(int64_t ns, char out[32])
{
	time_t seconds = (time_t)(ns / 1000000000);
	struct tm tm;
	out[0] = '\0';
	if (gmtime_r(&seconds, &tm))
		(void)strftime(out, 32, "%Y%m%d-%H%M%S", &tm);
}

static void replace(const char **field, char *value)
{
	if (!value)
		return;
	base_freep(field);
	*field = value;
}

/* All steps of a session, applied as one: no command ran for it. */
static void describe_whole(const struct change_set *set, struct store_run *run)
{
	struct buf line = BUF_INIT;
	buf_printf(&line, "airlock apply %s", set->session);
	replace(&run->command, buf_take(&line));
	replace(&run->status, strdup("exited"));
	run->exit_code = 0;
}

/* What the run's record of changes says now. Returns whether it is one that no list has. */
static bool read_changes(const char *dir, struct store_run *run)
{
	_cleanup_free_ char *file = path_join(dir, "changes");
	_cleanup_changes_ struct change_set *set = NULL;
	if (!file || change_set_load(file, &set, NULL) < 0)
		return false;
	replace(&run->changes_state, strdup(change_set_state_name(set)));
	run->changes_count = (int64_t)set->n;
	if (!*run->project && set->n_roots > 0)
		replace(&run->project, strdup(set->roots[0].path));
	if (set->session && set->part == CHANGE_PART_WHOLE)
		describe_whole(set, run);
	if (set->session)
		replace(&run->session, strdup(set->session));
	return past_run_is_draft(set);
}

/* The session of a run that is over, and the step that it has become. */
static void read_session(struct json_value record, struct store_run *run)
{
	replace(&run->session, json_value_string(json_value_member(record, "session")));
	run->step = json_value_int(json_value_member(record, "step"), 0);
}

static void read_ending(struct json_value record, struct store_run *run)
{
	const struct {
		const char *name, **field;
	} texts[] = {{"command", &run->command},
		     {"project", &run->project},
		     {"asked_by", &run->asked_by},
		     {"working_dir", &run->working_dir},
		     {"status", &run->status}};
	for (size_t i = 0; i < AL_ARRAY_LEN(texts); i++)
		replace(texts[i].field, json_value_string(json_value_member(record, texts[i].name)));
	run->exit_code = json_value_int(json_value_member(record, "exit_code"), -1);
}

/* A run the database knows nothing of, or only its beginning. Returns whether it is one that no list has. */
static bool complete(const char *dir, struct store_run *run)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	struct json_value record;
	if (history_read_file(dir, &text, &record, NULL) == 0) {
		read_ending(record, run);
		read_session(record, run);
		replace(&run->changes_state, strdup("direct")); /* unless there is a record of them */
	} else if (history_is_alive(dir))
		return false;
	else
		replace(&run->status, strdup("error"));
	return read_changes(dir, run);
}

static bool is_whole(const struct store_run *r)
{
	return r->id && r->project && r->command && r->asked_by && r->working_dir && r->status && r->changes_state &&
	       r->detail;
}

/* *ret_draft: no list has it. */
static int from_directory(const char *runs, const char *id, struct store_run *ret, bool *ret_draft,
			  struct airlock_error *err)
{
	_cleanup_free_ char *dir = path_join(runs, id);
	struct store_run run = {.id = strdup(id),
				.project = strdup(""),
				.command = strdup(""),
				.asked_by = strdup(""),
				.working_dir = strdup(""),
				.started = history_time_of_id(id),
				.status = strdup("running"),
				.exit_code = -1,
				.changes_state = strdup("none"),
				.detail = strdup("")};
	if (dir && is_whole(&run))
		*ret_draft = complete(dir, &run);
	if (!dir || !is_whole(&run)) {
		store_run_done(&run);
		return base_oom(err);
	}
	*ret = run;
	return 0;
}

static int append(struct store_runs *l, const struct store_run *run, struct airlock_error *err)
{
	struct store_run *v = reallocarray(l->v, l->n + 1, sizeof *v);
	if (!v)
		return base_oom(err);
	l->v = v;
	l->v[l->n++] = *run;
	return 0;
}

static int newer_first(const void *a, const void *b)
{
	return strcmp(((const struct store_run *)b)->id, ((const struct store_run *)a)->id);
}

static bool lists(const struct store_runs *l, size_t n, const char *id)
{
	struct store_run key = {.id = id};
	return n > 0 && bsearch(&key, l->v, n, sizeof key, newer_first);
}

/* Directories that have no row; with a limit only those newer than the oldest that was asked for can matter. */
static int add_unknown(const struct past_run *e, const char *project, int64_t limit, struct store *store,
		       struct store_runs *l, struct airlock_error *err)
{
	_cleanup_strs_ struct strs dirs = STRS_INIT;
	size_t known = l->n;
	bool full = limit >= 0 && known == (size_t)limit;
	int listed = past_run_list(e, &dirs, err);
	if (listed < 0)
		return listed;
	for (size_t i = dirs.n; i > 0; i--) {
		struct store_run run = {0};
		const char *id = dirs.v[i - 1];
		bool is_draft = false;
		if (full && (known == 0 || strcmp(id, l->v[known - 1].id) < 0))
			break;
		if (lists(l, known, id) || (store && store_run_get(store, id, &run, NULL) == 1)) {
			store_run_done(&run);
			continue;
		}
		int rc = from_directory(e->runs, id, &run, &is_draft, err);
		if (rc < 0)
			return rc;
		assert(run.project); /* from_directory fails without it */
		/* airlock was killed before it recorded the project: it may be this one */
		bool may_be_here = !project || !*run.project || strcmp(run.project, project) == 0;
		if (!may_be_here || is_draft)
			store_run_done(&run);
		else if ((rc = append(l, &run, err)) < 0)
			return rc;
	}
	if (l->n > 0)
		qsort(l->v, l->n, sizeof *l->v, newer_first);
	return 0;
}

static void complete_begun(const struct past_run *e, struct store_run *run)
{
	if (strcmp(run->status, "running") != 0)
		return;
	_cleanup_free_ char *dir = path_join(e->runs, run->id);
	if (dir)
		(void)complete(dir, run);
}

/* The database has one row for a run, and nothing of sessions. */
static void find_session(const struct past_run *e, struct store_run *run)
{
	_cleanup_free_ char *dir = run->session ? NULL : path_join(e->runs, run->id);
	_cleanup_buf_ struct buf text = BUF_INIT;
	struct json_value record;
	if (!dir)
		return;
	if (history_read_file(dir, &text, &record, NULL) == 0) {
		read_session(record, run);
		return;
	}
	_cleanup_free_ char *file = path_join(dir, "changes"); /* it was cut short */
	_cleanup_changes_ struct change_set *set = NULL;
	if (file && change_set_load(file, &set, NULL) == 0 && set->session)
		replace(&run->session, strdup(set->session));
}

static bool has_sessions(const struct past_run *e)
{
	_cleanup_free_ char *dir = path_join(e->host.state_dir, "sessions");
	return dir && access(dir, F_OK) == 0;
}

int history_list(const struct past_run *e, struct store *store, const char *project, int64_t limit,
		 struct store_runs *ret, struct airlock_error *err)
{
	_cleanup_runs_ struct store_runs l = {0};
	int rc = store ? store_run_list(store, project, limit, &l, err) : 0;
	for (size_t i = 0; rc == 0 && i < l.n; i++)
		complete_begun(e, &l.v[i]);
	rc = rc < 0 ? rc : add_unknown(e, project, store ? limit : -1, store, &l, err);
	if (rc < 0)
		return rc;
	while (limit >= 0 && l.n > (size_t)limit)
		store_run_done(&l.v[--l.n]);
	for (size_t i = 0; has_sessions(e) && i < l.n; i++)
		find_session(e, &l.v[i]);
	*ret = l;
	l = (struct store_runs){0};
	return 0;
}

int history_get(const struct past_run *e, struct store *store, const char *id, struct store_run *ret,
		struct airlock_error *err)
{
	int rc = store ? store_run_get(store, id, ret, err) : 0;
	if (rc == 1) {
		complete_begun(e, ret);
		find_session(e, ret);
	}
	if (rc != 0)
		return rc < 0 ? rc : 0;
	_cleanup_free_ char *dir = path_join(e->runs, id);
	if (!dir)
		return base_oom(err);
	if (access(dir, F_OK) < 0)
		return base_error(err, AIRLOCK_ERR_NOT_FOUND, "run", id, "there is no run \"%s\"", id);
	bool is_draft = false;
	return from_directory(e->runs, id, ret, &is_draft, err);
}
