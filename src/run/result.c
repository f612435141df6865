/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A finished run as a JSON object, and as text for a model. */
#include "run/run.h"

#include "base/json.h"
#include "base/text.h"
#include "change/values.h"
#include "run/copies.h"
#include "run/denials.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static const char *status_name(enum supervise_status status)
{
	static const char *const names[] = {[SUPERVISE_EXITED] = "exited",
					    [SUPERVISE_SIGNALED] = "signaled",
					    [SUPERVISE_TIMED_OUT] = "timeout",
					    [SUPERVISE_FAILED] = "error"};
	return names[status];
}

static const char *grade_name(enum backend_grade grade)
{
	static const char *const names[] = {"none", "partial", "enforced"};
	return names[grade];
}

/* Where a file system is mounted in a directory that this user may enter but not list, there is neither screen nor rebuilding. */
const char *run_exposed(const struct airlock_job *job, const struct supervise_result *r)
{
	if (r->exposed || job->backend->unsandboxed)
		return r->exposed;
	for (size_t i = 0; i < job->plan->exposed.n; i++)
		if (faccessat(AT_FDCWD, job->plan->exposed.v[i], X_OK, AT_EACCESS) == 0)
			return job->plan->exposed.v[i];
	return NULL;
}

static void add_isolation(struct json *j, const struct airlock_job *job, const struct supervise_result *r)
{
	struct backend_isolation iso = job->backend->isolation(&job->ctx, job->plan);
	json_open_object(j, "isolation");
	json_string(j, "backend", job->backend->name);
	json_string(j, "profile", job->plan->profile);
	/* Captured by copy, the command works on the project itself, and others' changes cannot be told from its own. */
	bool weaker = iso.filesystem == BACKEND_ENFORCED && (copies_wanted(job) || run_exposed(job, r));
	json_string(j, "filesystem", grade_name(weaker ? BACKEND_PARTIAL : iso.filesystem));
	json_string(j, "network", !iso.network_isolated ? "none" : iso.network_blocked ? "blocked" : "allowed");
	json_string(j, "processes", grade_name(iso.processes));
	json_string(j, "syscalls", grade_name(iso.syscalls));
	json_string(j, "limits", grade_name(job->backend->unsandboxed ? BACKEND_NONE : r->limits));
	json_string(j, "capture", layers_capture_name(job));
	if (job->capture_because)
		json_string(j, "capture_because", job->capture_because);
	json_close(j);
}

static void add_output(struct json *j, const char *key, const struct capture *c)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	capture_text(c, &text);
	json_stringn(j, key, buf_str(&text), text.len);
}

static void add_changes(struct json *j, enum airlock_changes_state state, const struct change_set *set)
{
	json_open_object(j, "changes");
	change_values_add_json(set, state, j);
	json_close(j);
}

/* A program that does not die of the signal is told "File too large" and fails. The kernel counts neither, but a failure
 * beside a file that is as large as it may be is one. */
static bool has_filled_file(const struct airlock_run *run, const struct supervise_result *r)
{
	int64_t limit = run->job->plan->file_size.value;
	const struct change_set *set = run->layers.set;
	if (limit == TEXT_NONE || r->exit_code == 0 || !set)
		return false;
	for (size_t i = 0; i < set->n; i++)
		if (set->v[i].after.type == CHANGE_FILE && set->v[i].after.size == (uint64_t)limit)
			return true;
	return false;
}

static void add_usage(const struct airlock_run *run, struct json *j, const struct supervise_result *r)
{
	const char *hit = r->limit_hit ? r->limit_hit : has_filled_file(run, r) ? "fsize" : NULL;
	json_open_object(j, "usage");
	json_ms(j, "cpu_ms", r->cpu_us);
	json_int(j, "max_rss_kb", r->max_rss_kb);
	json_string(j, "limit_hit", hit);
	json_open_array(j, "full");
	for (size_t i = 0; i < r->n_full; i++)
		json_string(j, NULL, r->full[i]->target);
	json_close(j);
	json_bool(j, "warm_start", r->was_warm);
	json_bool(j, "head_start", r->was_prepared && !r->was_warm);
	json_close(j);
}

/* How it ended. */
static void add_ending(const struct airlock_run *run, struct json *j)
{
	const struct supervise_result *r = supervise_result(run->supervise);
	json_string(j, "run", run->id);
	json_string(j, "status", status_name(r->status));
	json_int(j, "exit_code", airlock_run_exit_code(run));
	if (r->signal)
		json_int(j, "signal", r->signal);
	else
		json_null(j, "signal");
	json_ms(j, "duration_ms", r->duration_us);
}

