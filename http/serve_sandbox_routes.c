/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* /v1/sandboxes: make, list, look at, delete. */
#include "serve_state.h"

#include <stdlib.h>
#include <string.h>

#include "http_options.h"

const struct serve_token *serve_token_of(const struct http_request *r)
{
	return http_identity(r);
}

bool serve_refuses_work(struct http_request *r)
{
	const struct serve *s = http_data(r);
	if (!s->is_draining)
		return false;
	http_add_header(r, "Retry-After", "5");
	http_reply_error(r, 503, "unavailable", "the server is about to end and takes no new work");
	return true;
}

struct serve_sandbox *serve_requested(struct http_request *r, const char *id)
{
	struct serve_sandbox *b = NULL;
	struct airlock_error err = {0};
	if (serve_find(http_data(r), serve_token_of(r), id, &b, &err) < 0)
		http_reply_failure(r, &err);
	return b;
}

/* ── What a client may ask for ── */

static int refuse(struct airlock_error *err, const char *key, const char *form)
{
	return http_fail(err, AIRLOCK_ERR_INVALID, key, "%s must be %s", key, form);
}

/* A number of seconds, or "90s". */
static int read_timeout(json_t *value, int64_t *ret_ms)
{
	int64_t seconds = 0;
	if (json_is_number(value) && json_number_value(value) > 0 && json_number_value(value) < 1e9) {
		*ret_ms = (int64_t)(json_number_value(value) * 1000);
		return *ret_ms > 0 ? 0 : AIRLOCK_ERR_INVALID;
	}
	if (!json_is_string(value) || http_parse_seconds(json_string_value(value), &seconds) < 0 || seconds <= 0)
		return AIRLOCK_ERR_INVALID;
	*ret_ms = seconds * 1000;
	return 0;
}

static int read_size(json_t *value, int64_t *ret)
{
	if (json_is_integer(value))
		*ret = json_integer_value(value);
	else if (!json_is_string(value) || http_parse_size(json_string_value(value), ret) < 0)
		return AIRLOCK_ERR_INVALID;
	return *ret > 0 ? 0 : AIRLOCK_ERR_INVALID;
}

static int read_limits(json_t *table, struct serve_limits *ret, struct airlock_error *err)
{
	const char *key;
	json_t *value;
	if (table && !json_is_object(table))
		return refuse(err, "limits", "an object");
	json_object_foreach(table, key, value)
	{
		if (strcmp(key, "timeout") == 0) {
			if (read_timeout(value, &ret->timeout_ms) < 0)
				return refuse(err, "limits.timeout",
					      "a number of seconds, or a duration such as \"90s\"");
		} else if (strcmp(key, "memory") == 0) {
			if (read_size(value, &ret->memory) < 0)
				return refuse(err, "limits.memory", "a number of bytes, or a size such as \"512M\"");
		} else if (strcmp(key, "disk") == 0) {
			if (read_size(value, &ret->disk) < 0)
				return refuse(err, "limits.disk", "a number of bytes, or a size such as \"512M\"");
		} else if (strcmp(key, "pids") == 0) {
			ret->pids = json_integer_value(value);
			if (!json_is_integer(value) || ret->pids <= 0)
				return refuse(err, "limits.pids", "a number of processes");
		} else {
			return http_fail(err, AIRLOCK_ERR_INVALID, key,
					 "unknown limit '%.64s'; expected one of: timeout, memory, pids, disk", key);
		}
	}
	return 0;
}

static int read_hosts(json_t *list, char ***ret, struct airlock_error *err)
{
	size_t n = json_array_size(list), i;
	json_t *host;
	if (list && !json_is_array(list))
		return refuse(err, "hosts", "a list of texts");
	char **hosts = n ? calloc(n + 1, sizeof *hosts) : NULL;
	*ret = hosts;
	json_array_foreach(list, i, host)
	{
		if (!json_is_string(host))
			return refuse(err, "hosts", "a list of texts");
		if (!hosts || !(hosts[i] = strdup(json_string_value(host))))
			return http_fail(err, AIRLOCK_ERR_INTERNAL, "hosts", "out of memory");
	}
	return 0;
}

static int read_text(json_t *body, const char *key, const char **ret, struct airlock_error *err)
{
	json_t *value = json_object_get(body, key);
	if (value && !json_is_null(value) && !json_is_string(value))
		return refuse(err, key, "a text");
	*ret = json_string_value(value);
	return 0;
}

