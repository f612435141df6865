/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A finished run as values, as a JSON object, and as text for a model. */
#include "run/result.h"

#include "base/json.h"
#include "base/text.h"
#include "change/values.h"
#include "run/copies.h"
#include "run/denials.h"

#include <assert.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define CHANGES_TEXT_MAX 100 /* lines */

static const char *const status_names[] = {[AIRLOCK_EXITED] = "exited",
					   [AIRLOCK_SIGNALED] = "signaled",
					   [AIRLOCK_TIMED_OUT] = "timeout",
					   [AIRLOCK_FAILED] = "error",
					   [AIRLOCK_RUNNING] = "running"};

const char *airlock_status_name(enum airlock_status status)
{
	return status_names[status];
}

const char *airlock_grade_name(enum airlock_grade grade)
{
	static const char *const names[] = {[AIRLOCK_GRADE_NONE] = "none",
					    [AIRLOCK_GRADE_PARTIAL] = "partial",
					    [AIRLOCK_GRADE_ENFORCED] = "enforced"};
	return names[grade];
}

const char *airlock_network_name(enum airlock_network network)
{
	static const char *const names[] = {[AIRLOCK_NETWORK_NONE] = "none",
					    [AIRLOCK_NETWORK_BLOCKED] = "blocked",
					    [AIRLOCK_NETWORK_ALLOWED] = "allowed",
					    [AIRLOCK_NETWORK_FILTERED] = "filtered",
					    [AIRLOCK_NETWORK_HOST] = "host"};
	return names[network];
}

const char *airlock_capture_name(enum airlock_capture capture)
{
	static const char *const names[] = {[AIRLOCK_CAPTURE_NONE] = "none",
					    [AIRLOCK_CAPTURE_OVERLAY] = "overlay",
					    [AIRLOCK_CAPTURE_COPY] = "copy"};
	return names[capture];
}

const char *airlock_limit_name(enum airlock_limit limit)
{
	static const char *const names[] = {
		[AIRLOCK_LIMIT_NONE] = NULL,   [AIRLOCK_LIMIT_TIMEOUT] = "timeout", [AIRLOCK_LIMIT_MEMORY] = "memory",
		[AIRLOCK_LIMIT_PIDS] = "pids", [AIRLOCK_LIMIT_FILE_SIZE] = "fsize", [AIRLOCK_LIMIT_DISK] = "disk",
		[AIRLOCK_LIMIT_TMP] = "tmp"};
	return names[limit];
}

/* ── The values ── */

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

/* A program that ignores SIGXFSZ gets EFBIG and fails. The kernel reports neither; a failed command beside a file of
 * exactly the largest size is taken for it. */
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

static struct airlock_isolation find_isolation(const struct airlock_job *job, const struct supervise_result *r)
{
	struct backend_isolation iso = job->backend->isolation(&job->ctx, job->plan);
	assert(!job->backend->unsandboxed || iso.filesystem == AIRLOCK_GRADE_NONE); /* I9 */
	/* With capture by copy the command works on the project itself, so other programs' changes cannot be told
	 * from its own: isolation is partial (I9). */
	bool weaker = iso.filesystem == AIRLOCK_GRADE_ENFORCED && (copies_wanted(job) || run_exposed(job, r));
	return (struct airlock_isolation){
		.backend = job->backend->name,
		.profile = job->plan->profile,
		.filesystem = weaker ? AIRLOCK_GRADE_PARTIAL : iso.filesystem,
		.network = !iso.network_isolated       ? AIRLOCK_NETWORK_NONE
			   : !iso.network_blocked      ? AIRLOCK_NETWORK_HOST
			   : !network_has_gate(job)    ? AIRLOCK_NETWORK_BLOCKED
			   : job->net.mode == NET_OPEN ? AIRLOCK_NETWORK_ALLOWED
						       : AIRLOCK_NETWORK_FILTERED,
		.processes = iso.processes,
		.syscalls = iso.syscalls,
		.limits = job->backend->unsandboxed ? AIRLOCK_GRADE_NONE : r->limits,
		.capture = layers_capture(job),
		.capture_because = job->capture_because,
		.is_sandboxed = !job->backend->unsandboxed,
	};
}

