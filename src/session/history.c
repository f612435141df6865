/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "session/history.h"

#include "base/json.h"
#include "base/path.h"
#include "fs/fs.h"
#include "session/run_id.h"
#include "session/spare.h"
#include "store/audit.h"
#include "store/inbox.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* While the command runs its output must not wait for somebody else's long transaction; at the end there is time. */
#define WAIT_AT_START_MS 20
#define AUDIT_MAX_FILES 1000

void history_add_time(struct buf *out, int64_t ns)
{
	time_t seconds = (time_t)(ns / 1000000000);
	struct tm tm;
	char text[32];
	if (!gmtime_r(&seconds, &tm) || strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm) == 0)
		return;
	buf_printf(out, "%s.%06ldZ", text, (long)(ns % 1000000000 / 1000));
}

static void add_time(struct json *j, const char *key, int64_t ns)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	history_add_time(&text, ns);
	json_string(j, key, buf_str(&text));
}

/* ── What is said about a run ── */

/* The values in force with the file and line, variable or option that set each. */
static void add_policy(struct json *j, const struct airlock_job *job)
{
	const struct config *c = job->config;
	json_open_object(j, "policy");
	json_string(j, "profile", job->plan->profile);
	json_string(j, "changes", policy_changes_name(c->policy.changes));
	json_string(j, "version", AIRLOCK_VERSION);
	json_open_array(j, "values");
	for (size_t i = 0; i < c->n_values; i++) {
		json_open_object(j, NULL);
		json_string(j, "key", c->values[i].key);
		json_string(j, "value", c->values[i].value);
		json_string(j, "source", c->values[i].source);
		json_bool(j, "ignored", c->values[i].ignored);
		json_close(j);
	}
	json_close(j);
	json_close(j);
}

static void add_questions(struct json *j, const struct airlock_job *job, bool refused)
{
	const struct permission_question *q = &job->question;
	json_open_array(j, "questions");
	if (q->n_reasons > 0) {
		json_open_object(j, NULL);
		json_string(j, "question", q->text);
		json_open_array(j, "reasons");
		for (size_t i = 0; i < q->n_reasons; i++)
			json_string(j, NULL, q->reasons[i]);
		json_close(j);
		json_string(j, "answer", refused ? "deny" : job->yes ? "yes" : airlock_answer_name(job->answer));
		if (refused) /* the agent was not told; here the person finds it */
			json_string(j, "grant", q->grant_command);
		json_close(j);
	}
	json_close(j);
}

/* The first members are those that history_read.c looks for. */
static void add_request(struct json *j, const struct airlock_run *run)
{
	const struct airlock_job *job = run->job;
	json_path(j, "command", job->command_line);
	json_path(j, "project", job->project->dir);
	add_time(j, "started", run->started_ns);
	json_string(j, "asked_by", job->origin.who);
	json_int(j, "uid", (int64_t)getuid());
}

/* Of a run without a process, and so without output and isolation to tell of: it could not start, or the file API made
 * a change. */
static void add_no_process(struct json *j, const struct airlock_run *run, const struct airlock_error *why)
{
	json_string(j, "run", run->id);
	json_string(j, "status", why ? "error" : "exited");
	json_int(j, "exit_code", why ? base_exit_status(why) : 0);
	json_null(j, "signal");
	json_ms(j, "duration_ms", why ? 0 : (store_now() - run->started_ns) / 1000);
	json_int(j, "stdout_bytes", 0);
	json_int(j, "stderr_bytes", 0);
	json_bool(j, "truncated", false);
	json_path(j, "working_dir", run->job->plan->cwd);
	json_null(j, "isolation");
	json_null(j, "usage");
	json_null(j, "denials");
	json_error(j, "error", why);
}

/* why: of a run that could not start, else NULL. Members of an object, without its braces. */
static char *make_detail(const struct airlock_run *run, const struct airlock_error *why)
{
	struct buf out = BUF_INIT;
	struct json j = json_begin(&out, false);
	json_open_object(&j, NULL);
	add_request(&j, run);
	if (why || run->files_only)
		add_no_process(&j, run, why);
	else
		result_add_summary(run, &j);
	add_policy(&j, run->job);
	add_questions(&j, run->job, why && why->code == AIRLOCK_ERR_DENIED);
	json_close(&j);
	if (!out.failed && out.len > 2) {
		memmove(out.data, out.data + 1, out.len - 1);
		out.data[out.len - 2] = '\0';
	}
	return buf_take(&out);
}

static const char *status_of(const struct airlock_run *run)
{
	static const char *const words[] = {[SUPERVISE_EXITED] = "exited",
					    [SUPERVISE_SIGNALED] = "signaled",
					    [SUPERVISE_TIMED_OUT] = "timeout",
					    [SUPERVISE_FAILED] = "error"};
	return words[supervise_result(run->supervise)->status];
}

