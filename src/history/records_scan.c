/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The scanner: walks the project's roots and compares with the records there are. */
#include "history/records.h"

#include "base/array.h"
#include "base/error.h"
#include "base/path.h"
#include "fs/walk.h"
#include "project/ignore.h"
#include "history/records_look.h"

#include <fcntl.h>
#include <string.h>

/* Keep transactions short: other runs wait for them. */
#define ROWS_PER_TRANSACTION 2000
#define PROGRESS_EVERY 4096

/* A record as it was before the scan. */
struct known {
	char *path, *copy;
	int64_t id, size, mtime, ctime, inode;
	bool is_ignored, is_deleted, seen;
	char type;
};

struct record_scan {
	struct store *store;
	int64_t project, now;
	struct known *known; /* by path, as the store gives them */
	size_t n_known, cap;
	size_t seen, rows;
	int64_t missed; /* not there, and not deleted by a run: they have a backup */
	struct store_file waiting[STORE_FILES_AT_ONCE];
	size_t n_waiting;
	const char *prefix; /* of this root's paths: "", or the root itself */
	struct ignore ignore;
	size_t ignored_depth; /* how deep below an ignored directory, 0: not */
	void (*progress)(size_t seen, void *data);
	void *data;
	struct airlock_error *err;
};

static int remember(const struct store_file *f, void *data, struct airlock_error *err)
{
	struct record_scan *s = data;
	if (!ARRAY_ROOM(s->known, s->n_known, s->cap, 1024))
		return base_oom(err);
	struct known k = {.path = strdup(f->path),
			  .copy = *f->last_approved_copy_path ? strdup(f->last_approved_copy_path) : NULL,
			  .id = f->id,
			  .size = f->size,
			  .mtime = f->mtime,
			  .ctime = f->ctime,
			  .inode = f->inode,
			  .is_ignored = f->is_ignored,
			  .is_deleted = f->is_deleted,
			  .type = f->type[0]};
	s->known[s->n_known++] = k;
	return k.path && (k.copy || !*f->last_approved_copy_path) ? 0 : base_oom(err);
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct known *)a)->path, ((const struct known *)b)->path);
}

static struct known *find_known(struct record_scan *s, char *path)
{
	struct known key = {.path = path};
	return s->n_known > 0 ? bsearch(&key, s->known, s->n_known, sizeof key, by_path) : NULL;
}

static bool is_same(const struct known *k, const struct store_file *f)
{
	return !k->is_deleted && k->type == f->type[0] && k->size == f->size && k->mtime == f->mtime &&
	       k->ctime == f->ctime && k->inode == f->inode && k->is_ignored == f->is_ignored;
}

/* A transaction begins with the first row that is to be written, so that nobody changes the record of what was looked at
 * and still waits; it ends when none waits and there were many. */
static int begin_row(struct record_scan *s)
{
	int rc = s->rows == 0 ? store_begin(s->store, s->err) : 0;
	s->rows += rc == 0;
	return rc;
}

static int end_rows(struct record_scan *s)
{
	if (s->rows < ROWS_PER_TRANSACTION)
		return 0;
	s->rows = 0;
	return store_commit(s->store, s->err);
}

static void forget_waiting(struct record_scan *s)
{
	for (size_t i = 0; i < s->n_waiting; i++) {
		base_freep(&s->waiting[i].path);
		base_freep(&s->waiting[i].target);
	}
	s->n_waiting = 0;
}

static int put_waiting(struct record_scan *s)
{
	int rc = store_file_put_many(s->store, s->project, s->waiting, s->n_waiting, s->err);
	forget_waiting(s);
	return rc < 0 ? rc : end_rows(s);
}

static int put(struct record_scan *s, int dir_fd, const char *name, struct store_file *f)
{
	int rc = begin_row(s);
	if (rc < 0)
		return rc;
	/* Opening every file takes long, from a disk most of all, and only a list of them asks. Such a list reaches the
	 * project's own paths; those of other roots are looked into here. */
	(*s->prefix ? records_look : records_glance)(dir_fd, name, f);
	f->last_seen = s->now;
	f->path = strdup(f->path);
	s->waiting[s->n_waiting++] = *f;
	if (!f->path)
		return base_oom(s->err);
	return s->n_waiting == AL_ARRAY_LEN(s->waiting) ? put_waiting(s) : 0;
}

