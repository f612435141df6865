/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `airlock log`, `show`, `output`. */
#include "airlock/history.h"

#include "base/columns.h"
#include "base/json.h"
#include "base/path.h"
#include "base/text.h"
#include "fs/io.h"
#include "change/values.h"
#include "history/history.h"
#include "history/history_read.h"
#include "project/project.h"
#include "store/audit.h"
#include "supervise/output_capture.h"

#include <fcntl.h>
#include <string.h>
#include <time.h>

/* What is kept of an output in `show`, as in the result of the run itself. */
#define SHOWN_OUTPUT (100 * 1024)

/* The history without a database is what the directories say; one that cannot be used is an error. */
static int open_store(const struct past_run *e, struct store **ret, struct airlock_error *err)
{
	struct airlock_error why = {0};
	int rc = store_open_history(e->host.state_dir, STORE_WAIT_MS, ret, &why);
	if (rc == 0 || rc == AIRLOCK_ERR_NOT_FOUND)
		return 0;
	if (err)
		*err = why;
	return rc;
}

/* ── log ── */

static void log_json(const struct store_runs *runs, struct buf *out)
{
	struct json j = json_begin(out, true);
	json_open_object(&j, NULL);
	json_open_array(&j, "runs");
	for (size_t i = 0; i < runs->n; i++) {
		const struct store_run *r = &runs->v[i];
		json_open_object(&j, NULL);
		json_string(&j, "run", r->id);
		json_path(&j, "command", r->command);
		json_path(&j, "project", r->project);
		json_time(&j, "started", r->started);
		json_string(&j, "status", r->status);
		if (r->exit_code >= 0)
			json_int(&j, "exit_code", r->exit_code);
		else
			json_null(&j, "exit_code");
		json_open_object(&j, "changes");
		json_string(&j, "state", r->changes_state);
		json_int(&j, "count", r->changes_count);
		json_close(&j);
		json_string(&j, "asked_by", r->asked_by);
		json_close(&j);
	}
	json_close(&j);
	json_close(&j);
	buf_addc(out, '\n');
}

static void add_age(struct buf *out, int64_t started_ns)
{
	text_add_age(out, (int64_t)time(NULL) - started_ns / 1000000000);
}

/* The words about a run in `log`, each in its column. */
struct log_cells {
	struct buf v[3]; /* when, how it ended, what became of its changes */
};

static void log_cells_done(struct log_cells *c)
{
	for (size_t i = 0; i < AL_ARRAY_LEN(c->v); i++)
		buf_done(&c->v[i]);
}

/* "2 held, 1 discarded", as `airlock changes` sums it up. Only a run of which something waits can have several states that its
 * one word does not tell. */
static bool add_states(const struct past_run *e, const struct store_run *r, struct buf *out)
{
	static const enum change_state order[] = {CHANGE_APPLIED, CHANGE_HELD, CHANGE_CONFLICT, CHANGE_SKIPPED,
						  CHANGE_DISCARDED};
	_cleanup_free_ char *dir = path_join(e->runs, r->id), *file = dir ? path_join(dir, "changes") : NULL;
	_cleanup_changes_ struct change_set *set = NULL;
	bool waits = strcmp(r->changes_state, "held") == 0 || strcmp(r->changes_state, "partial") == 0;
	if (!waits || !file || change_set_load(file, &set, NULL) < 0)
		return false;
	for (size_t k = 0; k < AL_ARRAY_LEN(order); k++) {
		size_t n = 0;
		for (size_t i = 0; i < set->n; i++)
			n += set->v[i].state == order[k];
		if (n > 0)
			buf_printf(out, "%s%zu %s", out->len ? ", " : "", n, change_state_name(order[k]));
	}
	return out->len > 0;
}

static void log_cells(const struct past_run *e, const struct store_run *r, struct log_cells *ret)
{
	struct buf *ending = &ret->v[1], *changes = &ret->v[2];
	*ret = (struct log_cells){0};
	add_age(&ret->v[0], r->started);
	buf_adds(ending, r->status);
	if (r->exit_code > 0)
		buf_printf(ending, " %lld", (long long)r->exit_code);
	if (add_states(e, r, changes))
		return;
	if (r->changes_count > 0)
		buf_printf(changes, "%lld %s", (long long)r->changes_count, r->changes_state);
	else
		buf_adds(changes, strcmp(r->changes_state, "direct") == 0 ? "direct" : "-");
}