static int read_wish(json_t *body, struct serve_wish *wish, struct airlock_error *err)
{
	static const char *const known[] = {"id", "profile", "limits", "hosts", NULL};
	const char *key;
	json_t *value;
	json_object_foreach(body, key, value)
	{
		const char *const *k = known;
		while (*k && strcmp(*k, key) != 0)
			k++;
		if (!*k)
			return http_fail(err, AIRLOCK_ERR_INVALID, key,
					 "unknown key '%.64s'; expected one of: id, profile, limits, hosts", key);
	}
	int rc = read_text(body, "id", &wish->id, err);
	if (rc >= 0)
		rc = read_text(body, "profile", &wish->profile, err);
	if (rc >= 0)
		rc = read_limits(json_object_get(body, "limits"), &wish->limits, err);
	return rc < 0 ? rc : read_hosts(json_object_get(body, "hosts"), &wish->hosts, err);
}

static int check_rights(const struct serve_token *token, const struct serve_wish *wish, struct airlock_error *err)
{
	if (token->memory >= 0 && wish->limits.memory > token->memory)
		return http_fail(err, AIRLOCK_ERR_BLOCKED, "limits.memory",
				 "this token's sandboxes may have %lld bytes of memory", (long long)token->memory);
	if (token->disk >= 0 && wish->limits.disk > token->disk)
		return http_fail(err, AIRLOCK_ERR_BLOCKED, "limits.disk",
				 "this token's sandboxes may have %lld bytes of disk", (long long)token->disk);
	return 0;
}

/* ── Routes ── */

static void create(struct http_request *r)
{
	struct serve *s = http_data(r);
	const struct serve_token *token = serve_token_of(r);
	struct airlock_error err = {0};
	struct serve_sandbox *b = NULL;
	struct serve_wish wish = {0};
	bool is_quota = false;
	json_t *body = serve_refuses_work(r) ? NULL : http_body_json(r);
	if (!body)
		return;
	int rc = read_wish(body, &wish, &err);
	if (rc >= 0)
		rc = check_rights(token, &wish, &err);
	if (rc >= 0)
		rc = serve_create(s, token, &wish, &b, &is_quota, &err);
	if (rc < 0 && is_quota)
		http_reply_error(r, 429, "limit", "%s", err.message);
	else if (rc < 0)
		http_reply_failure(r, &err);
	else
		http_reply_json(r, 201, serve_sandbox_json(b));
	serve_audit(s, token, "create", b ? b->id : wish.id, NULL, rc < 0 ? http_status_of(&err) : 201);
	for (char **h = wish.hosts; h && *h; h++)
		free(*h);
	free(wish.hosts);
	json_decref(body);
}

static void list(struct http_request *r)
{
	struct serve *s = http_data(r);
	json_t *all = json_array();
	char **ids = serve_list(s, serve_token_of(r));
	for (char **id = ids; id && *id; id++) {
		struct airlock_error ignored = {0};
		struct serve_sandbox *b = NULL;
		int64_t used = 0;
		for (b = s->sandboxes; b; b = b->next) /* looking is not using */
			if (strcmp(b->id, *id) == 0 && strcmp(b->owner, serve_token_of(r)->name) == 0)
				used = b->used_s;
		if (serve_find(s, serve_token_of(r), *id, &b, &ignored) >= 0) {
			b->used_s = used ? used : b->used_s;
			(void)json_array_append_new(all, serve_sandbox_json(b));
		}
		free(*id);
	}
	free(ids);
	http_reply_json(r, 200, json_pack("{s:o}", "sandboxes", all));
}

static void show(struct http_request *r)
{
	struct serve_sandbox *b = serve_requested(r, http_param(r, 0));
	if (b)
		http_reply_json(r, 200, serve_sandbox_json(b));
}

static void delete (struct http_request *r)
{
	struct serve *s = http_data(r);
	struct airlock_error err = {0};
	struct serve_sandbox *b = serve_requested(r, http_param(r, 0));
	if (!b)
		return;
	serve_audit(s, serve_token_of(r), "delete", b->id, NULL, 204);
	serve_end_runs_of(s, b);
	if (serve_delete(s, b, &err) < 0)
		http_reply_failure(r, &err);
	else
		http_reply_empty(r, 204);
}

const struct http_route serve_sandbox_routes[] = {
	{"POST", "/v1/sandboxes", create},
	{"GET", "/v1/sandboxes", list},
	{"GET", "/v1/sandboxes/{}", show},
	{"DELETE", "/v1/sandboxes/{}", delete},
	{0},
};
