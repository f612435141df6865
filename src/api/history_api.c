/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `airlock log`, `show`, `output`. */
#include "airlock/history.h"

#include "api/list.h"
#include "base/json.h"
#include "base/path.h"
#include "change/values.h"
#include "fs/io.h"
#include "history/history.h"
#include "history/history_read.h"
#include "project/project.h"
#include "session/decided.h"
#include "session/session.h"
#include "store/audit.h"
#include "supervise/output_capture.h"

#include <fcntl.h>
#include <string.h>

/* The output that `show` has is cut as in the result of the run. */
#define SHOWN_OUTPUT (100 * 1024)

/* Without a database the directories are the history. A database that exists but cannot be used is an error. */
static int open_store(const struct past_run *e, struct store **ret, struct airlock_error *err)
{
	struct airlock_error why = {0};
	int rc = store_open_history(e->host.state_dir, STORE_WAIT_MS, ret, &why);
	if (rc == 0 || rc == AIRLOCK_ERR_NOT_FOUND)
		return 0;
	return base_pass(err, &why);
}

/* The value of this name; the first for any other word. */
/* NOLINTBEGIN(bugprone-macro-parentheses): type and function are declared */
#define READ_WORD(function, type, name_of, last)                                                                       \
	static enum type function(const char *word)                                                                    \
	{                                                                                                              \
		for (enum type v = last; word && v > 0; v--)                                                           \
			if (strcmp(word, name_of(v)) == 0)                                                             \
				return v;                                                                              \
		return (enum type)0;                                                                                   \
	}
/* NOLINTEND(bugprone-macro-parentheses) */
READ_WORD(read_status, airlock_status, airlock_status_name, AIRLOCK_RUNNING)
READ_WORD(read_state, airlock_changes_state, airlock_changes_state_name, AIRLOCK_CHANGES_DIRECT)

/* Borrows from the row. */
static struct airlock_past_run run_of(const struct store_run *row)
{
	return (struct airlock_past_run){.id = row->id,
					 .command = row->command,
					 .project = row->project,
					 .working_dir = row->working_dir,
					 .asked_by = row->asked_by,
					 .started_ns = row->started,
					 .status = read_status(row->status),
					 .exit_code = (int)row->exit_code,
					 .changes_state = read_state(row->changes_state),
					 .change_count = (size_t)row->changes_count,
					 .session = row->session,
					 .step = (uint64_t)row->step};
}

/* ── log ── */

struct airlock_log {
	struct airlock_past_run *v;
	size_t n;
	struct store_runs rows; /* behind v */
	bool is_of_all;
	char *json;
};

API_LIST(log, airlock_past_run)

void airlock_log_free(struct airlock_log *l)
{
	if (!l)
		return;
	store_runs_done(&l->rows);
	free(l->v);
	free(l->json);
	free(l);
}

int airlock_log_is_of_all(const struct airlock_log *l)
{
	return l->is_of_all;
}

static int find_project(const struct airlock_settings *s, const struct host *host, char **ret,
			struct airlock_error *err)
{
	struct settings_view view;
	int rc = settings_view(s, &view, err);
	if (rc < 0)
		return rc;
	const char *wanted = settings_get(&view, "project");
	struct airlock_error gone = {0};
	if (wanted)
		rc = project_detect(wanted, host->cwd, host->home, ret, &gone);
	if (rc == AIRLOCK_ERR_NOT_FOUND) { /* a deleted project still has a history */
		*ret = path_normalize(host->cwd, wanted);
		rc = *ret ? 0 : base_oom(err);
	} else if (rc < 0 && err)
		*err = gone;
	settings_view_done(&view);
	return rc;
}

/* Leaves *ret_project NULL for "all projects". A caller outside of any project gets an empty list. */
static int log_project(const struct airlock_settings *s, const struct past_run *e, enum airlock_log_scope scope,
		       char **ret_project, struct airlock_error *err)
{
	if (scope == AIRLOCK_LOG_NAMED)
		return find_project(s, &e->host, ret_project, err);
	(void)past_run_project(e, ret_project, NULL);
	return 0;
}

/* Some of what was decided waits again, or still: a part was left out, or an apply undone. */
static bool has_rest(const struct session *s)
{
	for (size_t i = 0; i < s->n_layers; i++)
		if (s->layers[i].of)
			return true;
	return false;
}