static void log_line(const struct store_run *r, const struct log_cells *c, const size_t *widths, struct buf *out)
{
	buf_adds(out, r->id);
	for (size_t i = 0; i < AL_ARRAY_LEN(c->v); i++) {
		buf_adds(out, "  ");
		columns_add_padded(out, buf_str(&c->v[i]), widths[i]);
	}
	buf_adds(out, "  ");
	text_add_escaped(out, r->command, strlen(r->command));
	buf_addc(out, '\n');
}

/* One line a run: id, when, how it ended, what became of its changes, the command. */
static void log_text(const struct past_run *e, const struct store_runs *runs, struct buf *out)
{
	size_t widths[3] = {0};
	_cleanup_free_ struct log_cells *cells = calloc(runs->n + 1, sizeof *cells);
	out->failed |= !cells;
	for (size_t i = 0; cells && i < runs->n; i++) {
		log_cells(e, &runs->v[i], &cells[i]);
		for (size_t k = 0; k < AL_ARRAY_LEN(widths); k++)
			widths[k] = cells[i].v[k].len > widths[k] ? cells[i].v[k].len : widths[k];
	}
	for (size_t i = 0; cells && i < runs->n; i++) {
		log_line(&runs->v[i], &cells[i], widths, out);
		log_cells_done(&cells[i]);
	}
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
	if (rc == AIRLOCK_ERR_NOT_FOUND) { /* a project that is gone has a history all the same */
		*ret = path_normalize(host->cwd, wanted);
		rc = *ret ? 0 : base_oom(err);
	} else if (rc < 0 && err)
		*err = gone;
	settings_view_done(&view);
	return rc;
}

enum log_scope { LOG_NAMED_OR_ALL, LOG_HERE };

/* *ret_project stays NULL for all projects. A caller who is in no project at all is in none that has runs. */
static int log_project(const struct airlock_settings *s, const struct past_run *e, enum log_scope scope,
		       char **ret_project, struct airlock_error *err)
{
	if (scope == LOG_NAMED_OR_ALL)
		return find_project(s, &e->host, ret_project, err);
	(void)past_run_project(e, ret_project, NULL);
	return 0;
}

static int log_runs(const struct airlock_settings *s, enum log_scope scope, int64_t limit, int json, char **ret_text,
		    size_t *ret_count, int *ret_is_all, struct airlock_error *err)
{
	struct past_run e;
	struct buf out = BUF_INIT;
	_cleanup_free_ char *project = NULL;
	_cleanup_store_ struct store *store = NULL;
	_cleanup_runs_ struct store_runs runs = {0};
	int rc = past_run_init(&e, s, err);
	rc = rc < 0 ? rc : log_project(s, &e, scope, &project, err);
	rc = rc < 0 ? rc : open_store(&e, &store, err);
	rc = rc < 0 ? rc : history_list(&e, store, project, limit, &runs, err);
	bool has_none = rc == 0 && scope == LOG_HERE && project && runs.n == 0 && limit != 0;
	if (has_none)
		rc = history_list(&e, store, NULL, limit, &runs, err);
	if (rc == 0 && json)
		log_json(&runs, &out);
	else if (rc == 0)
		log_text(&e, &runs, &out);
	*ret_is_all = has_none || !project;
	past_run_done(&e);
	*ret_count = runs.n;
	*ret_text = rc == 0 ? buf_take(&out) : NULL;
	return rc < 0 ? rc : *ret_text ? 0 : base_oom(err);
}

int airlock_log(const struct airlock_settings *s, int64_t limit, int json, char **ret_text, size_t *ret_count,
		struct airlock_error *err)
{
	int is_all;
	return log_runs(s, LOG_NAMED_OR_ALL, limit, json, ret_text, ret_count, &is_all, err);
}

int airlock_log_here(const struct airlock_settings *s, int64_t limit, int json, char **ret_text, size_t *ret_count,
		     int *ret_is_all, struct airlock_error *err)
{
	return log_runs(s, LOG_HERE, limit, json, ret_text, ret_count, ret_is_all, err);
}

