/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files of a sandbox. They stream both ways: nothing of a file is kept in memory. Which paths lead where the file API decides. */
#include "serve_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "http_options.h"

/* ── Reading ── */

/* "bytes=5-9", "bytes=5-", "bytes=-5". 1: *ret_first to *ret_last; 0: no range that we know; -1: outside of the file. */
static int parse_range(const char *text, uint64_t size, uint64_t *ret_first, uint64_t *ret_last)
{
	unsigned long long first = 0, last = 0;
	char end = 0;
	if (!text || strncmp(text, "bytes=", 6) != 0 || strchr(text, ','))
		return 0;
	text += 6;
	if (sscanf(text, "-%llu%c", &last, &end) == 1) {
		*ret_first = last < size ? size - last : 0;
		*ret_last = size - 1;
		return last > 0 && size > 0 ? 1 : -1;
	}
	int n = sscanf(text, "%llu-%llu%c", &first, &last, &end);
	bool is_open = n == 1 && text[strspn(text, "0123456789")] == '-' && !text[strspn(text, "0123456789") + 1];
	if (*text < '0' || *text > '9' || (n != 2 && !is_open) || (n == 2 && last < first))
		return 0;
	*ret_first = first;
	*ret_last = is_open || last >= size ? size - 1 : last;
	return first < size ? 1 : -1;
}

static void send_open_file(struct http_request *r, int fd, uint64_t size)
{
	struct serve *s = http_data(r);
	uint64_t first = 0, last = 0;
	char text[96];
	int range = parse_range(http_header(r, "Range"), size, &first, &last);
	http_add_header(r, "Accept-Ranges", "bytes");
	http_add_header(r, "X-Content-Type-Options", "nosniff");
	if (range < 0) {
		(void)close(fd);
		(void)snprintf(text, sizeof text, "bytes */%llu", (unsigned long long)size);
		http_add_header(r, "Content-Range", text);
		http_reply_error(r, 416, "invalid", "the file has %llu bytes", (unsigned long long)size);
		return;
	}
	if (range > 0) {
		(void)snprintf(text, sizeof text, "bytes %llu-%llu/%llu", (unsigned long long)first,
			       (unsigned long long)last, (unsigned long long)size);
		http_add_header(r, "Content-Range", text);
	} else {
		last = size - 1;
	}
	uint64_t length = size ? last - first + 1 : 0;
	s->metrics.bytes_out += strcmp(http_method(r), "HEAD") == 0 ? 0 : length;
	http_reply_file(r, range > 0 ? 206 : 200, "application/octet-stream", fd, first, length);
}

void serve_send_file(struct http_request *r, struct serve_sandbox *b, const char *path)
{
	struct airlock_error err = {0};
	struct airlock_place *place = NULL;
	struct stat st;
	int fd = -1;
	int rc = serve_place(http_data(r), serve_token_of(r), b, &place, &err);
	if (rc >= 0)
		rc = airlock_files_open(place, path, &fd, &err);
	airlock_place_free(place);
	if (rc < 0)
		http_reply_failure(r, &err);
	else if (fstat(fd, &st) < 0)
		http_reply_error(r, 503, "io", "cannot read it"), (void)close(fd);
	else
		send_open_file(r, fd, (uint64_t)st.st_size);
}

static void get_file(struct http_request *r)
{
	struct serve_sandbox *b = serve_requested(r, http_param(r, 0));
	if (b)
		serve_send_file(r, b, http_param(r, 1));
}

static void list(struct http_request *r)
{
	struct airlock_error err = {0};
	struct airlock_place *place = NULL;
	struct airlock_files *files = NULL;
	struct serve_sandbox *b = serve_requested(r, http_param(r, 0));
	if (!b)
		return;
	int rc = serve_place(http_data(r), serve_token_of(r), b, &place, &err);
	if (rc >= 0)
		rc = airlock_files_ls(place, http_param(r, 1), &files, &err);
	const char *text = rc >= 0 ? airlock_files_json(files) : NULL;
	if (rc < 0)
		http_reply_failure(r, &err);
	else
		http_reply_bytes(r, 200, "application/json", text ? text : "{}", text ? strlen(text) : 2);
	airlock_files_free(files);
	airlock_place_free(place);
}

/* ── Writing ── */

struct upload {
	struct serve *serve;
	struct serve_sandbox *sandbox;
	struct airlock_place *place;
	struct airlock_upload *upload;
	int64_t left; /* of the quota; -1: no limit */
};

static void release(void *state)
{
	struct upload *u = state;
	airlock_upload_free(u->upload);
	airlock_place_free(u->place);
	serve_leave(u->serve, u->sandbox);
	free(u);
}

static void refuse_full(struct http_request *r)
{
	struct serve *s = http_data(r);
	s->metrics.quota_hits[SERVE_QUOTA_DISK]++;
	http_reply_error(r, 507, "limit", "the sandbox may not use that much disk");
}