static struct store_run row_of(const struct airlock_run *run, const char *status, int64_t exit_code, const char *detail)
{
	const struct airlock_job *job = run->job;
	return (struct store_run){.id = run->id,
				  .project = job->project->dir,
				  .command = job->command_line,
				  .asked_by = job->origin.who,
				  .working_dir = job->plan->cwd,
				  .started = run->started_ns,
				  .status = status,
				  .exit_code = exit_code,
				  .changes_state = airlock_changes_state_name(
					  run->layers.enabled ? layers_state(&run->layers) : AIRLOCK_CHANGES_NONE),
				  .changes_count = run->layers.set ? (int64_t)run->layers.set->n : 0,
				  .detail = detail};
}

/* ── The audit line ── */

static void add_audit_files(struct json *j, const struct change_set *set)
{
	size_t n = set ? AL_MIN(set->n, (size_t)AUDIT_MAX_FILES) : 0;
	json_open_array(j, "files");
	for (size_t i = 0; i < n; i++) {
		const struct change *c = &set->v[i];
		json_open_object(j, NULL);
		json_path(j, "path", c->path);
		if (c->root > 0)
			json_path(j, "root", set->roots[c->root].path);
		json_string(j, "kind", change_kind_name(c->kind));
		json_string(j, "state", change_state_name(c->state));
		json_close(j);
	}
	json_close(j);
	if (set && n < set->n)
		json_int(j, "files_left_out", (int64_t)(set->n - n));
}

static int write_audit(const char *state_dir, struct buf *object, struct buf *news, struct airlock_error *err)
{
	if (object->failed || object->len < 2)
		return base_oom(err);
	object->data[object->len - 1] = '\0';
	return audit_append(state_dir, object->data + 1, news, err);
}

static int audit_run(const struct airlock_run *run, const struct store_run *row, struct buf *news,
		     struct airlock_error *err)
{
	_cleanup_buf_ struct buf out = BUF_INIT;
	struct json j = json_begin(&out, false);
	json_open_object(&j, NULL);
	json_string(&j, "event", "run");
	json_string(&j, "run", run->id);
	add_time(&j, "time", store_now());
	add_request(&j, run);
	json_path(&j, "working_dir", row->working_dir);
	json_string(&j, "backend", run->job->backend->name);
	json_string(&j, "profile", run->job->plan->profile);
	add_questions(&j, run->job, !run->supervise);
	json_string(&j, "status", row->status);
	json_int(&j, "exit_code", row->exit_code);
	json_string(&j, "changes", row->changes_state);
	add_audit_files(&j, run->layers.set);
	json_close(&j);
	return write_audit(run->job->host.state_dir, &out, news, err);
}

/* ── While it runs, and after ── */

void history_begin(struct airlock_run *run)
{
	_cleanup_buf_ struct buf news = BUF_INIT;
	struct store_run row = row_of(run, "running", -1, "");
	row.changes_state = "none";
	row.changes_count = 0;
	spare_keep(run->job->host.state_dir);
	inbox_add_run(&news, &row);
	(void)inbox_put(run->job->host.state_dir, &news, WAIT_AT_START_MS,
			NULL); /* at the end all of it is said again */
}

/* In the run's directory, so that it can be shown when the database is gone. */
static int write_file(struct airlock_run *run, const char *detail, struct airlock_error *err)
{
	_cleanup_free_ char *file = path_join(run->dir, HISTORY_FILE);
	_cleanup_buf_ struct buf text = BUF_INIT;
	buf_addc(&text, '{');
	buf_adds(&text, detail); /* some thousand characters, over which printf takes its time */
	buf_adds(&text, "}\n");
	if (!file || text.failed)
		return base_oom(err);
	return fs_create_prepared_file(TAKE_FD(run->detail_fd), file, text.data, text.len, err);
}

static void note(struct strs *notes, const struct airlock_error *why)
{
	if (why->code)
		strs_addf(notes, "this is missing in the history: %s", why->message);
}

/* When it has become large somebody has to take it over. A while in vain is enough: the next run tries again. */
static int take_over(const char *state_dir, struct strs *notes)
{
	struct airlock_error why = {0};
	int rc = inbox_take_over(state_dir, WAIT_AT_START_MS, &why);
	if (rc < 0 && rc != AIRLOCK_ERR_BUSY)
		strs_addf(notes, "the history cannot be brought up to date: %s", why.message);
	return rc;
}

static void tell(const char *state_dir, const struct buf *news, struct strs *notes, struct airlock_error *err)
{
	struct airlock_error why = {0};
	int rc = inbox_put(state_dir, news, STORE_WAIT_MS, &why);
	if (rc == AIRLOCK_ERR_LIMIT && take_over(state_dir, notes) == 0) {
		why = (struct airlock_error){0};
		rc = inbox_put(state_dir, news, STORE_WAIT_MS, &why);
	}
	if (rc > 0)
		(void)take_over(state_dir, notes);
	else if (rc < 0)
		(void)base_pass(err, &why);
}