int airlock_log_verify(const struct airlock_settings *s, char **ret_text, struct airlock_error *err)
{
	struct past_run e;
	struct buf out = BUF_INIT;
	_cleanup_store_ struct store *store = NULL;
	int rc = past_run_init(&e, s, err);
	rc = rc < 0 ? rc : open_store(&e, &store, err);
	rc = rc < 0 ? rc : audit_verify(e.host.state_dir, store, &out, err);
	past_run_done(&e);
	*ret_text = rc >= 0 ? buf_take(&out) : NULL;
	buf_done(&out);
	return rc < 0 || *ret_text ? rc : base_oom(err);
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

struct shown {
	struct past_run e;
	struct store *store;
	struct store_run run;
	struct buf members; /* of the result object */
	char *dir;
};

static void shown_done(struct shown *v)
{
	store_run_done(&v->run);
	store_close(v->store);
	buf_done(&v->members);
	free(v->dir);
	past_run_done(&v->e);
}

static int load_detail(struct shown *v, const char *id, struct airlock_error *err)
{
	int rc = history_get(&v->e, v->store, id, &v->run, err);
	if (rc < 0)
		return rc;
	v->dir = path_join(v->e.runs, id);
	if (!v->dir)
		return base_oom(err);
	if (*v->run.detail)
		buf_adds(&v->members, v->run.detail);
	else if (history_read_file(v->dir, &v->members, NULL) < 0)
		buf_reset(&v->members);
	(void)past_run_load(&v->e, id, NULL); /* no record of changes: it has none */
	return v->members.failed ? base_oom(err) : 0;
}

static int shown_open(struct shown *v, const struct airlock_settings *s, const char *name, struct airlock_error *err)
{
	*v = (struct shown){0};
	_cleanup_free_ char *id = NULL;
	struct airlock_error unusable = {0};
	int rc = past_run_init(&v->e, s, err);
	if (rc == 0 && open_store(&v->e, &v->store, &unusable) < 0)
		v->store = NULL; /* the directory says as much */
	rc = rc < 0 ? rc : find(&v->e, v->store, name, &id, err);
	return rc < 0 ? rc : load_detail(v, id, err);
}

/* ── show ── */

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

#define ENDED_EARLY "airlock was ended before the run was over"

/* Of a run whose end nobody has written: the little that is known, in the same shape. */
static void add_unfinished(struct json *j, const struct store_run *r)
{
	struct airlock_error killed = {.code = AIRLOCK_ERR_INTERNAL, .message = ENDED_EARLY};
	bool running = strcmp(r->status, "running") == 0;
	json_path(j, "command", r->command);
	json_path(j, "project", r->project);
	json_time(j, "started", r->started);
	json_string(j, "asked_by", r->asked_by);
	json_string(j, "run", r->id);
	json_string(j, "status", r->status);
	json_null(j, "exit_code");
	json_null(j, "signal");
	json_null(j, "duration_ms");
	json_path(j, "working_dir", r->working_dir);
	json_null(j, "isolation");
	json_null(j, "usage");
	json_null(j, "denials");
	json_error(j, "error", running ? NULL : &killed);
	json_null(j, "policy");
}

static void show_json(const struct shown *v, struct buf *out)
{
	struct json j = json_begin(out, true);
	json_open_object(&j, NULL);
	if (v->members.len > 0)
		json_members(&j, v->members.data);
	else
		add_unfinished(&j, &v->run);
	add_file(&j, v->dir, "stdout");
	add_file(&j, v->dir, "stderr");
	json_open_object(&j, "changes");
	if (v->e.set) {
		change_values_add_json(v->e.set, change_set_state(v->e.set), &j);
	} else {
		json_string(&j, "state", v->run.changes_state);
		json_open_array(&j, "files");
		json_close(&j);
	}
	json_close(&j);
	json_close(&j);
	buf_addc(out, '\n');
}

static void add_line(struct buf *out, const char *label, const char *value)
{
	if (!value || !*value)
		return;
	buf_printf(out, "%-12s ", label);
	text_add_escaped(out, value, strlen(value));
	buf_addc(out, '\n');
}

/* "backend native, filesystem enforced": the members of an object in one line. */
static void add_word(const char *name, const char *text, void *data)
{
	struct buf *out = data;
	size_t len = strlen(text);
	bool quoted = len >= 2 && text[0] == '"';
	if (strcmp(text, "null") == 0)
		return;
	buf_printf(out, "%s%s %.*s", out->len ? ", " : "", name, (int)(quoted ? len - 2 : len),
		   quoted ? text + 1 : text);
}

static void add_object(struct buf *out, const struct shown *v, const char *label, const char *name)
{
	_cleanup_free_ char *value = history_get_member(buf_str(&v->members), name);
	_cleanup_buf_ struct buf line = BUF_INIT;
	if (value)
		history_each(value, add_word, &line);
	add_line(out, label, buf_str(&line));
}

/* Members of one element, without its braces. */
static char *inner(const char *text)
{
	size_t len = strlen(text);
	return len >= 2 ? strndup(text + 1, len - 2) : NULL;
}

static void add_question(const char *name, const char *text, void *data)
{
	struct buf *out = data;
	_cleanup_free_ char *in = inner(text), *question = in ? history_get_string(in, "question") : NULL;
	_cleanup_free_ char *answer = in ? history_get_string(in, "answer") : NULL;
	_cleanup_buf_ struct buf line = BUF_INIT;
	if (!question || !answer)
		return;
	const char *last = strrchr(question, '\n');
	buf_printf(&line, "%s %s", last ? last + 1 : question, answer);
	add_line(out, "asked", buf_str(&line));
	_cleanup_free_ char *grant = history_get_string(in, "grant");
	add_line(out, "to allow", grant);
}

/* What somebody has set; the profile's own values are in the manual. */
static void add_value(const char *name, const char *text, void *data)
{
	struct buf *out = data;
	_cleanup_free_ char *in = inner(text), *key = in ? history_get_string(in, "key") : NULL;
	_cleanup_free_ char *value = in ? history_get_string(in, "value") : NULL;
	_cleanup_free_ char *source = in ? history_get_string(in, "source") : NULL;
	_cleanup_buf_ struct buf line = BUF_INIT;
	if (!key || !value || !source || strcmp(source, "built-in") == 0)
		return;
	buf_printf(&line, "%s = %s    # %s", key, value, source);
	add_line(out, "", buf_str(&line));
}

static void add_decisions(struct buf *out, const struct shown *v)
{
	const char *members = buf_str(&v->members);
	_cleanup_free_ char *questions = history_get_member(members, "questions");
	_cleanup_free_ char *policy = history_get_member(members, "policy"), *in = policy ? inner(policy) : NULL;
	_cleanup_free_ char *profile = in ? history_get_string(in, "profile") : NULL;
	_cleanup_free_ char *values = in ? history_get_member(in, "values") : NULL;
	if (questions)
		history_each(questions, add_question, out);
	add_line(out, "profile", profile);
	if (values)
		history_each(values, add_value, out);
}

static void add_error(struct buf *out, const struct shown *v)
{
	_cleanup_free_ char *error = history_get_member(buf_str(&v->members), "error");
	_cleanup_free_ char *in = error ? inner(error) : NULL;
	_cleanup_free_ char *message = in ? history_get_string(in, "message") : NULL;
	add_line(out, "error", message);
}

/* "2026-11-15 19:30:12 UTC, 5 min ago" */
static void add_moment(struct buf *out, int64_t ns)
{
	_cleanup_buf_ struct buf exact = BUF_INIT;
	text_add_time(&exact, ns);
	if (exact.len < 19)
		return;
	buf_printf(out, "%.10s %.8s UTC, ", buf_str(&exact), buf_str(&exact) + 11);
	add_age(out, ns);
}

static void add_used(const char *name, const char *text, void *data)
{
	struct buf *out = data;
	_cleanup_buf_ struct buf amount = BUF_INIT;
	if (strcmp(name, "cpu_ms") == 0)
		text_add_duration(&amount, (int64_t)(strtod(text, NULL) + 0.5));
	else if (strcmp(name, "max_rss_kb") == 0)
		text_add_size(&amount, strtoll(text, NULL, 10) * 1024);
	else if (strcmp(name, "limit_hit") == 0 && text[0] == '"')
		buf_printf(&amount, "%.*s", (int)strlen(text) - 2, text + 1);
	static const struct {
		const char *name, *words;
	} words[] = {{"cpu_ms", "processor"}, {"max_rss_kb", "memory"}, {"limit_hit", "limit that was hit:"}};
	for (size_t i = 0; i < AL_ARRAY_LEN(words); i++)
		if (amount.len > 0 && strcmp(words[i].name, name) == 0)
			buf_printf(out, "%s%s %s", out->len ? ", " : "", words[i].words, buf_str(&amount));
}

static void add_usage(struct buf *out, const struct shown *v)
{
	_cleanup_free_ char *usage = history_get_member(buf_str(&v->members), "usage");
	_cleanup_buf_ struct buf line = BUF_INIT;
	if (usage)
		history_each(usage, add_used, &line);
	add_line(out, "used", buf_str(&line));
}

static void add_denial(const char *name, const char *text, void *data)
{
	struct buf *out = data;
	_cleanup_free_ char *in = inner(text), *what = in ? history_get_string(in, "text") : NULL;
	_cleanup_free_ char *hint = in ? history_get_string(in, "hint") : NULL;
	_cleanup_buf_ struct buf line = BUF_INIT;
	if (!what)
		return;
	buf_adds(&line, what);
	if (hint)
		buf_printf(&line, "; to allow: %s", hint);
	add_line(out, "blocked", buf_str(&line));
}

static void add_denials(struct buf *out, const struct shown *v)
{
	_cleanup_free_ char *denials = history_get_member(buf_str(&v->members), "denials");
	if (denials)
		history_each(denials, add_denial, out);
}

static void show_text(const struct shown *v, struct buf *out)
{
	_cleanup_buf_ struct buf started = BUF_INIT, ended = BUF_INIT;
	const struct store_run *r = &v->run;
	add_moment(&started, r->started);
	buf_adds(&ended, r->status);
	if (r->exit_code >= 0)
		buf_printf(&ended, ", exit status %lld", (long long)r->exit_code);
	add_line(out, "run", r->id);
	add_line(out, "command", r->command);
	add_line(out, "project", r->project);
	add_line(out, "directory", r->working_dir);
	add_line(out, "started", buf_str(&started));
	add_line(out, "asked by", r->asked_by);
	add_line(out, "result", buf_str(&ended));
	if (v->members.len == 0 && strcmp(r->status, "running") != 0)
		add_line(out, "error", ENDED_EARLY);
	add_error(out, v);
	add_object(out, v, "isolation", "isolation");
	add_usage(out, v);
	add_denials(out, v);
	add_decisions(out, v);
	add_line(out, "changes", v->e.set ? change_set_state_name(v->e.set) : r->changes_state);
	if (v->e.set)
		change_set_text(v->e.set, out);
}

int airlock_history_show(const struct airlock_settings *s, const char *run, int json, char **ret_text,
			 struct airlock_error *err)
{
	struct shown v;
	struct buf out = BUF_INIT;
	int rc = shown_open(&v, s, run, err);
	if (rc == 0)
		(json ? show_json : show_text)(&v, &out);
	shown_done(&v);
	*ret_text = rc == 0 ? buf_take(&out) : NULL;
	return rc < 0 ? rc : *ret_text ? 0 : base_oom(err);
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
		if (rc < 0) /* with EPIPE the reader has seen enough */
			return rc == -EPIPE ? 0 : base_errno(err, AIRLOCK_ERR_IO, rc, "write", "output");
	}
}

int airlock_history_output(const struct airlock_settings *s, const char *run, int want_stderr, int fd,
			   struct airlock_error *err)
{
	struct shown v;
	const char *name = want_stderr ? "stderr" : "stdout";
	int rc = shown_open(&v, s, run, err);
	if (rc == 0) {
		_cleanup_free_ char *file = path_join(v.dir, name);
		_cleanup_close_ int from = file ? open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
		if (from >= 0)
			rc = copy_out(from, fd, file, err);
		else if (errno != ENOENT) /* which is a command that wrote nothing */
			rc = base_errno(err, AIRLOCK_ERR_IO, errno, "open", file ? file : name);
	}
	shown_done(&v);
	return rc;
}
