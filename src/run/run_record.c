/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/run_record.h"

#include "base/json.h"
#include "base/path.h"
#include "fs/fs.h"
#include "history/history.h"
#include "history/run_id.h"
#include "history/spare.h"
#include "run/result.h"
#include "store/inbox.h"

#include <string.h>

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
		rule_origin_add_json(j, "source", &c->values[i].origin);
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
			json_string(j, NULL, airlock_question_reason_name(q->reasons[i]));
		json_close(j);
		json_string(j, "answer", refused ? "deny" : job->yes ? "yes" : airlock_answer_name(job->answer));
		if (refused) /* the agent was not told this; the person finds it here */
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
	json_time(j, "started", run->started_ns);
	json_string(j, "asked_by", job->origin.who);
	json_int(j, "uid", (int64_t)getuid());
}

/* For a run without a process (it could not start, or the file API made the change): no output and no isolation. */
static struct result without_process(const char *run, const char *working_dir, int64_t started_ns,
				     const struct airlock_error *why)
{
	return (struct result){.run = run,
			       .status = why ? AIRLOCK_FAILED : AIRLOCK_EXITED,
			       .exit_code = why ? base_exit_status(why) : 0,
			       .duration_us = why ? 0 : (store_now() - started_ns) / 1000,
			       .working_dir = working_dir,
			       .error = why};
}

/* why: of a run that could not start, else NULL. Members of an object, without its braces. */
static char *make_detail(const struct airlock_run *run, const struct airlock_error *why)
{
	struct buf out = BUF_INIT;
	struct json j = json_begin(&out, false);
	json_open_object(&j, NULL);
	add_request(&j, run);
	struct result r = why || run->files_only ? without_process(run->id, run->job->plan->cwd, run->started_ns, why)
						 : result_of_run(run);
	result_add_json(&r, &j);
	add_policy(&j, run->job);
	add_questions(&j, run->job, why && why->code == AIRLOCK_ERR_DENIED);
	json_close(&j);
	if (!out.failed && out.len > 2) {
		memmove(out.data, out.data + 1, out.len - 1);
		out.data[out.len - 2] = '\0';
	}
	return buf_take(&out);
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

static int audit_run(const struct airlock_run *run, const struct store_run *row, struct buf *news,
		     struct airlock_error *err)
{
	_cleanup_buf_ struct buf out = BUF_INIT;
	struct json j = json_begin(&out, false);
	json_open_object(&j, NULL);
	json_string(&j, "event", "run");
	json_string(&j, "run", run->id);
	json_time(&j, "time", store_now());
	add_request(&j, run);
	json_path(&j, "working_dir", row->working_dir);
	if (run->job->work.name)
		json_string(&j, "session", run->job->work.name);
	if (run->job->work.step)
		json_int(&j, "step", (int64_t)run->job->work.step);
	json_string(&j, "backend", run->job->backend->name);
	json_string(&j, "profile", run->job->plan->profile);
	add_questions(&j, run->job, !run->supervise);
	if (run->gate)
		network_print_json(run, &j);
	json_string(&j, "status", row->status);
	json_int(&j, "exit_code", row->exit_code);
	json_string(&j, "changes", row->changes_state);
	history_add_audit_files(&j, run->layers.set);
	json_close(&j);
	return history_write_audit(run->job->host.state_dir, &out, news, err);
}

/* ── While it runs, and after ── */

void run_record_begin(struct airlock_run *run)
{
	_cleanup_buf_ struct buf news = BUF_INIT;
	struct store_run row = row_of(run, "running", -1, "");
	row.changes_state = "none";
	row.changes_count = 0;
	spare_keep(run->job->host.state_dir);
	inbox_add_run(&news, &row);
	(void)inbox_put(run->job->host.state_dir, &news, HISTORY_WAIT_AT_START_MS,
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

/* Write as much as possible: a failure of one part must not lose the other. */
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
	history_put(run->job->host.state_dir, &news, &run->layers.notes, &err);
	history_note(&run->layers.notes, &err);
	history_note(&run->layers.notes, &auditing);
	run->recorded = true;
}

void run_record_end(struct airlock_run *run)
{
	_cleanup_free_ char *detail = make_detail(run, NULL);
	if (detail && !run->recorded)
		record(run, airlock_status_name(airlock_run_status(run)), airlock_run_exit_code(run), detail);
}

void run_record_files(struct airlock_run *run)
{
	_cleanup_free_ char *detail = make_detail(run, NULL);
	if (detail)
		record(run, "exited", 0, detail);
}

void run_record_refused(struct airlock_run *run, const struct airlock_error *why)
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

/* The members that `show` promises, of a run that had no sandbox because it ran nothing. */
static char *made_detail(const struct store_run *row)
{
	struct buf out = BUF_INIT;
	struct json j = json_begin(&out, false);
	struct result r = without_process(row->id, row->working_dir, row->started, NULL);
	json_open_object(&j, NULL);
	json_path(&j, "command", row->command);
	json_path(&j, "project", row->project);
	json_time(&j, "started", row->started);
	json_string(&j, "asked_by", row->asked_by);
	result_add_json(&r, &j);
	json_null(&j, "policy");
	json_close(&j);
	return buf_take(&out);
}

void run_record_made(const struct host *host, const char *dir, const struct change_set *set, const char *project,
		     const char *command, const char *asked_by, struct notes *notes)
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
	history_put(host->state_dir, &news, notes, &err);
	history_note(notes, &err);
	history_decided(host, set, "restore", set->n, notes);
}