static int see(struct record_scan *s, int dir_fd, const char *name, const char *path, bool is_ignored)
{
	struct stat st;
	struct store_file f = {.is_ignored = is_ignored};
	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0; /* gone meanwhile */
	_cleanup_free_ char *full = *s->prefix ? path_join(s->prefix, path) : NULL;
	if (*s->prefix && !full)
		return base_oom(s->err);
	f.path = full ? full : path;
	records_from_stat(&st, &f);
	if (++s->seen % PROGRESS_EVERY == 0 && s->progress)
		s->progress(s->seen, s->data);
	struct known *k = find_known(s, (char *)f.path);
	if (k)
		k->seen = true;
	return k && is_same(k, &f) ? 0 : put(s, dir_fd, name, &f);
}

/* ── The walk ── */

static bool is_git_dir(const struct fs_walk *w)
{
	return strcmp(w->name, ".git") == 0;
}

static int see_entry(struct record_scan *s, struct fs_walk *w, bool is_dir)
{
	const char *path = fs_walk_path(w);
	if (!path)
		return base_oom(s->err);
	bool ignored = s->ignored_depth > 0 || is_git_dir(w) || ignore_matches(&s->ignore, path, is_dir);
	int rc = see(s, fs_walk_dirfd(w), w->name, path, ignored);
	/* Skip git's own files: they change by the thousand, and no person edits them. */
	if (rc < 0 || !is_dir || is_git_dir(w))
		return rc;
	_cleanup_free_ char *copy = strdup(path);
	if (!copy)
		return base_oom(s->err);
	if (fs_walk_enter(w) < 0)
		return 0;
	ignore_enter(&s->ignore, fs_walk_dir(w)->fd, copy);
	s->ignored_depth += ignored;
	return 0;
}

static int walk_root(struct record_scan *s, const char *root)
{
	_cleanup_walk_ struct fs_walk w = FS_WALK_INIT;
	int fd = open(root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return base_errno(s->err, AIRLOCK_ERR_IO, errno, "open", root);
	ignore_enter(&s->ignore, fd, "");
	int event = fs_walk_start(&w, fd), rc = 0;
	while (event >= 0 && rc == 0 && (event = fs_walk_next(&w)) > 0) {
		if (event == FS_WALK_LEAVE) {
			ignore_leave(&s->ignore);
			s->ignored_depth -= s->ignored_depth > 0;
		} else {
			rc = see_entry(s, &w, event == FS_WALK_DIR);
		}
	}
	ignore_done(&s->ignore);
	s->ignored_depth = 0;
	if (rc == 0 && event < 0)
		rc = base_errno(s->err, AIRLOCK_ERR_IO, event, "walk", root);
	return rc;
}

/* ── What is not there any more ── */

static int settle_missing(struct record_scan *s)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < s->n_known; i++) {
		const struct known *k = &s->known[i];
		if (k->seen)
			continue;
		if (records_decide(false, k->is_deleted, k->copy && records_has_backup(k->copy)) != RECORD_REMOVE) {
			s->missed += !k->is_deleted;
			continue;
		}
		rc = begin_row(s);
		rc = rc < 0 ? rc : store_file_remove(s->store, k->id, s->err);
		rc = rc < 0 ? rc : end_rows(s);
	}
	return rc;
}

static void forget_known(struct record_scan *s)
{
	for (size_t i = 0; i < s->n_known; i++) {
		free(s->known[i].path);
		free(s->known[i].copy);
	}
	free(s->known);
}

static int scan_all(struct record_scan *s, const struct project *project)
{
	int rc = store_file_each(s->store, s->project, remember, s, s->err);
	store_bulk(s->store, true);
	for (size_t i = 0; rc == 0 && i < project->n_roots; i++) {
		s->prefix = i == 0 ? "" : project->roots[i].path;
		rc = walk_root(s, project->roots[i].path);
	}
	rc = rc < 0 ? rc : put_waiting(s);
	rc = rc < 0 ? rc : settle_missing(s);
	if (s->rows > 0 && rc == 0)
		rc = store_commit(s->store, s->err);
	else if (s->rows > 0)
		store_rollback(s->store);
	store_bulk(s->store, false);
	return rc < 0 ? rc : store_project_scanned(s->store, s->project, s->now, s->err);
}

int records_scan(struct store *store, const struct project *project, int64_t *ret_files,
		 void (*progress)(size_t seen, void *data), void *data, struct airlock_error *err)
{
	struct record_scan s = {.store = store, .now = store_now(), .progress = progress, .data = data, .err = err};
	int rc = store_project_add(store, project->dir, &s.project, err);
	rc = rc < 0 ? rc : scan_all(&s, project);
	forget_waiting(&s);
	forget_known(&s);
	*ret_files = (int64_t)s.seen + s.missed;
	return rc;
}