void result_settle(struct airlock_run *run)
{
	const struct supervise_result *r = supervise_result(run->supervise);
	run->isolation = find_isolation(run->job, r);
	for (size_t i = 0; i < r->n_full; i++)
		run->full[i] = r->full[i]->target;
	run->usage = (struct airlock_usage){
		.duration_us = r->duration_us,
		.cpu_us = r->cpu_us,
		.max_rss_kb = r->max_rss_kb,
		.limit_hit = !r->limit_hit && has_filled_file(run, r) ? AIRLOCK_LIMIT_FILE_SIZE : r->limit_hit,
		.full = run->full,
		.warm_start = r->prestart == BACKEND_PRESTART_WHOLE,
		.head_start = r->prestart == BACKEND_PRESTART_BARE,
	};
	run->output = (struct airlock_output){.stdout_bytes = r->out->total,
					      .stderr_bytes = r->err->total,
					      .is_stdout_cut = capture_is_cut(r->out),
					      .is_stderr_cut = capture_is_cut(r->err)};
}

const struct airlock_isolation *airlock_run_isolation(const struct airlock_run *run)
{
	return &run->isolation;
}

const struct airlock_usage *airlock_run_usage(const struct airlock_run *run)
{
	return &run->usage;
}

const struct airlock_output *airlock_run_output(const struct airlock_run *run)
{
	return &run->output;
}

struct result result_of_run(const struct airlock_run *run)
{
	const struct supervise_result *r = supervise_result(run->supervise);
	return (struct result){
		.run = run->id,
		.of = run,
		.status = r->status,
		.exit_code = airlock_run_exit_code(run),
		.signal = r->signal,
		.duration_us = r->duration_us,
		.out = r->out,
		.err = r->err,
		.working_dir = run->job->plan->cwd,
		.session = run->job->work.name,
		.step = run->job->work.step,
		.background = run->job->work.background,
		.isolation = &run->isolation,
		.usage = &run->usage,
		.denials = denials_known(run) ? &run->denials : NULL,
		.denials_note = run->denials_note,
		.notes = &run->layers.notes,
		.error = airlock_run_error(run),
	};
}

/* ── As JSON ── */

static void add_isolation(struct json *j, const struct airlock_isolation *i)
{
	if (!i) {
		json_null(j, "isolation");
		return;
	}
	json_open_object(j, "isolation");
	json_string(j, "backend", i->backend);
	json_string(j, "profile", i->profile);
	json_string(j, "filesystem", airlock_grade_name(i->filesystem));
	json_string(j, "network", airlock_network_name(i->network));
	json_string(j, "processes", airlock_grade_name(i->processes));
	json_string(j, "syscalls", airlock_grade_name(i->syscalls));
	json_string(j, "limits", airlock_grade_name(i->limits));
	json_string(j, "capture", airlock_capture_name(i->capture));
	if (i->capture_because)
		json_string(j, "capture_because", i->capture_because);
	json_close(j);
}

static void add_usage(struct json *j, const struct airlock_usage *u)
{
	if (!u) {
		json_null(j, "usage");
		return;
	}
	json_open_object(j, "usage");
	json_ms(j, "cpu_ms", u->cpu_us);
	json_int(j, "max_rss_kb", u->max_rss_kb);
	json_string(j, "limit_hit", airlock_limit_name(u->limit_hit));
	json_open_array(j, "full");
	for (const char *const *path = u->full; *path; path++)
		json_string(j, NULL, *path);
	json_close(j);
	json_bool(j, "warm_start", u->warm_start);
	json_bool(j, "head_start", u->head_start);
	json_close(j);
}

static void add_output(struct json *j, const char *key, const struct capture *c)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	if (c)
		capture_text(c, &text);
	json_stringn(j, key, buf_str(&text), text.len);
}

