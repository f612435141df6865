/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sandboxes: found, made, removed, and the settings of what runs in them. See serve_state.h for what is on disk. */
#include "serve_state.h"

#include <airlock/history.h>
#include <airlock/session.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "http_options.h"

#define RECORD_MAX 65536
#define DEFAULT_ID "default"

extern char **environ;

bool serve_is_id(const char *id)
{
	size_t len = strlen(id);
	bool is_first =
		(id[0] >= 'A' && id[0] <= 'Z') || (id[0] >= 'a' && id[0] <= 'z') || (id[0] >= '0' && id[0] <= '9');
	return len >= 1 && len <= SERVE_ID_MAX && is_first &&
	       strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == len;
}

static int oom(struct airlock_error *err)
{
	return http_fail(err, AIRLOCK_ERR_INTERNAL, "serve", "out of memory");
}

static int system_error(struct airlock_error *err, const char *subject, int error)
{
	(void)http_fail(err, AIRLOCK_ERR_IO, subject, "%s: %s", subject, strerror(error));
	err->errnum = error;
	return err->code;
}

static void free_hosts(char **hosts)
{
	for (char **h = hosts; h && *h; h++)
		free(*h);
	free(hosts);
}

static void free_sandbox(struct serve_sandbox *b)
{
	if (!b)
		return;
	airlock_workspace_release(b->hold);
	free(b->owner);
	free(b->id);
	free(b->dir);
	free(b->files);
	free(b->profile);
	free_hosts(b->hosts);
	free(b);
}

/* ── The record ── */

static json_t *record_json(const struct serve_sandbox *b)
{
	json_t *hosts = json_array();
	for (char **h = b->hosts; h && *h; h++)
		(void)json_array_append_new(hosts, json_string(*h));
	return json_pack("{s:s?, s:I, s:o, s:{s:I, s:I, s:I, s:I}}", "profile", b->profile, "created",
			 (json_int_t)b->created_s, "hosts", hosts, "limits", "timeout_ms",
			 (json_int_t)b->limits.timeout_ms, "memory", (json_int_t)b->limits.memory, "pids",
			 (json_int_t)b->limits.pids, "disk", (json_int_t)b->limits.disk);
}

static int write_record(const char *dir, const struct serve_sandbox *b, struct airlock_error *err)
{
	char path[4096];
	json_t *json = record_json(b);
	char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
	json_decref(json);
	(void)snprintf(path, sizeof path, "%s/sandbox.json", dir);
	int fd = text ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600) : -1;
	bool is_right = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	int error = errno;
	if (fd >= 0 && close(fd) < 0) { /* object stores upload on close */
		is_right = false;
		error = errno;
	}
	free(text);
	return is_right ? 0 : system_error(err, path, error);
}

static char **read_hosts(json_t *list)
{
	size_t n = json_array_size(list), i;
	char **hosts = n ? calloc(n + 1, sizeof *hosts) : NULL;
	json_t *host;
	json_array_foreach(list, i, host) if (hosts) hosts[i] =
		strdup(json_string_value(host) ? json_string_value(host) : "");
	return hosts;
}

static bool read_record(struct serve_sandbox *b)
{
	char path[4096], text[RECORD_MAX];
	(void)snprintf(path, sizeof path, "%s/sandbox.json", b->dir);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t n = fd >= 0 ? read(fd, text, sizeof text) : -1;
	if (fd >= 0)
		(void)close(fd);
	json_t *json = n > 0 ? json_loadb(text, (size_t)n, 0, NULL) : NULL, *limits = json_object_get(json, "limits");
	const char *profile = json_string_value(json_object_get(json, "profile"));
	if (!json)
		return false;
	b->profile = profile ? strdup(profile) : NULL;
	b->hosts = read_hosts(json_object_get(json, "hosts"));
	b->created_s = json_integer_value(json_object_get(json, "created"));
	b->limits = (struct serve_limits){.timeout_ms = json_integer_value(json_object_get(limits, "timeout_ms")),
					  .memory = json_integer_value(json_object_get(limits, "memory")),
					  .pids = json_integer_value(json_object_get(limits, "pids")),
					  .disk = json_integer_value(json_object_get(limits, "disk"))};
	json_decref(json);
	return true;
}

