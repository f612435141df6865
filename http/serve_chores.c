/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The regular work of the server: it puts idle sandboxes to rest, deletes old ones, refills the pool, measures disks, removes
 * what crashes and old runs left behind. */
#include "serve_state.h"

#include <airlock/history.h>

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

#define TURN_MS 1000
/* Garbage is collected at times, and for at most a fifth of the time. */
#define GC_TURNS 60
#define GC_TURNS_MAX 3600
#define GC_SHARE 5
#define AGE_EVERY_TURNS 60
#define MEASURE_TURNS 2
#define MEASURE_TURNS_MAX 16 /* of a sandbox without a command: what went on in the background may write */

extern char **environ;

/* ── The pool ── */

char *serve_prepare_dir(struct serve *s, struct airlock_error *err)
{
	char *dir = NULL, files[4200];
	unsigned long long random = 0;
	(void)getrandom(&random, sizeof random, 0);
	if (asprintf(&dir, "%s/.new-%016llx", s->workspaces, random) < 0) {
		(void)http_fail(err, AIRLOCK_ERR_INTERNAL, "serve", "out of memory");
		return NULL;
	}
	(void)snprintf(files, sizeof files, "%s/files", dir);
	if (mkdir(dir, 0700) == 0 && mkdir(files, 0755) == 0)
		return dir;
	(void)http_fail(err, AIRLOCK_ERR_IO, dir, "%s: %s", dir, strerror(errno));
	err->errnum = errno;
	(void)rmdir(dir);
	free(dir);
	return NULL;
}

/* Prepared directories are those called .pool-…; they are found again after a restart. */
char *serve_pool_take(struct serve *s)
{
	char *found = NULL;
	DIR *dir = s->pool_size > 0 ? opendir(s->workspaces) : NULL;
	for (const struct dirent *e; dir && !found && (e = readdir(dir));) {
		char *from = NULL, *to = NULL;
		if (strncmp(e->d_name, ".pool-", 6) == 0 && asprintf(&from, "%s/%s", s->workspaces, e->d_name) > 0 &&
		    asprintf(&to, "%s/.new-%s", s->workspaces, e->d_name + 6) > 0 && rename(from, to) == 0) {
			found = to; /* nobody else has it now: servers may share the directory */
			to = NULL;
		}
		free(from);
		free(to);
	}
	if (dir)
		(void)closedir(dir);
	s->pool_size = found ? s->pool_size - 1 : 0;
	return found;
}

static void count_pool(struct serve *s)
{
	DIR *dir = opendir(s->workspaces);
	s->pool_size = 0;
	for (const struct dirent *e; dir && (e = readdir(dir));)
		s->pool_size += strncmp(e->d_name, ".pool-", 6) == 0;
	if (dir)
		(void)closedir(dir);
}

static void refill_pool(struct serve *s)
{
	struct airlock_error ignored = {0};
	while (s->pool_size < (size_t)s->pool_wanted) {
		char *prepared = serve_prepare_dir(s, &ignored), *pooled = NULL;
		const char *name = prepared ? strrchr(prepared, '/') + strlen("/.new-") : NULL;
		bool is_there = prepared && asprintf(&pooled, "%s/.pool-%s", s->workspaces, name) > 0 &&
				rename(prepared, pooled) == 0;
		free(prepared);
		free(pooled);
		if (!is_there)
			return; /* the disk is full, perhaps: the next turn tries again */
		s->pool_size++;
	}
}

/* ── Disks ── */

struct measuring {
	struct serve *serve;
	struct serve_sandbox *sandbox;
};

static int64_t add_up(const char *path, int depth)
{
	int64_t total = 0;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	for (const struct dirent *e; dir && (e = readdir(dir));) {
		struct stat st;
		char *below = NULL;
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
		    fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		total += (int64_t)st.st_blocks * 512 /
			 (int64_t)(st.st_nlink > 1 && !S_ISDIR(st.st_mode) ? st.st_nlink : 1);
		/* By the descriptor: a path can become longer than a path may be. */
		if (S_ISDIR(st.st_mode) && depth < 200 &&
		    asprintf(&below, "/proc/self/fd/%d/%s", dirfd(dir), e->d_name) > 0)
			total += add_up(below, depth + 1);
		free(below);
	}
	if (dir)
		(void)closedir(dir);
	else if (fd >= 0)
		(void)close(fd);
	return total;
}

