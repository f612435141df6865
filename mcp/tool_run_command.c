/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* run_command: prepares the job, asks if something needs permission, starts it, and follows it from the server's loop.
 */
#include "run_result.h"
#include "tool_context.h"
#include "words/change_lines.h"

#include <airlock/questions.h>
#include <airlock/result.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROGRESS_MS 2000
#define DENIALS_MAX 10 /* more than a model reads; all of them are in the rest of the result */
#define HELD_MAX 10

struct command_run {
	struct airlock_job *job;
	struct airlock_asking *asking; /* a person answers elsewhere; NULL: there is nothing to wait for */
	struct airlock_run *run;       /* NULL until it has started */
	int64_t started_ms;	       /* 0: neither asked nor started */
};

static void release(void *state)
{
	struct command_run *c = state;
	airlock_asking_free(c->asking);
	airlock_run_free(c->run);
	airlock_job_free(c->job);
	free(c);
}

/* ── The result ── */

/* What would allow it: an argument of this tool, about which a person is asked. It never names an option of airlock. */
static char *tool_hint(const struct airlock_denial *d)
{
	char *text = NULL, *dir = d->value ? airlock_text_inert(d->value, strlen(d->value)) : NULL;
	if (d->remedy == AIRLOCK_REMEDY_ALLOW_WRITE &&
	    asprintf(&text, "\"allow_write\": [\"%s\"]%s", dir ? dir : "",
		     d->is_to_make ? ", once that directory exists" : "") < 0)
		text = NULL;
	else if (d->remedy != AIRLOCK_REMEDY_ALLOW_WRITE)
		text = strdup(d->remedy == AIRLOCK_REMEDY_NETWORK ? "\"network\": true"
			      : d->remedy == AIRLOCK_REMEDY_NONE  ? "nothing allows it"
								  : "only a person can");
	airlock_free(dir);
	return text;
}

static void add_notice(json_t *notices, char *text /* freed */)
{
	if (text)
		(void)json_array_append_new(notices, mcp_string(text));
	free(text);
}

static void add_denials(json_t *notices, const struct command_run *c)
{
	size_t n = airlock_run_denial_count(c->run);
	for (size_t i = 0; i < n && i < DENIALS_MAX; i++) {
		const struct airlock_denial *d = airlock_run_denial(c->run, i);
		char *what = airlock_denial_text(d), *hint = tool_hint(d), *text = NULL;
		if (asprintf(&text, "Blocked by the sandbox: %s; to allow: %s", what ? what : "", hint ? hint : "") < 0)
			text = NULL;
		add_notice(notices, text);
		airlock_free(what);
		free(hint);
	}
	char more[64];
	(void)snprintf(more, sizeof more, "Blocked by the sandbox: %zu more", n > DENIALS_MAX ? n - DENIALS_MAX : 0);
	if (n > DENIALS_MAX)
		add_notice(notices, strdup(more));
}

static void add_notes(json_t *notices, const struct command_run *c)
{
	for (size_t i = 0; airlock_run_note(c->run, i); i++) {
		char *line = airlock_note_text(airlock_run_note(c->run, i));
		add_notice(notices, tool_join(strdup("note: "), line ? line : ""));
		airlock_free(line);
	}
}

/* " a (why), b (why)": the files of a result may be more than a model is shown. */
static char *held_paths(const struct airlock_changes *changes, size_t *ret_left)
{
	char *text = strdup("");
	size_t n = 0;
	for (size_t i = 0; changes && i < airlock_changes_count(changes); i++) {
		const struct airlock_change *held = airlock_changes_at(changes, i);
		if (held->state != AIRLOCK_CHANGE_HELD || n++ >= HELD_MAX)
			continue;
		char *path = airlock_text_inert(held->path, strlen(held->path)), *why = change_reason(held),
		     *one = NULL;
		if (asprintf(&one, "%s%s%s%s%s", n > 1 ? ", " : " ", path ? path : "", why ? " (" : "", why ? why : "",
			     why ? ")" : "") < 0)
			one = NULL;
		text = tool_join(text, one);
		airlock_free(path);
		airlock_free(why);
		free(one);
	}
	*ret_left = n > HELD_MAX ? n - HELD_MAX : 0;
	return text;
}

static void add_held(json_t *notices, const struct command_run *c)
{
	const struct airlock_changes *changes = airlock_run_changes(c->run);
	enum airlock_changes_state state = changes ? airlock_changes_state(changes) : AIRLOCK_CHANGES_NONE;
	if (state != AIRLOCK_CHANGES_HELD && state != AIRLOCK_CHANGES_PARTIAL)
		return;
	size_t left = 0;
	char *paths = held_paths(changes, &left), more[48] = "", *text = NULL;
	if (left > 0)
		(void)snprintf(more, sizeof more, " and %zu more", left);
	if (paths && asprintf(&text,
			      "Held changes are not in the project yet:%s%s. See diff, apply_changes and "
			      "discard_changes.",
			      paths, more) < 0)
		text = NULL;
	add_notice(notices, text);
	free(paths);
}

