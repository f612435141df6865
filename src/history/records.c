/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "history/records.h"

#include "base/error.h"
#include "base/path.h"
#include "fs/beneath.h"
#include "project/ignore.h"
#include "history/records_look.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* A missing file without a backup needs no record, whether or not a run deleted it: there is nothing to restore. */
enum record_fate records_decide(bool on_disk, bool is_deleted, bool has_backup)
{
	if (on_disk)
		return is_deleted ? RECORD_RETURNED : RECORD_KEEP;
	return has_backup ? RECORD_KEEP : RECORD_REMOVE;
}

bool records_has_backup(const char *copy_path)
{
	struct stat st;
	return *copy_path && lstat(copy_path, &st) == 0;
}

char *records_path(const char *project_dir, const struct change_set *set, size_t root, const char *path)
{
	return strcmp(set->roots[root].path, project_dir) == 0 ? strdup(path) : path_join(set->roots[root].path, path);
}

/* The rules of every directory on the way, and whether one of them is ignored itself. */
static bool is_ignored(int root_fd, const char *path, bool is_dir)
{
	_cleanup_ignore_ struct ignore ig = IGNORE_INIT;
	_cleanup_free_ char *way = strdup(path);
	ignore_enter(&ig, root_fd, "");
	for (char *slash = way; way && (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		if (ignore_matches(&ig, way, true) || strcmp(path_basename(way), ".git") == 0)
			return true;
		_cleanup_close_ int fd = fs_open_beneath(root_fd, way, O_RDONLY | O_DIRECTORY);
		if (fd >= 0)
			ignore_enter(&ig, fd, way);
		*slash = '/';
	}
	return ignore_matches(&ig, path, is_dir) || strcmp(path_basename(path), ".git") == 0;
}

struct refresh {
	struct store *store;
	int64_t project;
	const char *project_dir;
	const struct change_set *set;
	struct airlock_error *err;
};

static int put(struct refresh *r, int root_fd, const char *path, const char *recorded, const struct stat *st)
{
	const char *name;
	struct store_file f = {.path = recorded, .last_seen = store_now()};
	_cleanup_close_ int dir = fs_open_parent(root_fd, path, &name);
	if (dir < 0)
		return 0; /* gone again */
	records_from_stat(st, &f);
	records_look(dir, name, &f);
	f.is_ignored = is_ignored(root_fd, path, S_ISDIR(st->st_mode));
	int rc = store_file_put(r->store, r->project, &f, NULL, r->err);
	base_freep(&f.target);
	return rc;
}

static int gone(struct refresh *r, const char *recorded)
{
	struct store_file f;
	int rc = store_file_find(r->store, r->project, recorded, &f, r->err);
	if (rc <= 0)
		return rc;
	bool backup = records_has_backup(f.last_approved_copy_path);
	if (records_decide(false, f.is_deleted, backup) == RECORD_REMOVE)
		rc = store_file_remove(r->store, f.id, r->err);
	else
		rc = store_file_mark_deleted(r->store, f.id, r->err);
	store_file_done(&f);
	return rc;
}

static bool is_inside_git(const char *path)
{
	return strncmp(path, ".git/", 5) == 0 || strstr(path, "/.git/");
}

static int refresh_path(struct refresh *r, size_t root, int root_fd, const char *path)
{
	struct stat st;
	_cleanup_free_ char *recorded = records_path(r->project_dir, r->set, root, path);
	if (!recorded)
		return base_oom(r->err);
	if (fs_stat_beneath(root_fd, path, &st) < 0)
		return gone(r, recorded);
	return is_inside_git(path) ? 0 : put(r, root_fd, path, recorded, &st);
}

/* Moves the record along with its renamed file, unless the new path has a record. */
static int follow_rename(struct refresh *r, size_t root, int root_fd, const char *from, const char *to)
{
	struct stat st;
	struct store_file old = {0}, new = {0};
	_cleanup_free_ char *old_path = records_path(r->project_dir, r->set, root, from),
			    *new_path = records_path(r->project_dir, r->set, root, to);
	if (!old_path || !new_path)
		return base_oom(r->err);
	if (fs_stat_beneath(root_fd, from, &st) == 0 || fs_stat_beneath(root_fd, to, &st) < 0)
		return 0;
	int rc = store_file_find(r->store, r->project, new_path, &new, r->err);
	if (rc == 0)
		rc = store_file_find(r->store, r->project, old_path, &old, r->err);
	if (rc == 1 && old.id)
		rc = store_file_rename(r->store, old.id, new_path, r->err);
	store_file_done(&new);
	store_file_done(&old);
	return rc < 0 ? rc : 0;
}

static int refresh_change(struct refresh *r, const struct change *c, int root_fd)
{
	int rc = 0;
	if (c->from) { /* one of the two is where it is now */
		rc = follow_rename(r, c->root, root_fd, c->from, c->path);
		rc = rc < 0 ? rc : follow_rename(r, c->root, root_fd, c->path, c->from);
		rc = rc < 0 ? rc : refresh_path(r, c->root, root_fd, c->from);
	}
	return rc < 0 ? rc : refresh_path(r, c->root, root_fd, c->path);
}

int records_refresh(struct store *store, int64_t project, const char *project_dir, const struct change_set *set,
		    const bool *selected, struct airlock_error *err)
{
	struct refresh r = {.store = store, .project = project, .project_dir = project_dir, .set = set, .err = err};
	int rc = 0;
	for (size_t root = 0, i = 0; rc == 0 && root < set->n_roots; root++) {
		_cleanup_close_ int fd = open(set->roots[root].path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		for (; rc == 0 && i < set->n && set->v[i].root == root; i++)
			if (fd >= 0 && (!selected || selected[i]))
				rc = refresh_change(&r, &set->v[i], fd);
	}
	return rc;
}