static void put_file(struct http_request *r)
{
	struct serve *s = http_data(r);
	struct airlock_error err = {0};
	struct serve_sandbox *b = serve_refuses_work(r) ? NULL : serve_requested(r, http_param(r, 0));
	struct upload *u = b ? calloc(1, sizeof *u) : NULL;
	if (!u) {
		if (b)
			http_reply_error(r, 503, "internal", "out of memory");
		return;
	}
	*u = (struct upload){.serve = s, .sandbox = b, .left = serve_disk_left(s, serve_token_of(r), b)};
	serve_enter(s, b);
	http_keep(r, u, release, NULL);
	int64_t length = http_body_length(r);
	if (u->left >= 0 && (u->left == 0 || length > u->left)) {
		refuse_full(r);
		return;
	}
	int rc = serve_place(s, serve_token_of(r), b, &u->place, &err);
	if (rc >= 0)
		rc = airlock_upload_begin(u->place, http_param(r, 1), &u->upload, &err);
	if (rc < 0)
		http_reply_failure(r, &err);
}

static void commit(struct http_request *r, struct upload *u)
{
	struct airlock_error err = {0};
	struct airlock_files *files = NULL;
	if (airlock_upload_commit(u->upload, &files, &err) < 0) {
		http_reply_failure(r, &err);
		return;
	}
	bool is_new = airlock_files_change(files)->action == AIRLOCK_FILES_CREATED;
	airlock_files_free(files);
	serve_audit(u->serve, serve_token_of(r), "write", u->sandbox->id, http_param(r, 1), is_new ? 201 : 204);
	if (is_new)
		http_reply_json(r, 201, json_object());
	else
		http_reply_empty(r, 204);
	u->sandbox->is_measured = u->sandbox->limits.disk > 0 || serve_token_of(r)->disk >= 0;
	if (u->sandbox->is_measured)
		serve_measure_disk(u->serve, u->sandbox);
}

static void put_body(struct http_request *r, const void *data, size_t len)
{
	struct upload *u = http_state(r);
	struct airlock_error err = {0};
	if (len == 0) {
		commit(r, u);
		return;
	}
	u->serve->metrics.bytes_in += len;
	if (u->left >= 0 && (u->left -= (int64_t)len) < 0) {
		u->left = 0;
		refuse_full(r);
	} else if (airlock_upload_write(u->upload, data, len, &err) < 0) {
		http_reply_failure(r, &err);
	}
}

/* ── Deleting ── */

struct deletion {
	struct serve *serve;
	struct serve_sandbox *sandbox;
	struct http_request *request; /* NULL: it is over */
	struct airlock_place *place;
	char *path;
	bool is_done, is_released;
};

static void free_deletion(struct deletion *d)
{
	if (!d->is_done || !d->is_released)
		return;
	airlock_place_free(d->place);
	free(d->path);
	free(d);
}

static int64_t delete_tree(void *data, struct airlock_error *err)
{
	const struct deletion *d = data;
	struct airlock_files *files = NULL;
	return airlock_files_delete(d->place, d->path, &files, err);
}

static void deleted(void *data, int64_t result, const struct airlock_error *err)
{
	struct deletion *d = data;
	if (d->request && result < 0)
		http_reply_failure(d->request, err);
	else if (d->request)
		http_reply_empty(d->request, 204);
	if (result >= 0 && d->sandbox->is_measured)
		serve_measure_disk(d->serve, d->sandbox);
	serve_leave(d->serve, d->sandbox);
	d->is_done = true;
	free_deletion(d);
}

static void release_deletion(void *state)
{
	struct deletion *d = state;
	d->request = NULL;
	d->is_released = true;
	free_deletion(d);
}

/* A directory may hold a million files: another process removes it. */
static void delete_file(struct http_request *r)
{
	struct serve *s = http_data(r);
	struct airlock_error err = {0};
	struct serve_sandbox *b = serve_refuses_work(r) ? NULL : serve_requested(r, http_param(r, 0));
	struct deletion *d = b ? calloc(1, sizeof *d) : NULL;
	if (!d) {
		if (b)
			http_reply_error(r, 503, "internal", "out of memory");
		return;
	}
	*d = (struct deletion){.serve = s, .sandbox = b, .request = r, .path = strdup(http_param(r, 1))};
	http_keep(r, d, release_deletion, NULL);
	serve_enter(s, b);
	serve_audit(s, serve_token_of(r), "remove", b->id, http_param(r, 1), 204);
	int rc = d->path ? serve_place(s, serve_token_of(r), b, &d->place, &err) : AIRLOCK_ERR_INTERNAL;
	if (rc >= 0)
		rc = serve_task_start(s, delete_tree, deleted, d, &err);
	if (rc < 0)
		deleted(d, rc, &err);
}

const struct http_route serve_file_routes[] = {
	{"GET", "/v1/sandboxes/{}/files/{*}", get_file},
	{"PUT", "/v1/sandboxes/{}/files/{*}", put_file, HTTP_UPLOAD, 0, put_body},
	{"DELETE", "/v1/sandboxes/{}/files/{*}", delete_file},
	{"GET", "/v1/sandboxes/{}/list/{*}", list},
	{0},
};