static int64_t measure(void *data, struct airlock_error *err)
{
	const struct measuring *m = data;
	(void)err;
	return add_up(m->sandbox->files, 0);
}

static void measured(void *data, int64_t result, const struct airlock_error *err)
{
	struct measuring *m = data;
	(void)err;
	if (result >= 0) {
		uint64_t longer = m->sandbox->measure_wait * 2;
		m->sandbox->measure_wait = m->sandbox->disk_used != result || longer == 0 ? MEASURE_TURNS
					   : longer < MEASURE_TURNS_MAX			  ? longer
											  : MEASURE_TURNS_MAX;
		m->sandbox->disk_used = result;
		serve_check_disk(m->serve, m->sandbox);
	}
	serve_leave(m->serve, m->sandbox);
	free(m);
}

void serve_measure_disk(struct serve *s, struct serve_sandbox *b)
{
	struct airlock_error ignored = {0};
	struct measuring *m = calloc(1, sizeof *m);
	if (!m)
		return;
	*m = (struct measuring){.serve = s, .sandbox = b};
	int64_t used = b->used_s;
	serve_enter(s, b);
	b->used_s = used;
	if (serve_task_start(s, measure, measured, m, &ignored) < 0) {
		serve_leave(s, b);
		free(m);
	}
}

/* ── Rest and age ── */

static void rest_idle(struct serve *s)
{
	int64_t now = (int64_t)time(NULL);
	for (struct serve_sandbox *b = s->sandboxes; b; b = b->next)
		if (s->idle_s >= 0 && b->is_awake && b->busy == 0 && !b->is_deleted && now - b->used_s >= s->idle_s) {
			serve_rest(b);
			s->metrics.rested++;
		}
}

/* A sandbox's age counts from its last use: that is when its directory's record, or what is in it, was last touched by us. */
static int64_t last_use(const struct serve *s, const char *owner, const char *id)
{
	char path[4200];
	struct stat st;
	for (const struct serve_sandbox *b = s->sandboxes; b; b = b->next)
		if (strcmp(b->owner, owner) == 0 && strcmp(b->id, id) == 0)
			return b->busy ? (int64_t)time(NULL) : b->used_s;
	(void)snprintf(path, sizeof path, "%s/%s/%s/sandbox.json", s->workspaces, owner, id);
	return stat(path, &st) == 0 ? (int64_t)st.st_mtim.tv_sec : (int64_t)time(NULL);
}

static void delete_old(struct serve *s)
{
	int64_t now = (int64_t)time(NULL);
	for (size_t i = 0; i < s->tokens.n; i++) {
		const struct serve_token *token = s->tokens.items[i];
		char **ids = serve_list(s, token);
		for (char **id = ids; id && *id; id++) {
			struct airlock_error ignored = {0};
			struct serve_sandbox *b = NULL;
			if (now - last_use(s, token->name, *id) >= s->max_age_s &&
			    serve_find(s, token, *id, &b, &ignored) >= 0 && b->busy == 0) {
				serve_audit(s, token, "expire", b->id, NULL, 204);
				(void)serve_delete(s, b, &ignored);
			}
			free(*id);
		}
		free(ids);
	}
}

/* ── Garbage ── */

static int64_t collect_garbage(void *data, struct airlock_error *err)
{
	struct airlock_gc *gc = NULL;
	struct airlock_settings *settings = airlock_settings_new();
	(void)data;
	int rc = settings ? airlock_settings_set_environ(settings, environ, err) : AIRLOCK_ERR_INTERNAL;
	return rc < 0 ? rc : airlock_gc_run(settings, 0, &gc, err);
}

