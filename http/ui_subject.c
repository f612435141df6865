/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds the run or session that a request names. */
#include "ui_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <airlock/session.h>

#include "http_options.h"

struct airlock_settings *ui_settings(struct http_request *r, const char *project)
{
	struct airlock_error err = {0};
	struct airlock_settings *s = airlock_settings_new();
	int rc = s ? airlock_settings_set_environ(s, environ, &err)
		   : http_fail(&err, AIRLOCK_ERR_INTERNAL, "ui", "out of memory");
	if (rc >= 0 && project)
		rc = airlock_settings_set(s, "project", project, "the page", &err);
	if (rc >= 0)
		return s;
	http_reply_failure(r, &err);
	airlock_settings_free(s);
	return NULL;
}

void ui_subject_done(struct ui_subject *s)
{
	airlock_settings_free(s->settings);
	free(s->name);
	*s = (struct ui_subject){0};
}

/* A name of a session needs its project; a run is found by itself. "last" and beginnings of ids mean something else a moment later. */
static bool make(struct http_request *r, const char *run, const char *session, const char *project,
		 struct ui_subject *ret)
{
	bool is_run = run && !session && !airlock_session_is_name(run) && strcmp(run, "last") != 0 && *run;
	bool is_session = session && !run && project && project[0] == '/' && airlock_session_is_name(session);
	*ret = (struct ui_subject){0};
	if (!is_run && !is_session) {
		http_reply_error(r, 400, "invalid", "expected a run, or a session and its project");
		return false;
	}
	*ret = (struct ui_subject){ui_settings(r, is_session ? project : NULL), strdup(is_run ? run : session),
				   is_session};
	if (ret->settings && ret->name)
		return true;
	if (!http_has_reply(r))
		http_reply_error(r, 503, "internal", "out of memory");
	ui_subject_done(ret);
	return false;
}

bool ui_subject_of_query(struct http_request *r, struct ui_subject *ret)
{
	char *run = http_query(r, "run"), *session = http_query(r, "session"), *project = http_query(r, "project");
	bool ok = make(r, run, session, project, ret);
	free(run);
	free(session);
	free(project);
	return ok;
}

bool ui_subject_of_body(struct http_request *r, const json_t *body, struct ui_subject *ret)
{
	return make(r, json_string_value(json_object_get(body, "run")),
		    json_string_value(json_object_get(body, "session")),
		    json_string_value(json_object_get(body, "project")), ret);
}

/* ── Names that are not UTF-8 ── */

static int sextet(char c)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(digits, c) : NULL;
	return at ? (int)(at - digits) : -1;
}

char *ui_path_of_base64(const char *root, const char *base64)
{
	size_t len = strcspn(base64, "="), used = strlen(root), n = 0;
	char *path = malloc(used + 1 + len + 1);
	unsigned bits = 0, have = 0;
	if (!path)
		return NULL;
	memcpy(path, root, used);
	path[used++] = '/';
	for (size_t i = 0; i < len; i++) {
		int value = sextet(base64[i]);
		bits = bits << 6 | (unsigned)(value < 0 ? 0 : value);
		have += 6;
		if (have >= 8) {
			have -= 8;
			path[used + n++] = (char)(bits >> have);
		}
		if (value < 0 || (n > 0 && !path[used + n - 1])) {
			free(path);
			return NULL;
		}
	}
	path[used + n] = '\0';
	return path;
}

json_t *ui_json_text(const char *bytes)
{
	char *text = airlock_text_json(bytes, strlen(bytes));
	json_t *value = text ? json_loads(text, JSON_DECODE_ANY, NULL) : NULL;
	airlock_free(text);
	return value;
}
