/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Deciding: each handler calls the function of the library that the command of the same name calls. */
#include "ui_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <airlock/questions.h>
#include <airlock/session.h>

#define PATHS_BODY_MAX ((size_t)16 << 20) /* ten thousand long paths */

/* The target of a decision: a run or session, and some of its paths. */
struct ui_decision {
	json_t *body;
	struct ui_subject of;
	char **paths; /* NULL: all */
};

static void decision_done(struct ui_decision *d)
{
	for (char **path = d->paths; path && *path; path++)
		free(*path);
	free(d->paths);
	ui_subject_done(&d->of);
	json_decref(d->body);
}

/* An entry is a path, or {"root", "base64"}. */
static char *path_of(const json_t *entry)
{
	const char *text = json_string_value(entry), *root = json_string_value(json_object_get(entry, "root"));
	const char *base64 = json_string_value(json_object_get(entry, "base64"));
	if (text)
		return text[0] == '/' ? strdup(text) : NULL;
	return root && root[0] == '/' && base64 ? ui_path_of_base64(root, base64) : NULL;
}

/* No path at all would mean all of them: an empty list is refused. */
static bool read_paths(struct http_request *r, struct ui_decision *d)
{
	const json_t *list = json_object_get(d->body, "paths");
	size_t n = json_array_size(list);
	if (!list || json_is_null(list))
		return true;
	d->paths = n > 0 ? calloc(n + 1, sizeof *d->paths) : NULL;
	bool ok = d->paths != NULL;
	for (size_t i = 0; ok && i < n; i++)
		ok = (d->paths[i] = path_of(json_array_get(list, i))) != NULL;
	if (!ok)
		http_reply_error(r, 400, "invalid", "paths must be a list of absolute paths");
	return ok;
}

static bool decision_read(struct http_request *r, struct ui_decision *d)
{
	*d = (struct ui_decision){.body = http_body_json(r)};
	return d->body && ui_subject_of_body(r, d->body, &d->of) && read_paths(r, d);
}

static const char *const *paths(const struct ui_decision *d)
{
	return (const char *const *)d->paths;
}

/* ── Changes ── */

static json_t *notes_of(const struct airlock_changes *c)
{
	json_t *list = json_array();
	const struct airlock_note *note;
	for (size_t i = 0; (note = airlock_changes_note(c, i)); i++) {
		char *text = airlock_note_text(note);
		if (text)
			(void)json_array_append_new(list, ui_json_text(text));
		airlock_free(text);
	}
	return list;
}

static void reply_done(struct http_request *r, int rc, struct airlock_changes *c, const struct airlock_error *err)
{
	static const char *const names[] = {[AIRLOCK_ACTION_NONE] = "none",
					    [AIRLOCK_ACTION_APPLY] = "apply",
					    [AIRLOCK_ACTION_DISCARD] = "discard",
					    [AIRLOCK_ACTION_UNDO] = "undo",
					    [AIRLOCK_ACTION_REDO] = "redo"};
	if (rc < 0)
		http_reply_failure(r, err);
	else
		http_reply_json(r, 200,
				json_pack("{s:I,s:s,s:o}", "done", (json_int_t)airlock_changes_done_count(c), "action",
					  names[airlock_changes_action(c)], "notes", notes_of(c)));
	airlock_changes_free(c);
}

static bool is_confirmed(const json_t *list, const json_t *full)
{
	size_t i;
	json_t *at;
	json_array_foreach(list, i, at) if (json_equal(at, full)) return true;
	return false;
}

/* The changes that need a confirmation the person has not given yet, in the form that the page shows. NULL: out of memory. */
static json_t *unconfirmed(const struct airlock_changes *c, const json_t *confirmed, bool *ret_any)
{
	json_t *list = json_array();
	for (size_t i = 0; i < airlock_changes_count(c); i++) {
		const struct airlock_change *at = airlock_changes_at(c, i);
		char *full = NULL, *why = airlock_change_reason_text(at);
		json_t *name = asprintf(&full, "%s/%s", at->root, at->path) < 0 ? NULL : ui_json_text(full);
		*ret_any = *ret_any || !name || !is_confirmed(confirmed, name);
		(void)json_array_append_new(list, json_pack("{s:o,s:o,s:o}", "path", ui_json_text(at->path), "reason",
							    ui_json_text(why ? why : ""), "full", name));
		airlock_free(why);
		free(full);
	}
	return list;
}

/* As `airlock apply` on a terminal: what other programs run or obey is listed and asked about first. True: go on. */
static bool confirm(struct http_request *r, const struct ui_decision *d)
{
	struct airlock_error err = {0};
	struct airlock_changes *c = NULL;
	bool is_any = false;
	if (airlock_changes_sensitive(d->of.settings, d->of.name, paths(d), &c, &err) < 0) {
		http_reply_failure(r, &err);
		return false;
	}
	json_t *list = unconfirmed(c, json_object_get(d->body, "confirmed"), &is_any);
	airlock_changes_free(c);
	if (is_any)
		http_reply_json(r, 409,
				json_pack("{s:{s:s,s:s},s:O}", "error", "code", "confirm", "message",
					  "other programs would run or obey some of these changes", "sensitive", list));
	json_decref(list);
	return !is_any;
}