static void add_members(const struct result *r, bool with_output, struct json *j)
{
	json_string(j, "run", r->run);
	json_string(j, "status", airlock_status_name(r->status));
	json_int(j, "exit_code", r->exit_code);
	if (r->signal)
		json_int(j, "signal", r->signal);
	else
		json_null(j, "signal");
	json_ms(j, "duration_ms", r->duration_us);
	if (with_output) {
		add_output(j, "stdout", r->out);
		add_output(j, "stderr", r->err);
	}
	json_int(j, "stdout_bytes", r->out ? (int64_t)r->out->total : 0);
	json_int(j, "stderr_bytes", r->err ? (int64_t)r->err->total : 0);
	json_bool(j, "truncated", r->out && (capture_is_cut(r->out) || capture_is_cut(r->err)));
	if (r->working_dir)
		json_path(j, "working_dir", r->working_dir);
	else
		json_null(j, "working_dir");
	json_string(j, "session", r->session);
	if (r->session) {
		if (r->step)
			json_int(j, "step", (int64_t)r->step);
		else
			json_null(j, "step");
		json_int(j, "background", (int64_t)r->background);
	}
	add_isolation(j, r->isolation);
	add_usage(j, r->usage);
	if (r->of)
		network_print_json(r->of, j);
	else
		json_null(j, "network");
	if (r->denials) /* empty: nothing was refused; null: not looked at */
		denials_print_json(r->denials, r->reader, j, "denials");
	else
		json_null(j, "denials");
	if (r->denials_note)
		json_string(j, "denials_note", r->denials_note);
	const struct notes none = NOTES_INIT, *notes = r->notes ? r->notes : &none;
	notes_add_json(j, "notes", notes);
	json_open_array(j, "note_codes");
	for (size_t i = 0; i < notes->n; i++)
		json_string(j, NULL, airlock_note_name(notes->v[i].code));
	json_close(j);
	json_error(j, "error", r->error);
}

void result_add_json(const struct result *r, struct json *j)
{
	add_members(r, false, j);
}

static char *whole_json(const struct result *r, enum airlock_changes_state state, const struct change_set *set)
{
	struct buf out = BUF_INIT;
	struct json j = json_begin(&out, true);
	json_open_object(&j, NULL);
	add_members(r, true, &j);
	json_open_object(&j, "changes");
	change_values_add_json(set, state, &j);
	json_close(&j);
	json_close(&j);
	buf_addc(&out, '\n');
	return buf_take(&out);
}

const char *airlock_run_result_json(struct airlock_run *run)
{
	struct result r = result_of_run(run);
	/* The record, which `airlock show` prints, always has the hints. */
	r.reader = run->job->origin.kind == ORIGIN_AGENT ? DENIAL_FOR_AGENT : DENIAL_FOR_PERSON;
	free(run->json);
	run->json = whole_json(&r, layers_state(&run->layers), run->layers.set);
	return run->json ? run->json : "";
}

char *airlock_failure_json(const struct airlock_error *err)
{
	struct result r = {.status = AIRLOCK_FAILED, .exit_code = base_exit_status(err), .error = err};
	return whole_json(&r, AIRLOCK_CHANGES_NONE, NULL);
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

/* ── For a model ── */

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

/* A build may change thousands of files; a model needs to know that, not their names. */
static void add_changes_text(struct buf *out, const struct change_set *set)
{
	_cleanup_buf_ struct buf lines = BUF_INIT;
	change_set_text(set, NULL, &lines);
	const char *at = buf_str(&lines);
	for (size_t n = 0; n < CHANGES_TEXT_MAX && *at; n++)
		at += strcspn(at, "\n") + 1;
	buf_add(out, buf_str(&lines), (size_t)(at - buf_str(&lines)));
	if (*at)
		buf_printf(out, "… and %zu more\n", set->n - CHANGES_TEXT_MAX);
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
		add_changes_text(&out, run->layers.set);
	}
	run->text = buf_take(&out);
	return run->text ? run->text : "";
}
