/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Looking: the list, one run, one session, what a run wrote. The page is given what the commands print with --json, and beside it
 * what only values tell. */
#include "ui_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <airlock/history.h>
#include <airlock/session.h>

#define RUNS_SHOWN 1000
#define OUTPUT_PIECE ((uint64_t)1 << 20)

static void reply_text(struct http_request *r, FILE *out, char **text, size_t *size)
{
	if (out && fclose(out) == 0)
		http_reply_bytes(r, 200, "application/json", *text, *size);
	else
		http_reply_error(r, 503, "internal", "out of memory");
	free(*text);
}

/* ── The list ── */

static void overview(struct http_request *r)
{
	struct airlock_error err = {0};
	struct airlock_log *log = NULL;
	struct airlock_sessions *sessions = NULL;
	struct airlock_settings *s = ui_settings(r, NULL);
	if (!s)
		return;
	int rc = airlock_log_open(s, AIRLOCK_LOG_NAMED, RUNS_SHOWN, &log, &err);
	if (rc >= 0)
		rc = airlock_sessions_open(s, 1, &sessions, &err);
	const char *runs = rc < 0 ? NULL : airlock_log_json(log),
		   *list = rc < 0 ? NULL : airlock_sessions_json(sessions);
	char *text = NULL;
	size_t size = 0;
	FILE *out = runs && list ? open_memstream(&text, &size) : NULL;
	if (rc < 0) {
		http_reply_failure(r, &err);
	} else {
		if (out)
			(void)fprintf(out, "{\"version\":\"%s\",\"log\":%s,\"sessions\":%s}", airlock_version(), runs,
				      list);
		reply_text(r, out, &text, &size);
	}
	airlock_log_free(log);
	airlock_sessions_free(sessions);
	airlock_settings_free(s);
}

/* ── One ── */

/* The numbers of the changes of which this is true; they stand in the order of the JSON. */
static void put_numbers(FILE *out, const char *name, const struct airlock_changes *c, bool want_undone)
{
	const char *comma = "";
	(void)fprintf(out, ",\"%s\":[", name);
	for (size_t i = 0; c && i < airlock_changes_count(c); i++) {
		const struct airlock_change *at = airlock_changes_at(c, i);
		if (want_undone ? at->is_undone && at->state != AIRLOCK_CHANGE_APPLIED : at->is_sensitive) {
			(void)fprintf(out, "%s%zu", comma, i);
			comma = ",";
		}
	}
	(void)fputc(']', out);
}

/* Could `airlock undo` do something? */
static bool can_undo(const struct airlock_settings *s, const char *name)
{
	enum airlock_changes_action action = AIRLOCK_ACTION_NONE;
	return airlock_changes_undo_action(s, name, NULL, &action, NULL) >= 0 && action != AIRLOCK_ACTION_NONE;
}

/* holder: the session that a step is decided with; NULL: none. */
static void reply_one(struct http_request *r, const char *json, const struct airlock_changes *c, const char *holder,
		      bool is_undoable)
{
	char *text = NULL, *name = holder ? airlock_text_json(holder, strlen(holder)) : NULL;
	size_t size = 0;
	FILE *out = json && (!holder || name) ? open_memstream(&text, &size) : NULL;
	if (out) {
		(void)fprintf(out, "{\"show\":%s,\"holder\":%s,\"can_undo\":%s", json, name ? name : "null",
			      is_undoable ? "true" : "false");
		put_numbers(out, "undone", c, true);
		put_numbers(out, "sensitive", c, false);
		(void)fputc('}', out);
	}
	reply_text(r, out, &text, &size);
	airlock_free(name);
}

static void one_run(struct http_request *r)
{
	struct airlock_error err = {0};
	struct airlock_history *h = NULL;
	struct airlock_settings *s = ui_settings(r, NULL);
	if (!s)
		return;
	if (airlock_history_open(s, http_param(r, 0), &h, &err) < 0) {
		http_reply_failure(r, &err);
	} else {
		const struct airlock_changes *c = airlock_history_changes(h);
		const char *id = airlock_history_run(h)->id, *name = c ? airlock_changes_name(c) : id;
		reply_one(r, airlock_history_json(h), c, strcmp(name, id) == 0 ? NULL : name, false);
	}
	airlock_history_free(h);
	airlock_settings_free(s);
}

static void one_session(struct http_request *r)
{
	struct airlock_error err = {0};
	struct airlock_session *session = NULL;
	char *project = http_query(r, "project");
	struct airlock_settings *s = project ? ui_settings(r, project) : NULL;
	if (!project)
		http_reply_error(r, 400, "invalid", "a session needs its project");
	else if (s && airlock_session_open(s, http_param(r, 0), &session, &err) < 0)
		http_reply_failure(r, &err);
	else if (s)
		reply_one(r, airlock_session_json(session), airlock_session_changes(session), NULL,
			  can_undo(s, http_param(r, 0)));
	airlock_session_free(session);
	airlock_settings_free(s);
	free(project);
}

/* ── Output ── */

static uint64_t number(const struct http_request *r, const char *name, uint64_t fallback)
{
	char *text = http_query(r, name), *end = NULL;
	unsigned long long n = text ? strtoull(text, &end, 10) : 0;
	bool is_one = text && end != text && !*end && text[0] >= '0' && text[0] <= '9';
	free(text);
	return is_one ? n : fallback;
}

/* ?stream=stderr; from and length, or the last so many bytes. The whole size is in Airlock-Size. */
static void output(struct http_request *r)
{
	struct airlock_error err = {0};
	struct airlock_settings *s = ui_settings(r, NULL);
	char *stream = http_query(r, "stream"), whole[32];
	struct stat st;
	int fd = -1;
	int rc = s ? airlock_output_open(s, http_param(r, 0), stream && strcmp(stream, "stderr") == 0, &fd, &err) : 0;
	if (s && rc < 0)
		http_reply_failure(r, &err);
	if (fd >= 0) {
		uint64_t size = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
		uint64_t last = number(r, "last", 0), from = number(r, "from", 0),
			 length = number(r, "length", OUTPUT_PIECE);
		if (last > 0)
			from = size > last ? size - last : 0;
		from = from < size ? from : size;
		length = length < OUTPUT_PIECE ? length : OUTPUT_PIECE;
		(void)snprintf(whole, sizeof whole, "%llu", (unsigned long long)size);
		http_add_header(r, "Airlock-Size", whole);
		http_reply_file(r, 200, "application/octet-stream", fd, from,
				size - from < length ? size - from : length);
	}
	free(stream);
	airlock_settings_free(s);
}

const struct http_route ui_look_routes[] = {
	{"GET", "/ui/overview", overview},
	{"GET", "/ui/run/{}", one_run},
	{"GET", "/ui/session/{}", one_session},
	{"GET", "/ui/output/{}", output},
	{0},
};