/* ── Finding ── */

static struct serve_sandbox *new_sandbox(const struct serve *s, const char *owner, const char *id)
{
	struct serve_sandbox *b = calloc(1, sizeof *b);
	if (!b)
		return NULL;
	b->owner = strdup(owner);
	b->id = strdup(id);
	b->disk_used = -1;
	b->used_s = (int64_t)time(NULL);
	if (asprintf(&b->dir, "%s/%s/%s", s->workspaces, owner, id) < 0)
		b->dir = NULL;
	if (asprintf(&b->files, "%s/%s/%s/files", s->workspaces, owner, id) < 0)
		b->files = NULL;
	if (b->owner && b->id && b->dir && b->files)
		return b;
	free_sandbox(b);
	return NULL;
}

static struct serve_sandbox *find_known(const struct serve *s, const char *owner, const char *id)
{
	for (struct serve_sandbox *b = s->sandboxes; b; b = b->next)
		if (!b->is_deleted && strcmp(b->owner, owner) == 0 && strcmp(b->id, id) == 0)
			return b;
	return NULL;
}

static int not_there(struct airlock_error *err, const char *id)
{
	return http_fail(err, AIRLOCK_ERR_NOT_FOUND, id, "there is no sandbox of that id");
}

static void forget(struct serve *s, struct serve_sandbox *b)
{
	for (struct serve_sandbox **at = &s->sandboxes; *at; at = &(*at)->next)
		if (*at == b) {
			*at = b->next;
			break;
		}
	free_sandbox(b);
}