static void collected(void *data, int64_t result, const struct airlock_error *err)
{
	(void)data, (void)result, (void)err;
}

static void collected_garbage(void *data, int64_t result, const struct airlock_error *err)
{
	struct serve *s = data;
	uint64_t wait = (s->n_turns - s->gc_began) * GC_SHARE;
	(void)result, (void)err;
	s->gc_at = s->n_turns + (wait < GC_TURNS ? GC_TURNS : wait > GC_TURNS_MAX ? GC_TURNS_MAX : wait);
}

/* Removes directories that an earlier server was making or removing when it was killed. */
static int64_t sweep(void *data, struct airlock_error *err)
{
	const struct serve *s = data;
	struct airlock_settings *settings = airlock_settings_new();
	struct airlock_place *place = NULL;
	int rc = settings ? airlock_settings_set_environ(settings, environ, err) : AIRLOCK_ERR_INTERNAL;
	if (rc >= 0)
		rc = airlock_settings_set(settings, "workspace", s->workspaces, "airlock serve", err);
	if (rc >= 0)
		rc = airlock_place_open(settings, NULL, &place, err);
	DIR *dir = rc >= 0 ? opendir(s->workspaces) : NULL;
	for (const struct dirent *e; dir && (e = readdir(dir));) {
		struct stat st;
		struct airlock_files *result = NULL;
		struct airlock_error ignored = {0};
		bool is_new = strncmp(e->d_name, ".new-", 5) == 0, is_old = strncmp(e->d_name, ".deleted-", 9) == 0;
		/* Another server may be about to make it. */
		if (is_new && fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    time(NULL) - st.st_ctim.tv_sec < 3600)
			continue;
		if (is_new || is_old)
			(void)airlock_files_delete(place, e->d_name, &result, &ignored);
		airlock_files_free(result);
	}
	return rc;
}

/* The mount points of sandboxes that were awake when a server was killed. */
static int64_t tidy(void *data, struct airlock_error *err)
{
	struct serve *s = data;
	(void)err;
	for (size_t i = 0; i < s->tokens.n; i++) {
		char **ids = serve_list(s, s->tokens.items[i]);
		for (char **id = ids; id && *id; id++) {
			serve_tidy(s, s->tokens.items[i], *id);
			free(*id);
		}
		free(ids);
	}
	return 0;
}

/* ── Now and then ── */

static void turn(void *data, short revents)
{
	struct serve *s = data;
	struct airlock_error ignored = {0};
	(void)revents;
	s->n_turns++;
	s->chores.wake_ms = http_now_ms() + TURN_MS;
	if (s->is_draining)
		return;
	refill_pool(s);
	rest_idle(s);
	for (struct serve_sandbox *b = s->sandboxes; b; b = b->next)
		if (b->is_measured && b->is_awake && !b->is_deleted && s->n_turns >= b->measure_at) {
			b->measure_at = s->n_turns + (b->commands > 0 ? MEASURE_TURNS : b->measure_wait);
			serve_measure_disk(s, b);
		}
	if (s->max_age_s >= 0 && s->n_turns % AGE_EVERY_TURNS == 0)
		delete_old(s);
	if (s->n_turns >= s->gc_at) {
		s->gc_began = s->n_turns;
		s->gc_at = UINT64_MAX; /* until it is over */
		if (serve_task_start(s, collect_garbage, collected_garbage, s, &ignored) < 0)
			s->gc_at = s->n_turns + GC_TURNS;
	}
}

void serve_chores_start(struct serve *s)
{
	struct airlock_error ignored = {0};
	count_pool(s);
	s->gc_at = GC_TURNS;
	(void)serve_task_start(s, sweep, collected, s, &ignored);
	(void)serve_task_start(s, tidy, collected, s, &ignored);
	s->chores = (struct http_watch){.fd = -1, .wake_ms = http_now_ms() + 10, .ready = turn, .data = s};
	http_loop_add(s->loop, &s->chores);
}