/* As much of it as can be had: the one must not be missing because the other cannot be written. */
static void record(struct airlock_run *run, const char *status, int exit_code, const char *detail)
{
	struct airlock_error err = {0}, auditing = {0};
	_cleanup_buf_ struct buf news = BUF_INIT;
	struct store_run row = row_of(run, status, exit_code, detail);
	if (run->supervise && !run->layers.enabled)
		row.changes_state = "direct";
	if (run->dir && (run->supervise || run->files_only) && write_file(run, detail, &err) == 0)
		row.detail = "";
	inbox_add_run(&news, &row);
	(void)audit_run(run, &row, &news, &auditing);
	tell(run->job->host.state_dir, &news, &run->layers.notes, &err);
	note(&run->layers.notes, &err);
	note(&run->layers.notes, &auditing);
	run->recorded = true;
}

void history_end(struct airlock_run *run)
{
	_cleanup_free_ char *detail = make_detail(run, NULL);
	if (detail && !run->recorded)
		record(run, status_of(run), airlock_run_exit_code(run), detail);
}

void history_files(struct airlock_run *run)
{
	_cleanup_free_ char *detail = make_detail(run, NULL);
	if (detail)
		record(run, "exited", 0, detail);
}

void history_refused(struct airlock_run *run, const struct airlock_error *why)
{
	struct airlock_error unknown = {.code = AIRLOCK_ERR_INTERNAL};
	if (!why || !why->code)
		why = &unknown;
	if (!run->job->plan || !run->job->project)
		return;
	if (!run->id[0] && run_id_make(run->id, sizeof run->id) < 0)
		return;
	_cleanup_free_ char *detail = make_detail(run, why);
	if (detail)
		record(run, "error", base_exit_status(why), detail);
}

void history_decided(const struct host *host, const struct change_set *set, const char *event, size_t count,
		     struct strs *notes)
{
	_cleanup_buf_ struct buf out = BUF_INIT, news = BUF_INIT;
	struct airlock_error err = {0}, auditing = {0};
	struct json j = json_begin(&out, false);
	json_open_object(&j, NULL);
	json_string(&j, "event", event);
	json_string(&j, "run", set->run);
	add_time(&j, "time", store_now());
	json_int(&j, "uid", (int64_t)getuid());
	json_int(&j, "count", (int64_t)count);
	json_string(&j, "changes", change_set_state_name(set));
	add_audit_files(&j, set);
	json_close(&j);
	inbox_add_changes(&news, set->run, change_set_state_name(set), (int64_t)set->n);
	(void)write_audit(host->state_dir, &out, &news, &auditing);
	tell(host->state_dir, &news, notes, &err);
	note(notes, &err);
	note(notes, &auditing);
}

/* The members that `show` promises, of a run that had no sandbox because it ran nothing. */
static char *made_detail(const struct store_run *row)
{
	struct buf out = BUF_INIT;
	struct json j = json_begin(&out, false);
	json_open_object(&j, NULL);
	json_path(&j, "command", row->command);
	json_path(&j, "project", row->project);
	add_time(&j, "started", row->started);
	json_string(&j, "asked_by", row->asked_by);
	json_string(&j, "run", row->id);
	json_string(&j, "status", row->status);
	json_int(&j, "exit_code", 0);
	json_null(&j, "signal");
	json_ms(&j, "duration_ms", (store_now() - row->started) / 1000);
	json_int(&j, "stdout_bytes", 0);
	json_int(&j, "stderr_bytes", 0);
	json_bool(&j, "truncated", false);
	json_path(&j, "working_dir", row->working_dir);
	json_null(&j, "isolation");
	json_null(&j, "usage");
	json_null(&j, "denials");
	json_null(&j, "error");
	json_null(&j, "policy");
	json_close(&j);
	return buf_take(&out);
}

void history_made(const struct host *host, const char *dir, const struct change_set *set, const char *project,
		  const char *command, const char *asked_by, struct strs *notes)
{
	struct airlock_error err = {0};
	struct store_run row = {.id = set->run,
				.project = project,
				.command = command,
				.asked_by = asked_by,
				.working_dir = host->cwd,
				.started = store_now(),
				.status = "exited",
				.changes_state = change_set_state_name(set),
				.changes_count = (int64_t)set->n,
				.detail = ""};
	_cleanup_buf_ struct buf news = BUF_INIT;
	_cleanup_free_ char *detail = made_detail(&row), *file = path_join(dir, HISTORY_FILE);
	if (detail && file)
		(void)fs_create_private_file(file, detail, strlen(detail), &err);
	inbox_add_run(&news, &row);
	tell(host->state_dir, &news, notes, &err);
	note(notes, &err);
	history_decided(host, set, "restore", set->n, notes);
}