int serve_find(struct serve *s, const struct serve_token *token, const char *id, struct serve_sandbox **ret,
	       struct airlock_error *err)
{
	struct stat st;
	if (!serve_is_id(id))
		return not_there(err, id);
	struct serve_sandbox *b = find_known(s, token->name, id);
	if (!b) {
		b = new_sandbox(s, token->name, id);
		if (!b)
			return oom(err);
		if (!read_record(b)) {
			free_sandbox(b);
			return not_there(err, id);
		}
		b->next = s->sandboxes;
		s->sandboxes = b;
	} else if (lstat(b->dir, &st) < 0) { /* another server on the same storage has deleted it */
		b->is_deleted = true;
		if (b->busy == 0)
			forget(s, b);
		return not_there(err, id);
	}
	b->used_s = (int64_t)time(NULL);
	*ret = b;
	return 0;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static char **list_dir(const char *path)
{
	size_t n = 0, size = 16;
	char **names = calloc(size + 1, sizeof *names);
	DIR *dir = names ? opendir(path) : NULL;
	for (const struct dirent *e; dir && (e = readdir(dir));) {
		if (!serve_is_id(e->d_name))
			continue;
		if (n == size) {
			char **grown = realloc(names, (size * 2 + 1) * sizeof *names);
			if (!grown)
				break;
			names = grown;
			size *= 2;
		}
		names[n] = strdup(e->d_name);
		n += names[n] != NULL;
		names[n] = NULL;
	}
	if (dir)
		(void)closedir(dir);
	if (names)
		qsort(names, n, sizeof *names, compare);
	return names;
}

char **serve_list(struct serve *s, const struct serve_token *token)
{
	char path[4096];
	(void)snprintf(path, sizeof path, "%s/%s", s->workspaces, token->name);
	return list_dir(path);
}

static size_t count_in(const char *path)
{
	size_t n = 0;
	char **names = list_dir(path);
	for (; names && names[n]; n++)
		free(names[n]);
	free(names);
	return n;
}

static size_t count_all(const struct serve *s)
{
	char path[4096];
	size_t n = 0;
	char **owners = list_dir(s->workspaces);
	for (char **owner = owners; owner && *owner; owner++) {
		(void)snprintf(path, sizeof path, "%s/%s", s->workspaces, *owner);
		n += count_in(path);
		free(*owner);
	}
	free(owners);
	return n;
}

json_t *serve_sandbox_json(const struct serve_sandbox *b)
{
	json_t *limits = json_object(), *hosts = json_array();
	for (char **h = b->hosts; h && *h; h++)
		(void)json_array_append_new(hosts, json_string(*h));
	if (b->limits.timeout_ms)
		(void)json_object_set_new(limits, "timeout", json_real((double)b->limits.timeout_ms / 1000));
	if (b->limits.memory)
		(void)json_object_set_new(limits, "memory", json_integer(b->limits.memory));
	if (b->limits.pids)
		(void)json_object_set_new(limits, "pids", json_integer(b->limits.pids));
	if (b->limits.disk)
		(void)json_object_set_new(limits, "disk", json_integer(b->limits.disk));
	return json_pack("{s:s, s:s?, s:o, s:o, s:I, s:I, s:I, s:b}", "id", b->id, "profile", b->profile, "limits",
			 limits, "hosts", hosts, "created", (json_int_t)b->created_s, "last_used",
			 (json_int_t)b->used_s, "running", (json_int_t)b->commands, "awake", b->is_awake);
}

/* ── Making ── */

/* <server>-<random>: a proxy sends what names this sandbox to that server. */
static int make_up_id(const struct serve *s, char ret[SERVE_ID_MAX + 1], struct airlock_error *err)
{
	unsigned char random[10];
	if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
		return http_fail(err, AIRLOCK_ERR_IO, "getrandom", "no random numbers");
	size_t n = (size_t)snprintf(ret, SERVE_ID_MAX, "%s-", s->name);
	for (size_t i = 0; i < sizeof random; i++)
		n += (size_t)snprintf(ret + n, SERVE_ID_MAX - n, "%02x", random[i]);
	return 0;
}

static int check_room(struct serve *s, const struct serve_token *token, bool *ret_is_quota, struct airlock_error *err)
{
	char path[4096];
	(void)snprintf(path, sizeof path, "%s/%s", s->workspaces, token->name);
	*ret_is_quota = false;
	if (token->max_sandboxes >= 0 && count_in(path) >= (size_t)token->max_sandboxes) {
		*ret_is_quota = true;
		s->metrics.quota_hits[SERVE_QUOTA_SANDBOXES]++;
		return http_fail(err, AIRLOCK_ERR_BUSY, "max_sandboxes",
				 "this token has %lld sandboxes, and may have no more",
				 (long long)token->max_sandboxes);
	}
	if (s->max_sandboxes >= 0 && count_all(s) >= (size_t)s->max_sandboxes) {
		s->metrics.quota_hits[SERVE_QUOTA_SANDBOXES]++;
		return http_fail(err, AIRLOCK_ERR_BUSY, "max-sandboxes", "this server has no room for another sandbox");
	}
	return 0;
}

/* The directory appears as a whole, or there is one of that name already. */
static int put_in_place(const char *prepared, const struct serve_sandbox *b, struct airlock_error *err)
{
	if (renameat2(AT_FDCWD, prepared, AT_FDCWD, b->dir, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno == EINVAL || errno == ENOSYS) { /* FUSE: a directory that is not empty is not replaced either */
		struct stat st;
		if (lstat(b->dir, &st) == 0)
			errno = EEXIST;
		else if (rename(prepared, b->dir) == 0)
			return 0;
	}
	if (errno == EEXIST || errno == ENOTEMPTY)
		return http_fail(err, AIRLOCK_ERR_CONFLICT, b->id, "there is a sandbox of that id already");
	return system_error(err, b->dir, errno);
}

static int make(struct serve *s, struct serve_sandbox *b, struct airlock_error *err)
{
	char owner[4096];
	(void)snprintf(owner, sizeof owner, "%s/%s", s->workspaces, b->owner);
	if (mkdir(owner, 0700) < 0 && errno != EEXIST)
		return system_error(err, owner, errno);
	char *prepared = serve_pool_take(s);
	s->metrics.pool_hits += prepared != NULL;
	s->metrics.pool_misses += prepared == NULL;
	if (!prepared)
		prepared = serve_prepare_dir(s, err);
	int rc = prepared ? write_record(prepared, b, err) : err->code;
	if (rc >= 0)
		rc = put_in_place(prepared, b, err);
	if (rc < 0 && prepared) {
		char path[4200];
		(void)snprintf(path, sizeof path, "%s/files", prepared);
		(void)rmdir(path);
		(void)snprintf(path, sizeof path, "%s/sandbox.json", prepared);
		(void)unlink(path);
		(void)rmdir(prepared);
	}
	free(prepared);
	return rc;
}

/* A job like those of its commands, to ask about. */
static int prepare(struct serve *s, const struct serve_token *token, const struct serve_sandbox *b,
		   struct airlock_job **ret, struct airlock_error *err)
{
	struct airlock_settings *settings = NULL;
	int rc = serve_settings(s, token, b, &settings, err);
	if (rc >= 0)
		rc = airlock_settings_set_command(settings, "true", err);
	if (rc >= 0)
		rc = airlock_job_prepare(settings, ret, err);
	airlock_settings_free(settings);
	return rc;
}

/* Asks the library, so that a bad profile or host is refused now and not by the first command. */
static int check_wish(struct serve *s, const struct serve_token *token, const struct serve_sandbox *b,
		      struct airlock_error *err)
{
	struct airlock_job *job = NULL;
	int rc = prepare(s, token, b, &job, err);
	airlock_job_free(job);
	return rc;
}

int serve_create(struct serve *s, const struct serve_token *token, struct serve_wish *wish, struct serve_sandbox **ret,
		 bool *ret_is_quota, struct airlock_error *err)
{
	char id[SERVE_ID_MAX + 1];
	struct stat st;
	struct serve_sandbox *b = NULL;
	int rc = 0;
	*ret_is_quota = false;
	if (!wish->id)
		rc = make_up_id(s, id, err);
	else if (!serve_is_id(wish->id))
		rc = http_fail(
			err, AIRLOCK_ERR_INVALID, "id",
			"id must be letters, digits, '.', '_' and '-', begin with a letter or digit, and have at most %d",
			SERVE_ID_MAX);
	if (rc >= 0 && !(b = new_sandbox(s, token->name, wish->id ? wish->id : id)))
		rc = oom(err);
	if (rc >= 0) {
		b->profile = wish->profile ? strdup(wish->profile) : NULL;
		b->hosts = wish->hosts;
		wish->hosts = NULL;
		b->limits = wish->limits;
		b->created_s = b->used_s;
		b->disk_used = 0;
		if (lstat(b->dir, &st) == 0)
			rc = http_fail(err, AIRLOCK_ERR_CONFLICT, b->id, "there is a sandbox of that id already");
	}
	if (rc >= 0)
		rc = check_room(s, token, ret_is_quota, err);
	if (rc >= 0)
		rc = make(s, b, err);
	if (rc >= 0 && (b->profile || b->hosts) && (rc = check_wish(s, token, b, err)) < 0) {
		struct airlock_error ignored = {0};
		b->next = s->sandboxes;
		s->sandboxes = b;
		(void)serve_delete(s, b, &ignored);
		return rc;
	}
	if (rc < 0) {
		free_sandbox(b);
		return rc;
	}
	s->metrics.created++;
	b->next = s->sandboxes;
	s->sandboxes = b;
	*ret = b;
	return 0;
}

int serve_find_default(struct serve *s, const struct serve_token *token, struct serve_sandbox **ret,
		       struct airlock_error *err)
{
	char id[SERVE_ID_MAX + 1];
	struct serve_wish wish = {.id = id};
	bool is_quota = false;
	(void)snprintf(id, sizeof id, "%s-" DEFAULT_ID, s->name);
	int rc = serve_find(s, token, id, ret, err);
	if (rc != AIRLOCK_ERR_NOT_FOUND)
		return rc;
	*err = (struct airlock_error){0};
	return serve_create(s, token, &wish, ret, &is_quota, err);
}

/* A sandbox gets only the language and PATH of the server's environment: other variables may be secret. */
static int set_environment(struct airlock_settings *settings, struct airlock_error *err)
{
	static const char *const names[] = {"PATH=", "HOME=", "LANG=", "LC_", "TZ=", "XDG_", "AIRLOCK_", "USER=", NULL};
	size_t n = 0, kept = 0;
	while (environ[n])
		n++;
	char **some = calloc(n + 1, sizeof *some);
	if (!some)
		return oom(err);
	for (size_t i = 0; i < n; i++)
		for (const char *const *name = names; *name; name++)
			if (strncmp(environ[i], *name, strlen(*name)) == 0) {
				some[kept++] = environ[i];
				break;
			}
	int rc = airlock_settings_set_environ(settings, some, err);
	free(some);
	return rc;
}

/* ── Removing ── */

static int64_t remove_tree(void *data, struct airlock_error *err)
{
	const char *path = data;
	struct airlock_settings *settings = airlock_settings_new();
	struct airlock_place *place = NULL;
	struct airlock_files *result = NULL;
	char *parent = strdup(path), *slash = parent ? strrchr(parent, '/') : NULL;
	if (!settings || !slash)
		return oom(err);
	*slash = '\0';
	int rc = airlock_settings_set_environ(settings, environ, err);
	if (rc >= 0)
		rc = airlock_settings_set(settings, "workspace", parent, "airlock serve", err);
	if (rc >= 0)
		rc = airlock_place_open(settings, NULL, &place, err);
	if (rc >= 0)
		rc = airlock_files_delete(place, slash + 1, &result, err);
	return rc; /* the process ends */
}

static void removed(void *data, int64_t result, const struct airlock_error *err)
{
	(void)result, (void)err; /* what is left is tried again at the next start */
	free(data);
}

void serve_wake(struct serve *s, const struct serve_token *token, struct serve_sandbox *b)
{
	struct airlock_error ignored = {0}; /* the command says it */
	struct airlock_job *job = NULL;
	b->is_awake = true;
	if (!b->hold && prepare(s, token, b, &job, &ignored) >= 0)
		(void)airlock_job_hold_workspace(job, &b->hold, &ignored);
	airlock_job_free(job);
}

void serve_tidy(struct serve *s, const struct serve_token *token, const char *id)
{
	struct airlock_error ignored = {0};
	struct serve_sandbox *b = NULL;
	if (serve_find(s, token, id, &b, &ignored) < 0 || b->hold)
		return;
	serve_wake(s, token, b);
	airlock_workspace_release(b->hold);
	b->hold = NULL;
	b->is_awake = false;
}

typedef int session_call(const struct airlock_settings *s, const char *name, struct airlock_error *err);

static void end_session(struct serve_sandbox *b, session_call *how)
{
	struct airlock_error ignored = {0}; /* one that ran nothing has no session */
	struct airlock_settings *settings = airlock_settings_new();
	if (settings && set_environment(settings, &ignored) >= 0 &&
	    airlock_settings_set(settings, "project", b->files, "airlock serve", &ignored) >= 0)
		(void)how(settings, SERVE_SESSION, &ignored);
	airlock_settings_free(settings);
	airlock_workspace_release(b->hold);
	b->hold = NULL;
	b->is_awake = false;
}

void serve_rest(struct serve_sandbox *b)
{
	end_session(b, airlock_session_end);
}

int serve_delete(struct serve *s, struct serve_sandbox *b, struct airlock_error *err)
{
	char trash[4096];
	struct airlock_error ignored = {0};
	end_session(b, airlock_session_remove);
	unsigned long long random = 0;
	(void)getrandom(&random, sizeof random, 0);
	(void)snprintf(trash, sizeof trash, "%s/.deleted-%016llx", s->workspaces, random);
	if (rename(b->dir, trash) < 0 && errno != ENOENT)
		return system_error(err, b->dir, errno);
	b->is_deleted = true;
	s->metrics.deleted++;
	if (b->busy == 0)
		forget(s, b);
	char *path = strdup(trash);
	if (path && serve_task_start(s, remove_tree, removed, path, &ignored) < 0)
		free(path);
	return 0;
}

void serve_enter(struct serve *s, struct serve_sandbox *b)
{
	(void)s;
	b->busy++;
	b->used_s = (int64_t)time(NULL);
}

void serve_leave(struct serve *s, struct serve_sandbox *b)
{
	b->busy--;
	b->used_s = (int64_t)time(NULL);
	if (b->is_deleted && b->busy == 0)
		forget(s, b);
}

void serve_sandboxes_free(struct serve *s)
{
	while (s->sandboxes) {
		struct serve_sandbox *b = s->sandboxes;
		s->sandboxes = b->next;
		free_sandbox(b);
	}
}

/* ── Settings ── */

static int set_number(struct airlock_settings *settings, const char *name, int64_t value, const char *unit,
		      struct airlock_error *err)
{
	char text[48];
	(void)snprintf(text, sizeof text, "%lld%s", (long long)value, unit);
	return value > 0 ? airlock_settings_set(settings, name, text, "airlock serve", err) : 0;
}

static int set_limits(struct serve *s, struct airlock_settings *settings, const struct serve_token *token,
		      const struct serve_sandbox *b, struct airlock_error *err)
{
	int64_t memory = b->limits.memory, left = serve_disk_left(s, token, b);
	if (token->memory >= 0 && (memory == 0 || memory > token->memory))
		memory = token->memory;
	int rc = set_number(settings, "timeout", b->limits.timeout_ms, "ms", err);
	if (rc >= 0)
		rc = set_number(settings, "memory", memory, "", err);
	if (rc >= 0)
		rc = set_number(settings, "pids", b->limits.pids, "", err);
	/* One file cannot be larger than what is left; several together are found by measuring. */
	if (rc >= 0 && left > 0)
		rc = set_number(settings, "fsize", left, "", err);
	return rc;
}

int serve_settings(struct serve *s, const struct serve_token *token, const struct serve_sandbox *b,
		   struct airlock_settings **ret, struct airlock_error *err)
{
	char who[128];
	struct airlock_settings *settings = airlock_settings_new();
	(void)snprintf(who, sizeof who, "serve: %s", token->name);
	int rc = settings ? set_environment(settings, err) : oom(err);
	if (rc >= 0)
		rc = http_option_settings(s->words, settings, err);
	if (rc >= 0)
		rc = airlock_settings_set(settings, "workspace", b->files, "airlock serve", err);
	if (rc >= 0)
		rc = airlock_settings_set(settings, "session", SERVE_SESSION, "airlock serve", err);
	if (rc >= 0)
		rc = airlock_settings_set(settings, "agent", who, "airlock serve", err);
	if (rc >= 0)
		rc = airlock_settings_set_asked_by(settings, who, err);
	if (rc >= 0)
		rc = airlock_settings_set_session(settings, b->dir, err);
	if (rc >= 0 && b->profile)
		rc = airlock_settings_set(settings, "profile", b->profile, "profile", err);
	for (char **h = b->hosts; rc >= 0 && h && *h; h++)
		rc = airlock_settings_set(settings, "allow-host", *h, "hosts", err);
	if (rc >= 0)
		rc = set_limits(s, settings, token, b, err);
	if (rc < 0)
		airlock_settings_free(settings);
	else
		*ret = settings;
	return rc;
}

int serve_place(struct serve *s, const struct serve_token *token, const struct serve_sandbox *b,
		struct airlock_place **ret, struct airlock_error *err)
{
	struct airlock_settings *settings = NULL;
	(void)token;
	int rc = (settings = airlock_settings_new()) ? set_environment(settings, err) : oom(err);
	for (char *const *word = s->words; rc >= 0 && *word; word++)
		if (strncmp(*word, "--bind-ro=", 10) == 0)
			rc = airlock_settings_set(settings, "bind-ro", *word + 10, "--bind-ro", err);
	if (rc >= 0)
		rc = airlock_settings_set(settings, "workspace", b->files, "airlock serve", err);
	if (rc >= 0)
		rc = airlock_place_open(settings, NULL, ret, err);
	airlock_settings_free(settings);
	return rc;
}

/* Counts the last measured size of the token's other sandboxes. */
int64_t serve_disk_left(struct serve *s, const struct serve_token *token, const struct serve_sandbox *b)
{
	int64_t used = b->disk_used > 0 ? b->disk_used : 0;
	int64_t left = b->limits.disk > 0 ? b->limits.disk - used : -1;
	if (b->limits.disk > 0 && left < 0)
		left = 0;
	if (token->disk < 0)
		return left;
	int64_t all = 0;
	for (const struct serve_sandbox *o = s->sandboxes; o; o = o->next)
		if (!o->is_deleted && strcmp(o->owner, token->name) == 0 && o->disk_used > 0)
			all += o->disk_used;
	int64_t rest = all > token->disk ? 0 : token->disk - all;
	return left < 0 || rest < left ? rest : left;
}