static void add_background(json_t *notices, json_t *whole)
{
	json_int_t n = json_integer_value(json_object_get(whole, "background"));
	char text[96];
	(void)snprintf(text, sizeof text, "%lld process%s of this session go%s on in the background.", (long long)n,
		       n == 1 ? "" : "es", n == 1 ? "es" : "");
	if (n > 0)
		add_notice(notices, strdup(text));
}

static json_t *make_notices(const struct command_run *c, json_t *whole)
{
	json_t *notices = json_array();
	if (airlock_run_status(c->run) != AIRLOCK_FAILED)
		add_denials(notices, c);
	add_notes(notices, c);
	add_held(notices, c);
	add_background(notices, whole);
	return notices;
}

static char *result_text(const struct command_run *c, json_t *notices)
{
	bool is_failure = airlock_run_status(c->run) == AIRLOCK_FAILED;
	const struct airlock_error *err = airlock_run_error(c->run);
	char *text = strdup(is_failure ? "ERROR: " : airlock_run_result_text(c->run));
	json_t *notice;
	size_t i;
	if (err->code)
		text = tool_join(tool_join(text, err->message), "\n");
	json_array_foreach(notices, i, notice) text = tool_join(tool_join(text, json_string_value(notice)), "\n");
	return text;
}

/* What did not fit is a resource. */
static void link_stream(json_t *content, const char *run, const char *stream, uint64_t bytes)
{
	char uri[128];
	(void)snprintf(uri, sizeof uri, "airlock://run/%s/%s", run, stream);
	(void)json_array_append_new(content,
				    json_pack("{s:s, s:s, s:s, s:s, s:s, s:I}", "type", "resource_link", "uri", uri,
					      "name", stream, "description", "the whole output of the command",
					      "mimeType", "text/plain", "size", (json_int_t)bytes));
}

static void finish(struct mcp_request *r, struct command_run *c)
{
	bool is_failure = airlock_run_status(c->run) == AIRLOCK_FAILED;
	json_t *whole = json_loads(airlock_run_result_json(c->run), JSON_ALLOW_NUL, NULL);
	json_t *notices = make_notices(c, whole), *brief = whole ? run_result_brief(whole, notices) : NULL;
	char *text = result_text(c, notices);
	tool_remember_run(tool_context_of(r), airlock_run_id(c->run));
	json_t *result = brief && text ? mcp_tool_text(text, brief, is_failure) : NULL;
	const struct airlock_output *output = airlock_run_output(c->run);
	json_t *content = json_object_get(result, "content");
	if (output->is_stdout_cut)
		link_stream(content, airlock_run_id(c->run), "stdout", output->stdout_bytes);
	if (output->is_stderr_cut)
		link_stream(content, airlock_run_id(c->run), "stderr", output->stderr_bytes);
	if (result)
		run_result_add_rest(result, whole);
	mcp_reply(r, result);
	json_decref(whole);
	json_decref(notices);
	free(text);
}

/* ── While it runs ── */

static void tell_progress(struct mcp_request *r, const struct command_run *c)
{
	const char *latest = "";
	int64_t n = airlock_run_progress(c->run, &latest);
	double seconds = (double)(mcp_now_ms() - c->started_ms) / 1000;
	char *inert = airlock_text_inert(latest, strlen(latest)), message[512];
	if (n < 0)
		(void)snprintf(message, sizeof message, "running for %.0f s", seconds);
	else
		(void)snprintf(message, sizeof message, "%lld file%s changed%s%.300s", (long long)n, n == 1 ? "" : "s",
			       n > 0 && inert ? ", latest: " : "", n > 0 && inert ? inert : "");
	mcp_progress(r, seconds, message);
	airlock_free(inert);
}

static void ready(struct mcp_request *r)
{
	struct command_run *c = mcp_state(r);
	int64_t now = mcp_now_ms();
	if (airlock_run_await_result(c->run, 0) == 0) {
		finish(r, c); /* the client need not wait until the kernel has taken the sandbox down */
		return;
	}
	if (mcp_wants_progress(r) && now >= mcp_wake_ms(r)) {
		tell_progress(r, c);
		mcp_wait(r, airlock_run_fd(c->run), now + PROGRESS_MS, ready);
	}
}

/* Kills the whole tree; waits for its end, so that its changes are found and held. */
static void cancel(struct mcp_request *r)
{
	struct command_run *c = mcp_state(r);
	if (c->run)
		(void)airlock_run_signal(c->run, SIGKILL);
	else
		mcp_drop(r);
}

/* ── Before it runs ── */

