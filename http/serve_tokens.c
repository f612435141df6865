/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "serve_tokens.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "http_options.h"
#include "http_secret.h"

#define FILE_MAX (1 << 20)

bool serve_token_is_name(const char *name)
{
	size_t len = strlen(name);
	return len >= 1 && len <= 64 && name[0] != '.' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == len;
}

static void free_token(struct serve_token *t)
{
	if (t)
		free(t->name);
	free(t);
}

/* ── Reading ── */

/* Hashes only, but who can write here can let himself in. */
static int slurp(const char *path, char **ret, size_t *ret_len, struct airlock_error *err)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return http_fail(err, errno == ENOENT ? AIRLOCK_ERR_NOT_FOUND : AIRLOCK_ERR_IO, path,
				 "cannot read %s: %s", path, strerror(errno));
	char *text = calloc(1, FILE_MAX + 1);
	ssize_t n = text && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? read(fd, text, FILE_MAX) : -1;
	(void)close(fd);
	int rc = 0;
	if (n < 0)
		rc = http_fail(err, AIRLOCK_ERR_IO, path, "cannot read %s", path);
	else if ((st.st_mode & 022) || (st.st_uid != geteuid() && st.st_uid != 0))
		rc = http_fail(err, AIRLOCK_ERR_INVALID, path,
			       "%s can be changed by others: it must be yours, and writable by you only", path);
	if (rc < 0) {
		free(text);
		return rc;
	}
	*ret = text;
	*ret_len = (size_t)n;
	return 0;
}

static int bad_value(struct airlock_error *err, const char *path, const char *name, const char *key, const char *form)
{
	return http_fail(err, AIRLOCK_ERR_INVALID, path, "%s: token %s: %s must be %s", path, name, key, form);
}

static int read_count(json_t *value, int64_t *ret)
{
	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return AIRLOCK_ERR_INVALID;
	*ret = json_integer_value(value);
	return 0;
}

static int read_size(json_t *value, int64_t *ret)
{
	return json_is_string(value) ? http_parse_size(json_string_value(value), ret) : read_count(value, ret);
}

static int read_key(struct serve_token *t, const char *path, const char *key, json_t *value, struct airlock_error *err)
{
	const char *name = t->name ? t->name : "?";
	if (strcmp(key, "name") == 0)
		return 0;
	if (strcmp(key, "sha256") == 0) {
		const char *hex = json_string_value(value);
		if (!hex || strlen(hex) != 64 || strspn(hex, "0123456789abcdefABCDEF") != 64)
			return bad_value(err, path, name, key, "64 hexadecimal digits");
		for (size_t i = 0; i < 64; i++)
			t->sha256[i] = (char)(hex[i] >= 'A' && hex[i] <= 'F' ? hex[i] - 'A' + 'a' : hex[i]);
		return 0;
	}
	if (strcmp(key, "max_sandboxes") == 0)
		return read_count(value, &t->max_sandboxes) < 0 ? bad_value(err, path, name, key, "a number") : 0;
	if (strcmp(key, "requests_per_minute") == 0)
		return read_count(value, &t->requests_per_minute) < 0 ? bad_value(err, path, name, key, "a number") : 0;
	if (strcmp(key, "memory") == 0)
		return read_size(value, &t->memory) < 0 ? bad_value(err, path, name, key, "a size such as 512M") : 0;
	if (strcmp(key, "disk") == 0)
		return read_size(value, &t->disk) < 0 ? bad_value(err, path, name, key, "a size such as 10G") : 0;
	return http_fail(err, AIRLOCK_ERR_INVALID, path,
			 "%s: token %s: unknown key '%s'; expected one of: name, sha256, max_sandboxes, memory, disk, "
			 "requests_per_minute",
			 path, name, key);
}

static int read_token(json_t *table, const char *path, struct serve_token **ret, struct airlock_error *err)
{
	const char *name = json_string_value(json_object_get(table, "name")), *key;
	json_t *value;
	int rc = 0;
	if (!json_is_object(table) || !name || !serve_token_is_name(name))
		return http_fail(err, AIRLOCK_ERR_INVALID, path,
				 "%s: a token needs a name of letters, digits, '.', '_' and '-', at most 64", path);
	struct serve_token *t = calloc(1, sizeof *t);
	if (t)
		*t = (struct serve_token){
			.name = strdup(name), .max_sandboxes = -1, .memory = -1, .disk = -1, .requests_per_minute = -1};
	if (!t || !t->name)
		rc = http_fail(err, AIRLOCK_ERR_INTERNAL, path, "out of memory");
	json_object_foreach(table, key, value) if (rc >= 0) rc = read_key(t, path, key, value, err);
	if (rc >= 0 && !t->sha256[0])
		rc = http_fail(err, AIRLOCK_ERR_INVALID, path, "%s: token %s has no sha256", path, name);
	if (rc < 0) {
		free_token(t);
		return rc;
	}
	t->allowance = (double)t->requests_per_minute;
	*ret = t;
	return 0;
}

static int add_token(struct serve_tokens *t, struct serve_token *token, const char *path, struct airlock_error *err)
{
	for (size_t i = 0; i < t->n; i++)
		if (strcmp(t->items[i]->name, token->name) == 0 || strcmp(t->items[i]->sha256, token->sha256) == 0)
			return http_fail(err, AIRLOCK_ERR_INVALID, path,
					 "%s: token %s is there twice, by its name or its secret", path, token->name);
	struct serve_token **grown = realloc(t->items, (t->n + 1) * sizeof *grown);
	if (!grown)
		return http_fail(err, AIRLOCK_ERR_INTERNAL, path, "out of memory");
	t->items = grown;
	t->items[t->n++] = token;
	return 0;
}