/* A step is decided about with its session, which knows more than the record of the run. */
static void ask_session(const struct session *s, struct airlock_past_run *r)
{
	bool is_there = false;
	for (size_t i = 0; i < s->n_steps; i++) {
		if (strcmp(s->steps[i].run, r->id) != 0)
			continue;
		is_there = true;
		r->step = s->steps[i].number; /* the record of one that was cut short does not say */
		if (s->steps[i].state == SESSION_STEP_DISCARDED)
			r->changes_state = AIRLOCK_CHANGES_DISCARDED;
		else if (s->steps[i].state == SESSION_STEP_DECIDED && s->holds)
			r->changes_state = has_rest(s)	      ? AIRLOCK_CHANGES_PARTIAL
					   : s->applies.n > 0 ? AIRLOCK_CHANGES_APPLIED
							      : AIRLOCK_CHANGES_DISCARDED;
	}
	if (!is_there && r->step && s->holds)
		r->changes_state = AIRLOCK_CHANGES_DISCARDED; /* taken back */
}

/* Runs of one session mostly follow each other: the last one that was read is kept. */
static void ask_sessions(struct airlock_log *l, const struct host *host)
{
	_cleanup_session_ struct session s = SESSION_INIT;
	for (size_t i = 0; i < l->n; i++) {
		struct airlock_past_run *r = &l->v[i];
		if (!r->session || r->changes_state != AIRLOCK_CHANGES_HELD)
			continue;
		if (!s.name || strcmp(s.name, r->session) != 0 || strcmp(s.project, r->project) != 0) {
			session_done(&s);
			const struct session_place at = {host, r->project};
			if (session_open(&s, &at, r->session, SESSION_LOOK, NULL) < 0) {
				session_done(&s);
				continue;
			}
		}
		ask_session(&s, r);
	}
}

static int fill(struct airlock_log *l, const struct host *host, struct airlock_error *err)
{
	l->v = calloc(l->rows.n + 1, sizeof *l->v);
	if (!l->v)
		return base_oom(err);
	for (; l->n < l->rows.n; l->n++)
		l->v[l->n] = run_of(&l->rows.v[l->n]);
	ask_sessions(l, host);
	return 0;
}

static int list_runs(struct airlock_log *l, const struct airlock_settings *s, enum airlock_log_scope scope,
		     int64_t limit, struct airlock_error *err)
{
	struct past_run e;
	_cleanup_free_ char *project = NULL;
	_cleanup_store_ struct store *store = NULL;
	int rc = decided_init(&e, s, err);
	rc = rc < 0 ? rc : log_project(s, &e, scope, &project, err);
	rc = rc < 0 ? rc : open_store(&e, &store, err);
	rc = rc < 0 ? rc : history_list(&e, store, project, limit, &l->rows, err);
	bool has_none = rc == 0 && scope == AIRLOCK_LOG_HERE && project && l->rows.n == 0 && limit != 0;
	if (has_none)
		rc = history_list(&e, store, NULL, limit, &l->rows, err);
	l->is_of_all = has_none || !project;
	if (rc == 0)
		rc = fill(l, &e.host, err);
	past_run_done(&e);
	return rc;
}

int airlock_log_open(const struct airlock_settings *s, enum airlock_log_scope scope, int64_t limit,
		     struct airlock_log **ret, struct airlock_error *err)
{
	struct airlock_log *l = calloc(1, sizeof *l);
	int rc = l ? list_runs(l, s, scope, limit, err) : base_oom(err);
	if (rc < 0) {
		airlock_log_free(l);
		return rc;
	}
	*ret = l;
	return 0;
}