static void start(struct mcp_request *r, struct command_run *c)
{
	struct airlock_error err = {0};
	airlock_job_use_prestart(c->job, tool_context_of(r)->prestart);
	const struct mcp_options *options = tool_context_of(r)->options;
	if (options->hold)
		airlock_job_use_hold(c->job, options->hold(options->data));
	if (airlock_run_start(c->job, NULL, &c->run, &err) < 0) {
		tool_fail_run(r, &err);
		return;
	}
	int64_t now = mcp_now_ms();
	if (c->started_ms == 0)
		c->started_ms = now; /* else it is the time of the question: what progress tells must grow */
	mcp_wait(r, airlock_run_fd(c->run), mcp_wants_progress(r) ? now + PROGRESS_MS : 0, ready);
}

static void answered(struct mcp_request *r, json_t *answers)
{
	struct command_run *c = mcp_state(r);
	airlock_job_answer(c->job, tool_answer(answers));
	start(r, c);
}

/* The client cannot ask a person: the question waits where one finds it. */
static void asked_ready(struct mcp_request *r)
{
	struct command_run *c = mcp_state(r);
	enum airlock_answer answer = AIRLOCK_DENY;
	if (airlock_asking_poll(c->asking, &answer) == 1) {
		tool_wait_for_person(r, c->asking, c->started_ms, asked_ready);
		return;
	}
	airlock_asking_free(c->asking);
	c->asking = NULL;
	start(r, c);
}

/* What cannot be asked is refused by the library, and recorded for the person. */
static void ask_person(struct mcp_request *r, struct command_run *c)
{
	struct airlock_error ignored = {0};
	c->started_ms = mcp_now_ms();
	if (airlock_job_ask(c->job, &c->asking, &ignored) == 1)
		asked_ready(r);
	else
		start(r, c);
}

static int set_network(struct airlock_settings *s, json_t *arguments, struct airlock_error *err)
{
	json_t *host;
	size_t i;
	int rc = 0;
	if (json_is_true(json_object_get(arguments, "network")))
		rc = airlock_settings_set(s, "network", "true", "network", err);
	json_array_foreach(json_object_get(arguments, "hosts"), i, host) if (rc >= 0) rc =
		airlock_settings_set(s, "allow-host", json_string_value(host), "hosts", err);
	return rc;
}

static int set_paths(struct airlock_settings *s, json_t *arguments, struct airlock_error *err)
{
	json_t *path;
	size_t i;
	int rc = 0;
	json_array_foreach(json_object_get(arguments, "allow_write"), i, path) if (rc >= 0) rc =
		airlock_settings_set(s, "allow-write", json_string_value(path), "allow_write", err);
	return rc;
}

/* A call may set a shorter timeout than the person who started the server, never a longer one. */
static int set_timeout(const struct mcp_request *r, struct airlock_settings *s, json_t *arguments,
		       struct airlock_error *err)
{
	json_t *asked = json_object_get(arguments, "timeout");
	int64_t most = -1;
	char text[32];
	if (!asked)
		return 0;
	int rc = tool_timeout(r, &most, err);
	if (rc < 0)
		return rc;
	double ms = json_number_value(asked) * 1000;
	if (most >= 0 && ms > (double)most)
		ms = (double)most;
	(void)snprintf(text, sizeof text, "%.0fms", ms < 1 ? 1 : ms);
	return airlock_settings_set(s, "timeout", text, "timeout", err);
}

static int prepare(const struct mcp_request *r, json_t *arguments, struct airlock_job **ret, struct airlock_error *err)
{
	struct airlock_settings *s = NULL;
	const char *dir = json_string_value(json_object_get(arguments, "working_dir"));
	int rc = tool_settings(r, &s, err);
	if (rc >= 0)
		airlock_settings_explain_by_default(s);
	if (rc >= 0)
		rc = airlock_settings_set_command(s, json_string_value(json_object_get(arguments, "command")), err);
	if (rc >= 0 && dir && *dir)
		rc = airlock_settings_set(s, "working-dir", dir, "working_dir", err);
	if (rc >= 0)
		rc = set_network(s, arguments, err);
	if (rc >= 0)
		rc = set_paths(s, arguments, err);
	if (rc >= 0)
		rc = set_timeout(r, s, arguments, err);
	if (rc >= 0)
		rc = airlock_job_prepare(s, ret, err);
	airlock_settings_free(s);
	return rc;
}

void tool_run_command(struct mcp_request *r, json_t *arguments)
{
	struct airlock_error err = {0};
	struct command_run *c = calloc(1, sizeof *c);
	if (!c) {
		mcp_fail(r, RPC_INTERNAL_ERROR, NULL, "out of memory");
		return;
	}
	mcp_keep(r, c, release, cancel);
	if (prepare(r, arguments, &c->job, &err) < 0) {
		tool_fail_run(r, &err);
		return;
	}
	const struct airlock_question *q = airlock_job_question(c->job);
	if (!q)
		start(r, c);
	else if (!tool_ask(r, q, answered))
		ask_person(r, c);
}
