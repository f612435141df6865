/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tool_context.h"
#include "run_result.h"

#include <airlock/files.h>
#include <airlock/history.h>
#include <airlock/job.h>
#include <airlock/session.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tool_context *tool_context_of(const struct mcp_request *r)
{
	return mcp_data(r);
}

int tool_error(struct airlock_error *err, int code, const char *format, ...)
{
	va_list args;
	*err = (struct airlock_error){.code = code};
	va_start(args, format);
	(void)vsnprintf(err->message, sizeof err->message, format, args);
	va_end(args);
	return code;
}

int tool_settings(const struct mcp_request *r, struct airlock_settings **ret, struct airlock_error *err)
{
	const struct tool_context *f = tool_context_of(r);
	const char *client = mcp_client_name(r);
	char *inert = airlock_text_inert(client, strnlen(client, 64)), who[128];
	(void)snprintf(who, sizeof who, "mcp: %s", inert ? inert : "");
	airlock_free(inert);
	int rc = f->options->settings(f->options->data, ret, err);
	if (rc >= 0)
		rc = airlock_settings_set(*ret, "agent", who, "airlock mcp", err);
	if (rc >= 0 && !airlock_settings_session(*ret))
		rc = airlock_settings_set(*ret, "session", f->work, "airlock mcp", err);
	return rc < 0 ? rc : airlock_settings_set_session(*ret, f->session, err);
}

static int prepare_plain(struct airlock_settings *s, struct airlock_job **ret, struct airlock_error *err)
{
	int rc = airlock_settings_set_command(s, "true", err);
	return rc < 0 ? rc : airlock_job_prepare(s, ret, err);
}

int tool_timeout(const struct mcp_request *r, int64_t *ret_ms, struct airlock_error *err)
{
	struct tool_context *f = tool_context_of(r);
	struct airlock_settings *s = NULL;
	struct airlock_job *job = NULL;
	int rc = 0;
	if (!f->timeout_ms) {
		rc = tool_settings(r, &s, err);
		if (rc >= 0)
			rc = prepare_plain(s, &job, err);
		const struct airlock_plan *plan = rc >= 0 ? airlock_job_plan(job) : NULL;
		if (rc >= 0 && !plan)
			rc = tool_error(err, AIRLOCK_ERR_INTERNAL, "out of memory");
		f->timeout_ms = plan ? plan->timeout_ms : 0;
		airlock_job_free(job);
		airlock_settings_free(s);
	}
	*ret_ms = f->timeout_ms;
	return rc;
}

/* ── Runs ── */

void tool_remember_run(struct tool_context *f, const char *id)
{
	char *slot = f->own_runs[f->n_own_runs++ % TOOL_OWN_RUNS];
	(void)snprintf(slot, sizeof f->own_runs[0], "%s", id);
}

const char *tool_last_run(const struct tool_context *f)
{
	return f->n_own_runs ? f->own_runs[(f->n_own_runs - 1) % TOOL_OWN_RUNS] : NULL;
}

bool tool_is_own_run(const struct tool_context *f, const char *id)
{
	for (size_t i = 0; i < f->n_own_runs && i < TOOL_OWN_RUNS; i++)
		if (strcmp(f->own_runs[i], id) == 0)
			return true;
	return false;
}

/* The directory that the server works in. */
static int find_project(const struct mcp_request *r, const char **ret, struct airlock_error *err)
{
	struct tool_context *f = tool_context_of(r);
	struct airlock_settings *s = NULL;
	struct airlock_place *place = NULL;
	int rc = 0;
	if (!f->project) {
		rc = tool_settings(r, &s, err);
		if (rc >= 0)
			rc = airlock_place_open(s, NULL, &place, err);
		f->project = rc >= 0 ? strdup(airlock_place_dir(place)) : NULL;
		if (rc >= 0 && !f->project)
			rc = tool_error(err, AIRLOCK_ERR_INTERNAL, "out of memory");
		airlock_place_free(place);
		airlock_settings_free(s);
	}
	*ret = f->project;
	return rc;
}

/* Runs of another project are none of this client's business, whether they changed something or only printed. */
static int check_project(const struct mcp_request *r, const struct airlock_settings *s, const char *id,
			 const char *asked, struct airlock_error *err)
{
	const char *project = NULL;
	struct airlock_history *h = NULL;
	int rc = find_project(r, &project, err);
	if (rc >= 0)
		rc = airlock_history_open(s, id, &h, err);
	if (rc >= 0 && strcmp(airlock_history_run(h)->project, project) != 0)
		rc = tool_error(err, AIRLOCK_ERR_NOT_FOUND, "there is no run \"%s\" of this project", asked);
	airlock_history_free(h);
	return rc;
}