const char *airlock_log_json(struct airlock_log *l)
{
	struct buf out = BUF_INIT;
	struct json j = json_begin(&out, true);
	json_open_object(&j, NULL);
	json_open_array(&j, "runs");
	for (size_t i = 0; i < l->n; i++) {
		const struct airlock_past_run *r = &l->v[i];
		json_open_object(&j, NULL);
		json_string(&j, "run", r->id);
		json_path(&j, "command", r->command);
		json_path(&j, "project", r->project);
		json_time(&j, "started", r->started_ns);
		json_string(&j, "status", airlock_status_name(r->status));
		if (r->exit_code >= 0)
			json_int(&j, "exit_code", r->exit_code);
		else
			json_null(&j, "exit_code");
		json_open_object(&j, "changes");
		json_string(&j, "state", airlock_changes_state_name(r->changes_state));
		json_int(&j, "count", (int64_t)r->change_count);
		json_close(&j);
		json_string(&j, "asked_by", r->asked_by);
		json_string(&j, "session", r->session);
		if (r->step)
			json_int(&j, "step", (int64_t)r->step);
		else
			json_null(&j, "step");
		json_close(&j);
	}
	json_close(&j);
	json_close(&j);
	return api_json(&out, &l->json);
}

/* ── The audit file ── */

struct airlock_audit {
	struct audit_report report;
	char *json;
};

int airlock_audit_verify(const struct airlock_settings *s, struct airlock_audit **ret, struct airlock_error *err)
{
	struct past_run e;
	_cleanup_store_ struct store *store = NULL;
	struct airlock_audit *a = calloc(1, sizeof *a);
	if (!a)
		return base_oom(err);
	int rc = decided_init(&e, s, err);
	rc = rc < 0 ? rc : open_store(&e, &store, err);
	rc = rc < 0 ? rc : audit_verify(e.host.state_dir, store, &a->report, err);
	past_run_done(&e);
	if (rc == 0)
		*ret = a;
	else
		airlock_audit_free(a);
	return rc;
}

void airlock_audit_free(struct airlock_audit *a)
{
	if (!a)
		return;
	audit_report_done(&a->report);
	free(a->json);
	free(a);
}

uint64_t airlock_audit_lines(const struct airlock_audit *a)
{
	return a->report.lines;
}

size_t airlock_audit_count(const struct airlock_audit *a)
{
	return a->report.n;
}

const struct airlock_audit_fault *airlock_audit_at(const struct airlock_audit *a, size_t i)
{
	return i < a->report.n ? &a->report.v[i] : NULL;
}

const char *airlock_audit_json(struct airlock_audit *a)
{
	static const char *const kinds[] = {[AIRLOCK_AUDIT_NOT_WHOLE] = "not_whole",
					    [AIRLOCK_AUDIT_OUT_OF_PLACE] = "out_of_place",
					    [AIRLOCK_AUDIT_CHANGED] = "changed",
					    [AIRLOCK_AUDIT_BEGINNING] = "beginning",
					    [AIRLOCK_AUDIT_MISSING] = "missing"};
	struct buf out = BUF_INIT;
	struct json j = json_begin(&out, true);
	json_open_object(&j, NULL);
	json_bool(&j, "ok", a->report.n == 0);
	json_int(&j, "lines", (int64_t)a->report.lines);
	json_open_array(&j, "faults");
	for (size_t i = 0; i < a->report.n; i++) {
		json_open_object(&j, NULL);
		json_string(&j, "file", a->report.v[i].file);
		json_int(&j, "line", a->report.v[i].line);
		json_string(&j, "kind", kinds[a->report.v[i].kind]);
		json_close(&j);
	}
	json_close(&j);
	json_close(&j);
	return api_json(&out, &a->json);
}

/* ── Finding a run, also one that has no directory ── */

static int find(struct past_run *e, struct store *store, const char *name, char **ret, struct airlock_error *err)
{
	_cleanup_strs_ struct strs ids = STRS_INIT;
	struct airlock_error why = {0};
	int rc = past_run_find(e, name, ret, &why);
	if (rc == AIRLOCK_ERR_NOT_FOUND && store && *name && strcmp(name, "last") != 0) {
		rc = store_run_find(store, name, &ids, err);
		if (rc == 0 && ids.n == 1) {
			*ret = strdup(ids.v[0]);
			return *ret ? 0 : base_oom(err);
		}
		rc = rc < 0 ? rc : why.code;
	}
	if (rc < 0 && err && !err->code)
		*err = why;
	return rc;
}

/* ── One run: what its record says ── */

#define ENDED_EARLY "airlock was ended before the run was over"

