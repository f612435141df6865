/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `airlock gc`: crashed layers, old backups, old runs. */
#include "history/gc.h"

#include "airlock/history.h"
#include "base/error.h"
#include "base/json.h"
#include "base/path.h"
#include "base/text.h"
#include "fs/beneath.h"
#include "fs/fs.h"
#include "fs/walk.h"
#include "layer/cache_dirs.h"
#include "settings/config_context.h"
#include "history/begun.h"
#include "history/copied_run.h"
#include "history/history.h"
#include "history/history_read.h"
#include "store/audit.h"
#include "store/inbox.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define UNFINISHED_S 3600 /* nobody takes so long to write a file or a layer */

int64_t gc_oldest(const struct config *config, int64_t now)
{
	int64_t keep = config->keep_runs_ms;
	return keep == TEXT_NONE || keep > now / 1000000 ? INT64_MIN : now - keep * 1000000;
}

int gc_open_dir(const struct gc *g, const char *name)
{
	_cleanup_close_ int state = open(g->e.host.state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return state < 0 ? -errno : fs_open_beneath(state, name, O_RDONLY | O_DIRECTORY);
}

static bool has_entry(int runs_fd, const char *run, const char *name)
{
	struct stat st;
	_cleanup_free_ char *path = path_join(run, name);
	return path && fs_stat_beneath(runs_fd, path, &st) == 0;
}

static void remove_tree(struct gc *g, int dir_fd, const char *name)
{
	struct airlock_error why = {0};
	int rc = fs_remove_tree_at(dir_fd, name, NULL, &why);
	if (rc < 0 && rc != AIRLOCK_ERR_NOT_FOUND)
		(void)base_error(g->err, rc, why.op, why.subject, "%s", why.message);
}

/* ── What sessions need ── */

static bool is_needed(const struct gc *g, const char *dir)
{
	return !g->needed || strs_has(g->needed, dir);
}

/* A part of a session is decided about with the session: what its own record says waits for nobody. */
static bool is_of_session(const struct change_set *set)
{
	return set->session && set->part != CHANGE_PART_APART;
}

/* A step, or all steps as one. Whoever makes one has it locked until the session knows of it. */
static bool is_needed_run(struct gc *g, int runs_fd, const char *run)
{
	_cleanup_free_ char *dir = path_join(g->e.runs, run);
	if (!dir || (g->needed && strs_has(g->needed, dir)))
		return true;
	return !g->needed && has_entry(runs_fd, run, "changes") &&
	       (past_run_load(&g->e, run, NULL) < 0 || is_of_session(g->e.set));
}

/* A command that began before its session let go of the layer may still see it. Layers are named as runs are. */
static bool may_be_seen(const struct gc *g, const char *layer)
{
	return g->running && strcmp(g->running, layer) > 0;
}

/* Several layers as one, or what was left of them. A young one may be one that its session does not know of yet. */
static void sweep_session_layers(struct gc *g)
{
	int fd = gc_open_dir(g, "layers");
	DIR *entries = fd >= 0 ? fdopendir(fd) : NULL;
	time_t before = (time_t)(g->now / 1000000000) - UNFINISHED_S;
	struct stat st;
	for (struct dirent *e; entries && (e = readdir(entries));) {
		_cleanup_free_ char *layers = path_join(g->e.host.state_dir, "layers"),
				    *dir = layers ? path_join(layers, e->d_name) : NULL;
		if (e->d_name[0] == '.' || !dir || is_needed(g, dir) || may_be_seen(g, e->d_name) ||
		    fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_mtime > before)
			continue;
		strs_add(&g->removed[AIRLOCK_GARBAGE_LAYERS], e->d_name);
		if (!g->dry_run)
			remove_tree(g, fd, e->d_name);
	}
	if (entries)
		(void)closedir(entries);
	else
		base_closep(&fd);
}

/* ── Layers of runs that crashed, or were thrown away ── */

/* True for a run that was killed: layers are made only after the directory is locked, so layers without a lock mean a
 * dead owner. A directory without layers may be about to be locked. */
static bool is_crashed(struct gc *g, int runs_fd, const char *run)
{
	_cleanup_free_ char *dir = path_join(g->e.runs, run);
	bool layers = has_entry(runs_fd, run, "upper") || has_entry(runs_fd, run, "work");
	return dir && layers && !has_entry(runs_fd, run, "changes") && !has_entry(runs_fd, run, HISTORY_FILE) &&
	       !history_is_alive(dir) && !copied_run_is_pending(&g->e.host, run) && !begun_exists(&g->e.host, run);
}

/* A person discarded everything: the layer could only be looked at, and it may be what fills the disk. */
static bool is_thrown_away(struct gc *g, int runs_fd, const char *run)
{
	_cleanup_free_ char *dir = path_join(g->e.runs, run);
	if (!dir || !has_entry(runs_fd, run, "upper") || history_is_alive(dir) || past_run_load(&g->e, run, NULL) < 0 ||
	    g->e.set->n == 0)
		return false;
	for (size_t i = 0; i < g->e.set->n; i++)
		if (g->e.set->v[i].state != CHANGE_DISCARDED)
			return false;
	return true;
}

/* Killed between its record and its last clean-up. */
static bool has_leftovers(struct gc *g, int runs_fd, const char *run)
{
	_cleanup_free_ char *dir = path_join(g->e.runs, run);
	return dir && (has_entry(runs_fd, run, "work") || has_entry(runs_fd, run, "caches")) &&
	       has_entry(runs_fd, run, "changes") && !history_is_alive(dir);
}

static void sweep_work(struct gc *g, int runs_fd, const char *run)
{
	strs_add(&g->removed[AIRLOCK_GARBAGE_LAYERS], run);
	_cleanup_close_ int fd = g->dry_run ? -EBADF : fs_open_dir_at(runs_fd, run, O_RDONLY);
	if (fd >= 0) {
		remove_tree(g, fd, "work");
		remove_tree(g, fd, "caches");
	}
}

static void sweep_layers(struct gc *g, int runs_fd, const char *run)
{
	static const char *const parts[] = {"upper", "work", "before", "copy", "origins", "capture", "caches"};
	strs_add(&g->removed[AIRLOCK_GARBAGE_LAYERS], run);
	if (g->dry_run)
		return;
	_cleanup_close_ int fd = fs_open_dir_at(runs_fd, run, O_RDONLY);
	for (size_t i = 0; fd >= 0 && i < AL_ARRAY_LEN(parts); i++)
		remove_tree(g, fd, parts[i]);
}

/* ── Files that were never whole ── */

/* What a file of ours is called until it is whole (fs_write_private_file). Too small to be told. Takes the directory over. */
static void sweep_unfinished(int dir_fd, time_t before)
{
	DIR *entries = dir_fd >= 0 ? fdopendir(dir_fd) : NULL;
	struct stat st;
	for (struct dirent *e; entries && (e = readdir(entries));)
		if (strncmp(e->d_name, ".airlock-", strlen(".airlock-")) == 0 &&
		    fstatat(dirfd(entries), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_mtime <= before)
			(void)unlinkat(dirfd(entries), e->d_name, 0);
	if (entries)
		(void)closedir(entries);
	else
		base_closep(&dir_fd);
}

static void sweep_run(struct gc *g, int runs_fd, const char *run)
{
	_cleanup_free_ char *dir = path_join(g->e.runs, run);
	if (dir && (history_is_alive(dir) || begun_exists(&g->e.host, run))) {
		free(g->running); /* they are sorted */
		g->running = strdup(run);
	} else if (dir && !g->dry_run)
		sweep_unfinished(fs_open_dir_at(runs_fd, run, O_RDONLY), (time_t)(g->now / 1000000000));
}

/* In places that nobody locks. */
static void sweep_state(struct gc *g)
{
	static const char *const places[] = {".", "copies", "trust"};
	time_t before = (time_t)(g->now / 1000000000) - UNFINISHED_S;
	for (size_t i = 0; i < AL_ARRAY_LEN(places); i++)
		sweep_unfinished(gc_open_dir(g, places[i]), before);
	int projects = gc_open_dir(g, "projects");
	DIR *entries = projects >= 0 ? fdopendir(projects) : NULL;
	for (struct dirent *e; entries && (e = readdir(entries));)
		if (e->d_name[0] != '.')
			sweep_unfinished(fs_open_dir_at(projects, e->d_name, O_RDONLY), before);
	if (entries)
		(void)closedir(entries);
	else
		base_closep(&projects);
}

/* ── Old runs ── */

/* Undone changes are kept like applied ones until their retention ends: they can be done again (I5). */
static bool waits_for_somebody(const struct change_set *set)
{
	for (size_t i = 0; i < set->n; i++)
		if (set->v[i].state == CHANGE_CONFLICT || (set->v[i].state == CHANGE_HELD && !set->v[i].undone))
			return true;
	return false;
}

/* Keep a run whose record cannot be read: nobody knows what it holds. */
static bool may_go(struct gc *g, int runs_fd, const char *run)
{
	_cleanup_free_ char *dir = path_join(g->e.runs, run);
	if (!dir || history_is_alive(dir) || copied_run_is_pending(&g->e.host, run) ||
	    begun_exists(&g->e.host, run)) /* cut short, and its changes could not be read yet */
		return false;
	if (!has_entry(runs_fd, run, "changes"))
		return true;
	return past_run_load(&g->e, run, NULL) == 0 && (is_of_session(g->e.set) || !waits_for_somebody(g->e.set));
}

static void remove_run(struct gc *g, int runs_fd, const char *run)
{
	strs_add(&g->removed[AIRLOCK_GARBAGE_RUN], run);
	if (g->dry_run || (g->store && store_run_remove(g->store, run, g->err) < 0))
		return;
	remove_tree(g, runs_fd, run);
}

/* Runs that were refused have a row and no directory. */
static void remove_rows(struct gc *g, const char *before, int runs_fd)
{
	_cleanup_strs_ struct strs ids = STRS_INIT;
	if (!g->store || store_run_before(g->store, before, &ids, g->err) < 0)
		return;
	for (size_t i = 0; i < ids.n; i++) {
		struct stat st;
		bool there = runs_fd >= 0 && fstatat(runs_fd, ids.v[i], &st, AT_SYMLINK_NOFOLLOW) == 0;
		if (there || strs_has(&g->removed[AIRLOCK_GARBAGE_RUN], ids.v[i]))
			continue;
		strs_add(&g->removed[AIRLOCK_GARBAGE_RUN], ids.v[i]);
		if (!g->dry_run)
			(void)store_run_remove(g->store, ids.v[i], g->err);
	}
}

/* Ids sort by time: everything before this one is older. */
static bool oldest_id(const struct gc *g, char out[32])
{
	int64_t oldest = gc_oldest(g->config, g->now);
	out[0] = '\0';
	if (oldest == INT64_MIN)
		return false;
	history_id_of_time(oldest, out);
	return true;
}

static void clean_runs(struct gc *g)
{
	char before[32];
	_cleanup_strs_ struct strs runs = STRS_INIT;
	bool limited = oldest_id(g, before);
	_cleanup_close_ int runs_fd = gc_open_dir(g, "runs");
	if (runs_fd < 0 && runs_fd != -ENOENT) {
		(void)base_errno(g->err, AIRLOCK_ERR_IO, runs_fd, "open", g->e.runs);
		return;
	}
	if (runs_fd >= 0)
		(void)past_run_list(&g->e, &runs, g->err);
	for (size_t i = 0; i < runs.n; i++) {
		const char *run = runs.v[i];
		bool old = limited && history_time_of_id(run) > 0 && strcmp(run, before) < 0;
		sweep_run(g, runs_fd, run);
		if (is_needed_run(g, runs_fd, run))
			continue;
		if (old && may_go(g, runs_fd, run))
			remove_run(g, runs_fd, run);
		else if (is_crashed(g, runs_fd, run) || is_thrown_away(g, runs_fd, run))
			sweep_layers(g, runs_fd, run);
		else if (has_leftovers(g, runs_fd, run))
			sweep_work(g, runs_fd, run);
	}
	if (limited)
		remove_rows(g, before, runs_fd);
}

static void write_audit(struct gc *g)
{
	_cleanup_buf_ struct buf time = BUF_INIT, line = BUF_INIT, news = BUF_INIT;
	text_add_time(&time, g->now);
	buf_printf(&line, "\"event\":\"gc\",\"time\":\"%s\",\"uid\":%u,\"layers\":%zu,\"runs\":%zu,\"backups\":%zu",
		   buf_str(&time), (unsigned)getuid(), g->removed[AIRLOCK_GARBAGE_LAYERS].n,
		   g->removed[AIRLOCK_GARBAGE_RUN].n, g->removed[AIRLOCK_GARBAGE_BACKUP].n);
	if (line.failed || audit_append(g->e.host.state_dir, line.data, &news, g->err) < 0)
		return;
	(void)inbox_put(g->e.host.state_dir, &news, STORE_WAIT_MS, g->err);
}

static int open_store(struct gc *g)
{
	struct airlock_error why = {0};
	int rc = store_open_history(g->e.host.state_dir, STORE_WAIT_MS, &g->store, &why);
	if (rc == 0 || rc == AIRLOCK_ERR_NOT_FOUND)
		return 0;
	*g->err = why;
	return rc;
}

static void gc_done(struct gc *g)
{
	store_close(g->store);
	free(g->running);
	config_free(g->config);
	past_run_done(&g->e);
}

int gc_collect(const struct airlock_settings *s, bool dry_run, const struct strs *needed, struct strs *ret_removed,
	       struct airlock_error *err)
{
	struct airlock_error own = {0};
	struct gc g = {.dry_run = dry_run,
		       .now = store_now(),
		       .needed = needed,
		       .removed = ret_removed,
		       .err = err ? err : &own};
	int rc = past_run_init(&g.e, s, g.err);
	rc = rc < 0 ? rc : config_of_settings(s, &g.config, g.err);
	rc = rc < 0 ? rc : open_store(&g);
	if (rc == 0) {
		gc_backups(&g);
		clean_runs(&g);
		sweep_session_layers(&g);
		cache_dirs_sweep(g.e.host.state_dir, dry_run, &g.removed[AIRLOCK_GARBAGE_CACHES]);
		if (!dry_run)
			sweep_state(&g);
		if (!dry_run && g.removed[AIRLOCK_GARBAGE_LAYERS].n + g.removed[AIRLOCK_GARBAGE_RUN].n +
						g.removed[AIRLOCK_GARBAGE_BACKUP].n >
					0)
			write_audit(&g);
		rc = g.err->code;
	}
	gc_done(&g);
	return rc;
}