int tool_find_run(const struct mcp_request *r, const struct airlock_settings *s, const char *run, char ret_id[48],
		  struct airlock_error *err)
{
	const struct tool_context *f = tool_context_of(r);
	struct airlock_changes *changes = NULL;
	if (strcmp(run, "last") == 0 && tool_last_run(f))
		run = tool_last_run(f);
	int rc = airlock_changes_open(s, run, &changes, err);
	if (rc >= 0 && !tool_is_own_run(f, airlock_changes_run(changes)))
		rc = check_project(r, s, airlock_changes_run(changes), run, err);
	if (rc >= 0)
		(void)snprintf(ret_id, 48, "%s", airlock_changes_run(changes));
	airlock_changes_free(changes);
	return rc;
}

int tool_find_decided(const struct mcp_request *r, const struct airlock_settings *s, const char *run,
		      char ret_name[TOOL_NAME_SIZE], struct airlock_error *err)
{
	struct airlock_changes *changes = NULL;
	char id[48] = "";
	int rc = tool_find_run(r, s, run, id, err);
	if (rc >= 0)
		rc = airlock_changes_open(s, id, &changes, err);
	if (rc >= 0)
		(void)snprintf(ret_name, TOOL_NAME_SIZE, "%s", airlock_changes_name(changes));
	airlock_changes_free(changes);
	return rc;
}

json_t *tool_changes(struct airlock_changes *changes)
{
	const char *json = airlock_changes_json(changes);
	return json ? json_loads(json, 0, NULL) : NULL;
}

/* ── Answers ── */

char *tool_join(char *text, const char *more)
{
	char *joined = NULL;
	if (text && more && asprintf(&joined, "%s%s", text, more) < 0)
		joined = NULL;
	free(text);
	return joined;
}

/* A call that is a run has the result of one, whatever its end was. */
static json_t *failure_data(json_t *whole, bool is_run)
{
	json_t *data = is_run && whole ? run_result_brief(whole, NULL) : json_incref(whole);
	json_decref(whole);
	return data;
}

json_t *tool_failure(const struct airlock_error *err, bool is_run, bool with_hint)
{
	char *text = NULL, *json = is_run ? airlock_failure_json(err) : airlock_error_json(err);
	bool has_hint = with_hint && err->hint[0];
	if (asprintf(&text, "ERROR: %s%s%s", err->message, has_hint ? "\nHint: " : "", has_hint ? err->hint : "") < 0)
		text = NULL;
	json_t *result = mcp_tool_text(text ? text : "ERROR: out of memory",
				       failure_data(json ? json_loads(json, 0, NULL) : NULL, is_run), true);
	free(text);
	airlock_free(json);
	return result;
}

void tool_fail(struct mcp_request *r, const struct airlock_error *err)
{
	mcp_reply(r, tool_failure(err, false, true));
}

void tool_fail_run(struct mcp_request *r, const struct airlock_error *err)
{
	mcp_reply(r, tool_failure(err, true, true));
}

void tool_reply(struct mcp_request *r, const char *text, const char *json)
{
	json_t *data = json ? json_loads(json, 0, NULL) : NULL;
	struct airlock_error err;
	if (text && data) {
		mcp_reply(r, mcp_tool_text(text, data, false));
		return;
	}
	json_decref(data);
	(void)tool_error(&err, AIRLOCK_ERR_INTERNAL, "out of memory");
	tool_fail(r, &err);
}

int tool_paths(json_t *arguments, const char ***ret, struct airlock_error *err)
{
	json_t *paths = json_object_get(arguments, "paths"), *path;
	size_t i;
	*ret = NULL;
	if (json_array_size(paths) == 0)
		return 0;
	*ret = calloc(json_array_size(paths) + 1, sizeof **ret);
	if (!*ret)
		return tool_error(err, AIRLOCK_ERR_INTERNAL, "out of memory");
	json_array_foreach(paths, i, path)(*ret)[i] = json_string_value(path);
	return 0;
}

json_t *tool_base64(const char *bytes, size_t len)
{
	char *text = airlock_text_base64(bytes, len);
	json_t *string = text ? json_string(text) : NULL;
	airlock_free(text);
	return string;
}