static void apply(struct http_request *r)
{
	struct airlock_error err = {0};
	struct airlock_changes *c = NULL;
	struct ui_decision d;
	if (decision_read(r, &d) && confirm(r, &d)) {
		const struct ui_subject *of = &d.of;
		bool force = json_is_true(json_object_get(d.body, "force"));
		int rc = json_is_true(json_object_get(d.body, "merge"))
				 ? airlock_changes_apply_merged(of->settings, of->name, paths(&d), &c, &err)
				 : airlock_changes_apply(of->settings, of->name, paths(&d), force, &c, &err);
		reply_done(r, rc, c, &err);
	}
	decision_done(&d);
}

static void discard(struct http_request *r)
{
	struct airlock_error err = {0};
	struct airlock_changes *c = NULL;
	struct ui_decision d;
	if (decision_read(r, &d)) {
		int rc = airlock_changes_discard(d.of.settings, d.of.name, paths(&d), &c, &err);
		reply_done(r, rc, c, &err);
	}
	decision_done(&d);
}

static void undo(struct http_request *r)
{
	struct airlock_error err = {0};
	struct airlock_changes *c = NULL;
	struct ui_decision d;
	if (decision_read(r, &d)) {
		bool force = json_is_true(json_object_get(d.body, "force"));
		int rc = airlock_changes_undo(d.of.settings, d.of.name, paths(&d), force, &c, &err);
		reply_done(r, rc, c, &err);
	}
	decision_done(&d);
}

/* ── Sessions ── */

static bool session_read(struct http_request *r, struct ui_decision *d)
{
	if (!decision_read(r, d))
		return false;
	if (!d->of.is_session)
		http_reply_error(r, 400, "invalid", "expected a session and its project");
	return d->of.is_session;
}

static void reply_session(struct http_request *r, int rc, const struct ui_decision *d, const struct airlock_error *err)
{
	if (rc < 0)
		http_reply_failure(r, err);
	else
		http_reply_json(r, 200, json_pack("{s:s}", "session", d->of.name));
}

static void rewind_to(struct http_request *r)
{
	struct airlock_error err = {0};
	struct ui_decision d;
	if (session_read(r, &d)) {
		const json_t *step = json_object_get(d.body, "step");
		if (!json_is_integer(step) || json_integer_value(step) < 0)
			http_reply_error(r, 400, "invalid", "step must be a number");
		else
			reply_session(r,
				      airlock_session_rewind(d.of.settings, d.of.name,
							     (uint64_t)json_integer_value(step), &err),
				      &d, &err);
	}
	decision_done(&d);
}

static json_t *lines_of(const char *text)
{
	json_t *list = json_array();
	while (text && *text) {
		size_t len = strcspn(text, "\n");
		char *line = strndup(text, len);
		if (line)
			(void)json_array_append_new(list, ui_json_text(line));
		free(line);
		text += len + (text[len] == '\n');
	}
	return list;
}

static void merge(struct http_request *r)
{
	struct airlock_error err = {0};
	struct ui_decision d;
	char *conflicts = NULL;
	uint64_t step = 0;
	if (session_read(r, &d)) {
		const char *into = json_string_value(json_object_get(d.body, "into"));
		int rc = airlock_session_merge(d.of.settings, d.of.name, into ? into : "", &step, &conflicts, &err);
		if (rc < 0 && conflicts && *conflicts)
			http_reply_json(r, 409,
					json_pack("{s:{s:s,s:o},s:o}", "error", "code", "conflict", "message",
						  ui_json_text(err.message), "conflicts", lines_of(conflicts)));
		else if (rc < 0)
			http_reply_failure(r, &err);
		else
			http_reply_json(r, 200, json_pack("{s:I}", "step", (json_int_t)step));
	}
	airlock_free(conflicts);
	decision_done(&d);
}

static void fork_session(struct http_request *r)
{
	struct airlock_error err = {0};
	struct ui_decision d;
	if (session_read(r, &d)) {
		const char *name = json_string_value(json_object_get(d.body, "name"));
		reply_session(r, airlock_session_fork(d.of.settings, d.of.name, name ? name : "", &err), &d, &err);
	}
	decision_done(&d);
}

static void end(struct http_request *r)
{
	struct airlock_error err = {0};
	struct ui_decision d;
	if (session_read(r, &d))
		reply_session(r, airlock_session_end(d.of.settings, d.of.name, &err), &d, &err);
	decision_done(&d);
}

/* ── Questions ── */

static void answer(struct http_request *r)
{
	struct airlock_error err = {0};
	json_t *body = http_body_json(r);
	const char *id = json_string_value(json_object_get(body, "id"));
	const char *word = json_string_value(json_object_get(body, "answer"));
	enum airlock_answer said = AIRLOCK_DENY;
	struct airlock_settings *s = body ? ui_settings(r, NULL) : NULL;
	if (s && (!id || !word || airlock_answer_parse(word, &said) < 0))
		http_reply_error(r, 400, "invalid", "expected the id of a question, and one of its answers");
	else if (s && airlock_questions_answer(s, id, said, &err) < 0)
		http_reply_failure(r, &err);
	else if (s)
		http_reply_json(r, 200, json_pack("{s:s}", "id", id));
	airlock_settings_free(s);
	json_decref(body);
}

const struct http_route ui_act_routes[] = {
	{"POST", "/ui/apply", apply, 0, PATHS_BODY_MAX},
	{"POST", "/ui/discard", discard, 0, PATHS_BODY_MAX},
	{"POST", "/ui/undo", undo, 0, PATHS_BODY_MAX},
	{"POST", "/ui/rewind", rewind_to},
	{"POST", "/ui/merge", merge},
	{"POST", "/ui/fork", fork_session},
	{"POST", "/ui/end", end},
	{"POST", "/ui/answer", answer},
	{0},
};