struct airlock_history {
	struct past_run e;
	struct store *store;
	struct store_run row;
	char *dir;
	struct buf text;	  /* the record */
	struct json_value record; /* in text; none: the run's end was never recorded */
	struct airlock_past_run run;
	struct airlock_changes *changes;
	struct airlock_error error;
	struct airlock_isolation isolation;
	struct airlock_usage usage;
	struct airlock_host *hosts;
	size_t n_hosts;
	struct airlock_past_denial *denials;
	struct airlock_past_question *questions;
	struct airlock_config_value *values;
	const char **full; /* of usage */
	size_t n_denials, n_questions, n_values;
	const char *profile;
	struct strs texts; /* behind all of these */
	char *json;
};

void airlock_history_free(struct airlock_history *h)
{
	if (!h)
		return;
	airlock_changes_free(h->changes);
	store_run_done(&h->row);
	store_close(h->store);
	buf_done(&h->text);
	strs_done(&h->texts);
	free(h->dir);
	past_run_done(&h->e);
	free(h->hosts);
	free(h->denials);
	free(h->questions);
	free(h->values);
	free(h->full);
	free(h->json);
	free(h);
}

/* A member that is a string; NULL: it is none. */
static const char *text_of(struct airlock_history *h, struct json_value object, const char *name)
{
	struct json_value v = json_value_member(object, name);
	if (json_value_kind(v) != '"')
		return NULL;
	strs_take(&h->texts, json_value_string(v));
	return h->texts.failed ? NULL : h->texts.v[h->texts.n - 1];
}

/* Room for every element of a list. */
static void *room_for(struct airlock_history *h, struct json_value list, size_t size)
{
	size_t n = 0;
	for (struct json_item i = {0}; json_value_next(list, &i);)
		n++;
	void *v = calloc(n + 1, size);
	h->texts.failed |= !v;
	return v;
}

READ_WORD(read_grade, airlock_grade, airlock_grade_name, AIRLOCK_GRADE_ENFORCED)
READ_WORD(read_network, airlock_network, airlock_network_name, AIRLOCK_NETWORK_HOST)
READ_WORD(read_capture, airlock_capture, airlock_capture_name, AIRLOCK_CAPTURE_COPY)
READ_WORD(read_limit, airlock_limit, airlock_limit_name, AIRLOCK_LIMIT_TMP)

static void read_isolation(struct airlock_history *h, struct json_value from)
{
	h->isolation = (struct airlock_isolation){.backend = text_of(h, from, "backend"),
						  .profile = text_of(h, from, "profile"),
						  .filesystem = read_grade(text_of(h, from, "filesystem")),
						  .processes = read_grade(text_of(h, from, "processes")),
						  .syscalls = read_grade(text_of(h, from, "syscalls")),
						  .limits = read_grade(text_of(h, from, "limits")),
						  .network = read_network(text_of(h, from, "network")),
						  .capture = read_capture(text_of(h, from, "capture")),
						  .capture_because = text_of(h, from, "capture_because")};
	h->isolation.is_sandboxed = h->isolation.backend && strcmp(h->isolation.backend, "passthrough") != 0;
}

static int64_t read_us(struct json_value object, const char *name)
{
	struct json_value v = json_value_member(object, name);
	return json_value_kind(v) == '0' ? (int64_t)(strtod(v.at, NULL) * 1000 + 0.5) : 0;
}

static void read_usage(struct airlock_history *h, struct json_value from)
{
	struct json_value full = json_value_member(from, "full");
	h->full = room_for(h, full, sizeof *h->full);
	size_t n = 0;
	for (struct json_item i = {0}; h->full && json_value_next(full, &i);) {
		strs_take(&h->texts, json_value_string(i.value));
		h->full[n++] = h->texts.failed ? NULL : h->texts.v[h->texts.n - 1];
	}
	h->usage = (struct airlock_usage){.duration_us = read_us(h->record, "duration_ms"),
					  .cpu_us = read_us(from, "cpu_ms"),
					  .max_rss_kb = json_value_int(json_value_member(from, "max_rss_kb"), 0),
					  .limit_hit = read_limit(text_of(h, from, "limit_hit")),
					  .full = h->full,
					  .warm_start = json_value_kind(json_value_member(from, "warm_start")) == 't',
					  .head_start = json_value_kind(json_value_member(from, "head_start")) == 't'};
}