static int parse(struct serve_tokens *t, json_t *root, const char *path, struct airlock_error *err)
{
	json_t *list = json_object_get(root, "token"), *table;
	const char *key;
	size_t i;
	int rc = 0;
	json_object_foreach(root, key, table) if (strcmp(key, "token") != 0) return http_fail(
		err, AIRLOCK_ERR_INVALID, path, "%s: unknown key '%s'; expected one of: token", path, key);
	if (list && !json_is_array(list))
		return http_fail(err, AIRLOCK_ERR_INVALID, path, "%s: each token begins with [[token]]", path);
	json_array_foreach(list, i, table)
	{
		struct serve_token *token = NULL;
		rc = read_token(table, path, &token, err);
		if (rc >= 0)
			rc = add_token(t, token, path, err);
		if (rc < 0) {
			free_token(token);
			return rc;
		}
	}
	return 0;
}

/* A token of the same name stays the same object: requests point to it, and what it has used up counts on. */
static void take_over(struct serve_tokens *t, struct serve_tokens *fresh)
{
	for (size_t i = 0; i < t->n; i++)
		t->items[i]->is_gone = true;
	for (size_t i = 0; i < fresh->n; i++) {
		struct serve_token *now = fresh->items[i], *old = NULL;
		for (size_t j = 0; j < t->n && !old; j++)
			old = strcmp(t->items[j]->name, now->name) == 0 ? t->items[j] : NULL;
		struct serve_token **grown = old ? t->items : realloc(t->items, (t->n + 1) * sizeof *grown);
		if (!grown) /* out of memory: that token has to wait for the next time */
			continue;
		t->items = grown;
		if (!old) {
			t->items[t->n++] = now;
			fresh->items[i] = NULL;
			continue;
		}
		now->allowance = now->requests_per_minute == old->requests_per_minute ? old->allowance : now->allowance;
		now->allowance_ms = old->allowance_ms;
		char *name = old->name;
		struct serve_token copy = *now;
		copy.name = name;
		free(now->name);
		now->name = NULL;
		*old = copy;
	}
}

int serve_tokens_read(struct serve_tokens *t, const char *path, struct airlock_error *err)
{
	struct serve_tokens fresh = {0};
	char *text = NULL, *json = NULL;
	size_t len = 0;
	int rc = slurp(path, &text, &len, err);
	if (rc >= 0)
		rc = airlock_text_toml(text, len, path, &json, err);
	json_t *root = rc >= 0 ? json_loads(json, 0, NULL) : NULL;
	if (rc >= 0)
		rc = root ? parse(&fresh, root, path, err)
			  : http_fail(err, AIRLOCK_ERR_INVALID, path, "cannot read %s", path);
	if (rc >= 0)
		take_over(t, &fresh);
	serve_tokens_done(&fresh);
	json_decref(root);
	airlock_free(json);
	free(text);
	return rc;
}

void serve_tokens_done(struct serve_tokens *t)
{
	for (size_t i = 0; i < t->n; i++)
		free_token(t->items[i]);
	free(t->items);
	*t = (struct serve_tokens){0};
}

/* ── Using ── */

struct serve_token *serve_tokens_find(struct serve_tokens *t, const char *secret)
{
	struct serve_token *found = NULL;
	char hash[65];
	airlock_text_sha256(secret, strlen(secret), hash);
	for (size_t i = 0; i < t->n; i++) {
		bool is_it = http_secret_equal(hash, t->items[i]->sha256);
		found = is_it && !t->items[i]->is_gone ? t->items[i] : found;
	}
	return found;
}

bool serve_token_allow(struct serve_token *token, int64_t now_ms, int64_t *ret_retry_s)
{
	double rate = (double)token->requests_per_minute;
	if (token->requests_per_minute < 0)
		return true;
	if (token->allowance_ms)
		token->allowance += (double)(now_ms - token->allowance_ms) / 60000 * rate;
	token->allowance_ms = now_ms;
	if (token->allowance > rate)
		token->allowance = rate;
	if (token->allowance < 1) {
		*ret_retry_s = rate > 0 ? (int64_t)((1 - token->allowance) * 60 / rate) + 1 : 60;
		return false;
	}
	token->allowance -= 1;
	return true;
}

/* ── Adding ── */

int serve_tokens_add(const char *path, const char *name, char secret[65], struct airlock_error *err)
{
	struct serve_tokens known = {0};
	char hash[65], line[256];
	if (!serve_token_is_name(name))
		return http_fail(err, AIRLOCK_ERR_USAGE, name,
				 "not a name for a token: %s; use letters, digits, '.', '_' and '-'", name);
	int rc = serve_tokens_read(&known, path, err);
	if (rc == AIRLOCK_ERR_NOT_FOUND) {
		*err = (struct airlock_error){0};
		rc = 0;
	}
	for (size_t i = 0; rc >= 0 && i < known.n; i++)
		if (strcmp(known.items[i]->name, name) == 0)
			rc = http_fail(err, AIRLOCK_ERR_CONFLICT, name, "%s has a token %s already", path, name);
	serve_tokens_done(&known);
	if (rc >= 0)
		rc = http_secret_new(secret, err);
	if (rc < 0)
		return rc;
	airlock_text_sha256(secret, strlen(secret), hash);
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	/* The newline before it: the file may not end with one. */
	int len = snprintf(line, sizeof line, "\n[[token]]\nname = \"%s\"\nsha256 = \"%s\"\n", name, hash);
	bool is_written = fd >= 0 && write(fd, line, (size_t)len) == len && fsync(fd) == 0;
	if (fd >= 0)
		(void)close(fd);
	return is_written ? 0 : http_fail(err, AIRLOCK_ERR_IO, path, "cannot write %s: %s", path, strerror(errno));
}
