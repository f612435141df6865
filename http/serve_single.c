/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* With --single: the routes of kubernetes-sigs/agent-sandbox, on the one sandbox that the token has then. Their shapes are those of its
 * Python runtime; errors are ours. */
#include "serve_state.h"

#include <stdlib.h>
#include <string.h>

static struct serve_sandbox *the_sandbox(struct http_request *r)
{
	struct airlock_error err = {0};
	struct serve_sandbox *b = NULL;
	if (serve_refuses_work(r))
		return NULL;
	if (serve_find_default(http_data(r), serve_token_of(r), &b, &err) < 0)
		http_reply_failure(r, &err);
	return b;
}

static void execute(struct http_request *r)
{
	struct serve_sandbox *b = the_sandbox(r);
	json_t *arguments = b ? http_body_json(r) : NULL;
	if (arguments)
		serve_execute(r, b, arguments, true);
	json_decref(arguments);
}

/* ── Upload ── */

struct form_upload {
	struct serve *serve;
	struct serve_sandbox *sandbox;
	struct http_form *form;
	struct airlock_place *place;
	struct airlock_upload *upload;
	char *name;
	int64_t left;
};

static void release(void *state)
{
	struct form_upload *u = state;
	http_form_free(u->form);
	airlock_upload_free(u->upload);
	airlock_place_free(u->place);
	serve_leave(u->serve, u->sandbox);
	free(u->name);
	free(u);
}

static void take_part(struct http_request *r, const char *name, const char *file, const void *data, size_t len)
{
	struct form_upload *u = http_state(r);
	struct airlock_error err = {0};
	if (strcmp(name, "file") != 0 || http_has_reply(r))
		return;
	if (!u->upload) {
		u->name = strdup(file ? file : "");
		if (!u->name || airlock_upload_begin(u->place, u->name, &u->upload, &err) < 0) {
			http_reply_failure(r, &err);
			return;
		}
	}
	u->serve->metrics.bytes_in += len;
	if (u->left >= 0 && (u->left -= (int64_t)len) < 0) {
		u->serve->metrics.quota_hits[SERVE_QUOTA_DISK]++;
		http_reply_error(r, 507, "limit", "the sandbox may not use that much disk");
	} else if (airlock_upload_write(u->upload, data, len, &err) < 0) {
		http_reply_failure(r, &err);
	}
}

static void upload(struct http_request *r)
{
	struct airlock_error err = {0};
	struct serve_sandbox *b = the_sandbox(r);
	struct form_upload *u = b ? calloc(1, sizeof *u) : NULL;
	if (!u) {
		if (b)
			http_reply_error(r, 503, "internal", "out of memory");
		return;
	}
	*u = (struct form_upload){.serve = http_data(r), .sandbox = b};
	u->left = serve_disk_left(u->serve, serve_token_of(r), b);
	serve_enter(u->serve, b);
	http_keep(r, u, release, NULL);
	u->form = http_form_new(r, take_part);
	if (!u->form)
		http_reply_error(r, 400, "invalid", "the body must be multipart/form-data with a part named file");
	else if (serve_place(u->serve, serve_token_of(r), b, &u->place, &err) < 0)
		http_reply_failure(r, &err);
}

static void upload_body(struct http_request *r, const void *data, size_t len)
{
	struct form_upload *u = http_state(r);
	struct airlock_error err = {0};
	struct airlock_files *files = NULL;
	if (len > 0) {
		if (!http_form_feed(u->form, data, len) && !http_has_reply(r))
			http_reply_error(r, 400, "invalid", "the form is malformed");
		return;
	}
	if (!u->upload) {
		http_reply_error(r, 400, "invalid", "the form has no part named file");
	} else if (airlock_upload_commit(u->upload, &files, &err) < 0) {
		http_reply_failure(r, &err);
	} else {
		char *inert = airlock_text_inert(u->name, strlen(u->name));
		serve_audit(u->serve, serve_token_of(r), "write", u->sandbox->id, u->name, 200);
		http_reply_json(r, 200, json_pack("{s:s+}", "message", inert ? inert : "", " was uploaded."));
		airlock_free(inert);
	}
	airlock_files_free(files);
}

/* ── Looking ── */

static void download(struct http_request *r)
{
	struct serve_sandbox *b = the_sandbox(r);
	if (b)
		serve_send_file(r, b, http_param(r, 0));
}

/* The files of a directory, NULL with err filled. */
static struct airlock_files *look(struct http_request *r, struct serve_sandbox *b, struct airlock_error *err)
{
	struct airlock_place *place = NULL;
	struct airlock_files *files = NULL;
	if (serve_place(http_data(r), serve_token_of(r), b, &place, err) >= 0)
		(void)airlock_files_ls(place, http_param(r, 0), &files, err);
	airlock_place_free(place);
	return files;
}

static json_t *text_json(const char *bytes)
{
	json_t *text = json_string(bytes);
	char *inert = text ? NULL : airlock_text_inert(bytes, strlen(bytes));
	text = text ? text : json_string(inert ? inert : "");
	airlock_free(inert);
	return text;
}

static void list(struct http_request *r)
{
	struct airlock_error err = {0};
	struct serve_sandbox *b = the_sandbox(r);
	struct airlock_files *files = b ? look(r, b, &err) : NULL;
	if (b && !files)
		http_reply_failure(r, &err);
	if (!files)
		return;
	json_t *all = json_array();
	for (size_t i = 0; i < airlock_files_entry_count(files); i++) {
		const struct airlock_files_entry *e = airlock_files_entry_at(files, i);
		const char *slash = strrchr(e->path, '/');
		(void)json_array_append_new(
			all, json_pack("{s:o, s:I, s:s, s:f}", "name", text_json(slash ? slash + 1 : e->path), "size",
				       (json_int_t)e->size, "type", e->is_dir ? "directory" : "file", "mod_time",
				       (double)e->modified_ns / 1e9));
	}
	airlock_files_free(files);
	http_reply_json(r, 200, all);
}

static void exists(struct http_request *r)
{
	struct airlock_error err = {0};
	struct serve_sandbox *b = the_sandbox(r);
	struct airlock_files *files = b ? look(r, b, &err) : NULL;
	if (b && !files && err.code != AIRLOCK_ERR_NOT_FOUND)
		http_reply_failure(r, &err);
	else if (b)
		http_reply_json(r, 200,
				json_pack("{s:o, s:b}", "path", text_json(http_param(r, 0)), "exists", files != NULL));
	airlock_files_free(files);
}

const struct http_route serve_single_routes[] = {
	{"POST", "/execute", execute},	    {"POST", "/upload", upload, HTTP_UPLOAD, 0, upload_body},
	{"GET", "/download/{*}", download}, {"GET", "/list/{*}", list},
	{"GET", "/exists/{*}", exists},	    {0},
};