static void read_error(struct airlock_history *h, struct json_value from)
{
	const char *code = text_of(h, from, "code"), *message = text_of(h, from, "message");
	const char *op = text_of(h, from, "op"), *subject = text_of(h, from, "subject");
	const char *hint = text_of(h, from, "hint");
	int number = AIRLOCK_ERR_INTERNAL;
	if (!code || !message)
		return;
	for (int c = AIRLOCK_ERR_USAGE; c >= AIRLOCK_ERR_INTERNAL; c--)
		if (strcmp(airlock_code_slug(c), code) == 0)
			number = c;
	(void)base_error(&h->error, number, op ? op : "", subject ? subject : "", "%s", message);
	if (hint)
		(void)base_hint(&h->error, "%s", hint);
}

static enum airlock_host_by read_by(const char *text)
{
	for (enum airlock_host_by by = AIRLOCK_HOST_BY_RULE; by <= AIRLOCK_HOST_BY_GUARD; by++)
		if (strncmp(text, airlock_host_by_name(by), strlen(airlock_host_by_name(by))) == 0)
			return by;
	return AIRLOCK_HOST_BY_NOBODY;
}

static uint64_t number_of(struct json_value object, const char *name)
{
	int64_t n = json_value_int(json_value_member(object, name), 0);
	return n > 0 ? (uint64_t)n : 0;
}

static void read_hosts(struct airlock_history *h, struct json_value list)
{
	h->hosts = room_for(h, list, sizeof *h->hosts);
	for (struct json_item i = {0}; h->hosts && json_value_next(list, &i);) {
		const char *host = text_of(h, i.value, "host"), *by = text_of(h, i.value, "by"),
			   *decision = text_of(h, i.value, "decision");
		if (!host || !by || !decision)
			continue;
		h->hosts[h->n_hosts++] = (struct airlock_host){.host = host,
							       .port = (unsigned)number_of(i.value, "port"),
							       .is_allowed = strcmp(decision, "allowed") == 0,
							       .by = read_by(by),
							       .by_text = by,
							       .connections = number_of(i.value, "connections"),
							       .bytes_out = number_of(i.value, "bytes_out"),
							       .bytes_in = number_of(i.value, "bytes_in")};
	}
}

static void read_denials(struct airlock_history *h, struct json_value list)
{
	h->denials = room_for(h, list, sizeof *h->denials);
	for (struct json_item i = {0}; h->denials && json_value_next(list, &i);) {
		const char *text = text_of(h, i.value, "text");
		if (text)
			h->denials[h->n_denials++] = (struct airlock_past_denial){text, text_of(h, i.value, "hint")};
	}
}

static void read_questions(struct airlock_history *h, struct json_value list)
{
	h->questions = room_for(h, list, sizeof *h->questions);
	for (struct json_item i = {0}; h->questions && json_value_next(list, &i);) {
		const char *text = text_of(h, i.value, "question"), *answer = text_of(h, i.value, "answer");
		if (text && answer)
			h->questions[h->n_questions++] =
				(struct airlock_past_question){text, answer, text_of(h, i.value, "grant")};
	}
}

/* Records store the origin of a value as shown text; cut off the line number. */
static struct airlock_origin read_origin(char *text)
{
	char *colon = strrchr(text, ':'), *end = NULL;
	long line = colon && colon[1] >= '0' && colon[1] <= '9' ? strtol(colon + 1, &end, 10) : 0;
	if (strcmp(text, "built-in") == 0)
		return (struct airlock_origin){.kind = AIRLOCK_ORIGIN_BUILTIN};
	if (!end || *end)
		return (struct airlock_origin){.kind = AIRLOCK_ORIGIN_CALLER, .name = text};
	*colon = '\0';
	return (struct airlock_origin){AIRLOCK_ORIGIN_FILE, text, (int)line};
}

static void read_values(struct airlock_history *h, struct json_value list)
{
	h->values = room_for(h, list, sizeof *h->values);
	for (struct json_item i = {0}; h->values && json_value_next(list, &i);) {
		struct airlock_config_value v = {.key = text_of(h, i.value, "key"),
						 .toml = text_of(h, i.value, "value"),
						 .is_ignored =
							 json_value_kind(json_value_member(i.value, "ignored")) == 't'};
		if (!text_of(h, i.value, "source") || !v.key || !v.toml)
			continue;
		v.origin = read_origin(h->texts.v[h->texts.n - 1]);
		h->values[h->n_values++] = v;
	}
}