/* What a person is told in sentences: hard links that were split, paths nobody could look at, that it was no sandbox. */
static void add_notes(const struct airlock_run *run, struct json *j)
{
	json_open_array(j, "notes");
	for (size_t i = 0; i < run->layers.notes.n; i++)
		json_string(j, NULL, run->layers.notes.v[i]);
	json_close(j);
}

/* What is to be said about it beside its output and changes. */
static void add_facts(const struct airlock_run *run, enum denial_reader reader, struct json *j)
{
	const struct supervise_result *r = supervise_result(run->supervise);
	json_int(j, "stdout_bytes", (int64_t)r->out->total);
	json_int(j, "stderr_bytes", (int64_t)r->err->total);
	json_bool(j, "truncated", capture_is_cut(r->out) || capture_is_cut(r->err));
	json_path(j, "working_dir", run->job->plan->cwd);
	add_isolation(j, run->job, r);
	add_usage(run, j, r);
	denials_add_json(run, reader, j);
	add_notes(run, j);
	json_error(j, "error", airlock_run_error(run));
}

void result_add_summary(const struct airlock_run *run, struct json *j)
{
	add_ending(run, j);
	add_facts(run, DENIAL_FOR_PERSON, j);
}

static void write_result(const struct airlock_run *run, struct json *j)
{
	const struct supervise_result *r = supervise_result(run->supervise);
	json_open_object(j, NULL);
	add_ending(run, j);
	add_output(j, "stdout", r->out);
	add_output(j, "stderr", r->err);
	/* The record, which `airlock show` prints, always has the hints. */
	add_facts(run, run->job->origin.kind == ORIGIN_AGENT ? DENIAL_FOR_AGENT : DENIAL_FOR_PERSON, j);
	add_changes(j, layers_state(&run->layers), run->layers.set);
	json_close(j);
}

const char *airlock_run_result_json(struct airlock_run *run)
{
	struct buf out = BUF_INIT;
	struct json j = json_begin(&out, true);
	free(run->json);
	write_result(run, &j);
	buf_addc(&out, '\n');
	run->json = buf_take(&out);
	return run->json ? run->json : "";
}

static void add_stream_text(struct buf *out, const struct capture *c)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	capture_text(c, &text);
	for (size_t i = 0; i < text.len; i++)
		if (text.data[i] == '\0') /* would end the text, whoever reads it: shown like what is not UTF-8 */
			text.data[i] = '\xff';
	text_add_utf8(out, buf_str(&text), text.len);
	if (out->len > 0 && out->data[out->len - 1] != '\n')
		buf_addc(out, '\n');
}

const char *airlock_run_result_text(struct airlock_run *run)
{
	const struct supervise_result *r = supervise_result(run->supervise);
	struct buf out = BUF_INIT;
	free(run->text);
	if (run->job->backend->unsandboxed)
		buf_adds(&out, "NOT IN SANDBOX\n");
	size_t before = out.len;
	add_stream_text(&out, r->out);
	add_stream_text(&out, r->err);
	if (out.len == before)
		buf_adds(&out, "No output received from command\n");
	if (airlock_run_exit_code(run) != 0)
		buf_printf(&out, "Exit code: %d\n", airlock_run_exit_code(run));
	if (run->layers.set && run->layers.set->n > 0) {
		buf_adds(&out, "Changes:\n");
		change_set_text(run->layers.set, &out);
	}
	denials_add_text(run, &out);
	run->text = buf_take(&out);
	return run->text ? run->text : "";
}

char *airlock_failure_json(const struct airlock_error *err)
{
	struct buf out = BUF_INIT;
	struct json j = json_begin(&out, true);
	json_open_object(&j, NULL);
	json_null(&j, "run");
	json_string(&j, "status", "error");
	json_int(&j, "exit_code", base_exit_status(err));
	json_null(&j, "signal");
	json_ms(&j, "duration_ms", 0);
	json_string(&j, "stdout", "");
	json_string(&j, "stderr", "");
	json_int(&j, "stdout_bytes", 0);
	json_int(&j, "stderr_bytes", 0);
	json_bool(&j, "truncated", false);
	json_null(&j, "working_dir");
	json_null(&j, "isolation");
	json_null(&j, "usage");
	json_null(&j, "denials");
	json_open_array(&j, "notes");
	json_close(&j);
	add_changes(&j, AIRLOCK_CHANGES_NONE, NULL);
	json_error(&j, "error", err);
	json_close(&j);
	buf_addc(&out, '\n');
	return buf_take(&out);
}

char *airlock_error_json(const struct airlock_error *err)
{
	struct buf out = BUF_INIT;
	struct json j = json_begin(&out, true);
	json_open_object(&j, NULL);
	json_error(&j, "error", err);
	json_close(&j);
	buf_addc(&out, '\n');
	return buf_take(&out);
}