static int read_record(struct airlock_history *h, struct airlock_error *err)
{
	struct json_value policy = json_value_member(h->record, "policy");
	read_error(h, json_value_member(h->record, "error"));
	read_isolation(h, json_value_member(h->record, "isolation"));
	read_usage(h, json_value_member(h->record, "usage"));
	read_hosts(h, json_value_member(json_value_member(h->record, "network"), "hosts"));
	read_denials(h, json_value_member(h->record, "denials"));
	read_questions(h, json_value_member(h->record, "questions"));
	read_values(h, json_value_member(policy, "values"));
	h->profile = text_of(h, policy, "profile");
	bool is_whole =
		h->run.session && !h->run.step && h->run.status == AIRLOCK_EXITED; /* of a session: nothing ran */
	if (!h->record.at && h->run.status != AIRLOCK_RUNNING && !is_whole)
		(void)base_error(&h->error, AIRLOCK_ERR_INTERNAL, "run", h->run.id, "%s", ENDED_EARLY);
	return h->texts.failed ? base_oom(err) : 0;
}

/* Fills text and record. A run with neither was killed before airlock could write anything. */
static int load_record(struct airlock_history *h, struct airlock_error *err)
{
	if (*h->row.detail) {
		buf_addc(&h->text, '{');
		buf_adds(&h->text, h->row.detail);
		buf_addc(&h->text, '}');
		(void)json_value_parse(buf_str(&h->text), h->text.len, &h->record);
	} else if (history_read_file(h->dir, &h->text, &h->record, NULL) < 0) {
		h->record = JSON_NO_VALUE;
	}
	return h->text.failed ? base_oom(err) : 0;
}

static int load(struct airlock_history *h, const char *id, struct airlock_error *err)
{
	int rc = history_get(&h->e, h->store, id, &h->row, err);
	if (rc < 0)
		return rc;
	h->run = run_of(&h->row);
	h->dir = path_join(h->e.runs, id);
	rc = h->dir ? load_record(h, err) : base_oom(err);
	rc = rc < 0 ? rc : read_record(h, err);
	if (rc < 0 || past_run_load(&h->e, id, NULL) < 0)
		return rc; /* no record of changes: it has none */
	h->run.changes_state = change_set_state(h->e.set);
	h->changes = change_values_of_run(id, h->e.set, h->run.changes_state);
	return h->changes ? 0 : base_oom(err);
}

int airlock_history_open(const struct airlock_settings *s, const char *run, struct airlock_history **ret,
			 struct airlock_error *err)
{
	_cleanup_free_ char *id = NULL;
	struct airlock_error unusable = {0};
	struct airlock_history *h = calloc(1, sizeof *h);
	int rc = h ? decided_init(&h->e, s, err) : base_oom(err);
	if (rc == 0 && open_store(&h->e, &h->store, &unusable) < 0)
		h->store = NULL; /* the directory says as much */
	rc = rc < 0 ? rc : find(&h->e, h->store, run, &id, err);
	rc = rc < 0 ? rc : load(h, id, err);
	if (rc == 0)
		*ret = h;
	else
		airlock_history_free(h);
	return rc;
}

const struct airlock_past_run *airlock_history_run(const struct airlock_history *h)
{
	return &h->run;
}

const struct airlock_changes *airlock_history_changes(const struct airlock_history *h)
{
	return h->changes;
}

const struct airlock_error *airlock_history_error(const struct airlock_history *h)
{
	return &h->error;
}

const struct airlock_isolation *airlock_history_isolation(const struct airlock_history *h)
{
	return h->isolation.backend ? &h->isolation : NULL;
}

const struct airlock_usage *airlock_history_usage(const struct airlock_history *h)
{
	return json_value_kind(json_value_member(h->record, "usage")) == '{' ? &h->usage : NULL;
}

const struct airlock_host *airlock_history_host(const struct airlock_history *h, size_t i)
{
	return i < h->n_hosts ? &h->hosts[i] : NULL;
}

const struct airlock_past_denial *airlock_history_denial(const struct airlock_history *h, size_t i)
{
	return i < h->n_denials ? &h->denials[i] : NULL;
}

const struct airlock_past_question *airlock_history_question(const struct airlock_history *h, size_t i)
{
	return i < h->n_questions ? &h->questions[i] : NULL;
}

const char *airlock_history_profile(const struct airlock_history *h)
{
	return h->profile;
}

const struct airlock_config_value *airlock_history_value(const struct airlock_history *h, size_t i)
{
	return i < h->n_values ? &h->values[i] : NULL;
}

/* ── Its JSON ── */

static void add_file(struct json *j, const char *dir, const char *key)
{
	_cleanup_free_ char *file = path_join(dir, key);
	_cleanup_buf_ struct buf text = BUF_INIT;
	_cleanup_close_ int fd = file ? open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
	struct capture c;
	char chunk[16384];
	if (capture_init(&c, SHOWN_OUTPUT) < 0) {
		json_null(j, key);
		return;
	}
	for (ssize_t n; fd >= 0 && (n = read(fd, chunk, sizeof chunk)) > 0;)
		capture_add(&c, chunk, (size_t)n);
	capture_text(&c, &text);
	json_stringn(j, key, buf_str(&text), text.len);
	capture_done(&c);
}

/* For a run that was killed before its end was recorded: the same object with the few fields that are known. */
static void add_unfinished(struct json *j, const struct airlock_history *h)
{
	const struct store_run *r = &h->row;
	json_path(j, "command", r->command);
	json_path(j, "project", r->project);
	json_time(j, "started", r->started);
	json_string(j, "asked_by", r->asked_by);
	json_string(j, "run", r->id);
	json_string(j, "status", r->status);
	json_string(j, "session", r->session);
	if (r->exit_code >= 0)
		json_int(j, "exit_code", r->exit_code);
	else
		json_null(j, "exit_code");
	json_null(j, "signal");
	json_null(j, "duration_ms");
	json_path(j, "working_dir", r->working_dir);
	json_null(j, "isolation");
	json_null(j, "usage");
	json_null(j, "network");
	json_null(j, "denials");
	json_error(j, "error", &h->error);
	json_null(j, "policy");
}

const char *airlock_history_json(struct airlock_history *h)
{
	struct buf out = BUF_INIT;
	struct json j = json_begin(&out, true);
	json_open_object(&j, NULL);
	if (h->record.at) {
		_cleanup_free_ char *members = strndup(h->record.at + 1, h->record.len - 2);
		out.failed |= !members;
		json_members(&j, members ? members : "");
	} else {
		add_unfinished(&j, h);
	}
	add_file(&j, h->dir, "stdout");
	add_file(&j, h->dir, "stderr");
	json_open_object(&j, "changes");
	change_values_add_json(h->e.set, h->run.changes_state, &j);
	json_close(&j);
	json_close(&j);
	return api_json(&out, &h->json);
}

/* ── output ── */

static int copy_out(int from, int to, const char *name, struct airlock_error *err)
{
	char chunk[65536];
	for (;;) {
		ssize_t n = read(from, chunk, sizeof chunk);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? base_errno(err, AIRLOCK_ERR_IO, errno, "read", name) : 0;
		int rc = fs_write_all(to, chunk, (size_t)n);
		if (rc < 0) /* EPIPE: the reader stopped reading on purpose */
			return rc == -EPIPE ? 0 : base_errno(err, AIRLOCK_ERR_IO, rc, "write", "output");
	}
}

int airlock_history_output(const struct airlock_settings *s, const char *run, int want_stderr, int fd,
			   struct airlock_error *err)
{
	struct airlock_history *h = NULL;
	const char *name = want_stderr ? "stderr" : "stdout";
	int rc = airlock_history_open(s, run, &h, err);
	if (rc == 0) {
		_cleanup_free_ char *file = path_join(h->dir, name);
		_cleanup_close_ int from = file ? open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
		if (from >= 0)
			rc = copy_out(from, fd, file, err);
		else if (errno != ENOENT) /* which is a command that wrote nothing */
			rc = base_errno(err, AIRLOCK_ERR_IO, errno, "open", file ? file : name);
	}
	airlock_history_free(h);
	return rc;
}
