/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `airlock restore`: a backup back into its place, as a run of its own, so that it goes through the same journal, checks
 * and before-images as everything else and can be undone. */
#include "airlock/history.h"
#include "base/error.h"
#include "base/path.h"
#include "base/text.h"
#include "change/transfer.h"
#include "fs/beneath.h"
#include "fs/fs.h"
#include "history/backups.h"
#include "api/backups_api.h"
#include "run/run_record.h"
#include "run/layers.h"
#include "history/run_id.h"
#include "change/values.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>

struct restore {
	struct project_view v;
	char *recorded, *backup; /* the path as the records have it; the backup's name in edited/ */
	char *root, *path;	 /* where it goes */
	char id[48];
	char *dir, *upper;
	int lock_fd;
	struct change_set *set;
	struct notes notes;
	struct airlock_error *err;
};

static void restore_done(struct restore *r)
{
	project_view_done(&r->v);
	change_set_free(r->set);
	base_closep(&r->lock_fd);
	notes_done(&r->notes);
	char **all[] = {&r->recorded, &r->backup, &r->root, &r->path, &r->dir, &r->upper};
	for (size_t i = 0; i < AL_ARRAY_LEN(all); i++)
		base_freep(all[i]);
}

/* ── Which backup, and where to ── */

static int choose(struct restore *r, const char *path, const char *date)
{
	_cleanup_backups_ struct store_backups l = {0};
	if (!r->v.id) {
		base_error(r->err, AIRLOCK_ERR_NOT_FOUND, "restore", path, "there is no backup of %s", path);
		return base_hint(r->err,
				 "airlock makes backups after `airlock project add`; `airlock undo` works without one");
	}
	r->recorded = files_record_path(&r->v, path);
	if (!r->recorded)
		return base_oom(r->err);
	int rc = store_backup_list(r->v.store, r->v.id, r->recorded, &l, r->err);
	for (size_t i = 0; rc == 0 && !r->backup && i < l.n; i++)
		if (!date || strcmp(l.v[i].date, date) == 0)
			r->backup = strdup(l.v[i].name);
	if (rc < 0 || r->backup)
		return rc;
	base_error(r->err, AIRLOCK_ERR_NOT_FOUND, "restore", path, "there is no backup of %s%s%s", path,
		   date ? " of " : "", date ? date : "");
	return base_hint(r->err, "airlock backups lists the backups");
}

static int split(struct restore *r)
{
	bool elsewhere = r->recorded[0] == '/';
	r->root = elsewhere ? path_dirname(r->recorded) : strdup(r->v.dir);
	r->path = strdup(elsewhere ? path_basename(r->recorded) : r->recorded);
	if (!r->root || !r->path)
		return base_oom(r->err);
	/* A command may have replaced a directory on the way by a symlink, so open beneath the root without following
	 * (I6). */
	_cleanup_free_ char *real = NULL;
	if (!elsewhere || fs_real_path(r->root, &real, NULL) < 0 || strcmp(real, r->root) == 0)
		return 0;
	return base_error(r->err, AIRLOCK_ERR_CONFLICT, "restore", r->root, "%s leads to another place than before",
			  r->root);
}

/* ── The run ── */

static int make_run(struct restore *r)
{
	_cleanup_free_ char *runs = path_join(r->v.host.state_dir, "runs");
	if (!runs)
		return base_oom(r->err);
	int rc = fs_make_private_dir(runs, r->err);
	if (rc < 0)
		return rc;
	rc = run_id_claim(runs, r->id, sizeof r->id, &r->dir, r->err);
	if (rc < 0)
		return rc;
	r->upper = path_join(r->dir, "upper/overlay1");
	if (!r->upper)
		return base_oom(r->err);
	rc = fs_make_private_dir(r->upper, r->err);
	if (rc < 0)
		return rc;
	r->lock_fd = open(r->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (r->lock_fd < 0 || flock(r->lock_fd, LOCK_EX | LOCK_NB) < 0)
		return base_errno(r->err, AIRLOCK_ERR_IO, errno, "lock", r->dir);
	return 0;
}

static struct change *add_change(struct restore *r, const char *path, const struct stat *live, const struct stat *new)
{
	struct change *c = change_set_add(r->set, 0, path);
	if (!c)
		return NULL;
	c->kind = live ? CHANGE_MODIFIED : CHANGE_ADDED;
	c->after = change_stat_of(new);
	c->type = c->after.type;
	if (live)
		c->before = change_stat_of(live);
	c->verdict = CHANGE_APPLY;
	return c;
}

/* The directories on the way: those that are gone come back too. */
static int add_parents(struct restore *r, int root_fd, int upper_fd)
{
	_cleanup_free_ char *way = strdup(r->path);
	for (char *slash = way; way && (slash = strchr(slash, '/')); slash++) {
		struct stat live, new;
		*slash = '\0';
		int there = fs_stat_beneath(root_fd, way, &live);
		if (there == 0 && !S_ISDIR(live.st_mode))
			return base_error(r->err, AIRLOCK_ERR_CONFLICT, "restore", way,
					  "%s is in the way: it is not a directory any more", way);
		if (mkdirat(upper_fd, way, 0755) < 0 || fstatat(upper_fd, way, &new, AT_SYMLINK_NOFOLLOW) < 0)
			return base_errno(r->err, AIRLOCK_ERR_IO, errno, "mkdir", way);
		if (there < 0 && !add_change(r, way, NULL, &new))
			return base_oom(r->err);
		*slash = '/';
	}
	return way ? 0 : base_oom(r->err);
}

static int copy_backup(struct restore *r, int upper_fd, mode_t mode)
{
	const char *name;
	_cleanup_free_ char *edited = path_join(r->v.host.state_dir, BACKUPS_DIR);
	_cleanup_close_ int from = edited ? open(edited, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
	_cleanup_close_ int parent = fs_open_parent(upper_fd, r->path, &name);
	int rc = from < 0 ? -errno : parent < 0 ? parent : 0;
	struct transfer_place source = {from, r->backup}, to = {parent, name};
	rc = rc < 0 ? rc : transfer_copy(source, to, (int)mode);
	if (rc == -ENOENT)
		return base_error(r->err, AIRLOCK_ERR_NOT_FOUND, "restore", r->backup, "the backup %s is gone",
				  r->backup);
	return rc < 0 ? base_errno(r->err, AIRLOCK_ERR_IO, rc, "copy", r->backup) : 0;
}

/* Take the start time from a file made just now: it has the file system's own clock. Any later change is somebody
 * else's (I3). */
static void set_start(struct restore *r)
{
	struct stat st;
	if (stat(r->upper, &st) == 0)
		r->set->started_ns = (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec;
}

/* Builds the change set that a scan would find if a command had restored the file. */
static int fill(struct restore *r)
{
	struct stat live, new;
	_cleanup_close_ int root = open(r->root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	_cleanup_close_ int upper = open(r->upper, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (root < 0 || upper < 0)
		return base_errno(r->err, AIRLOCK_ERR_IO, errno, "open", root < 0 ? r->root : r->upper);
	r->set = change_set_new(r->id);
	if (!r->set)
		return base_oom(r->err);
	int rc = change_set_add_root(r->set, r->root, r->upper, r->err);
	rc = rc < 0 ? rc : add_parents(r, root, upper);
	bool there = rc == 0 && fs_stat_beneath(root, r->path, &live) == 0;
	if (there && S_ISDIR(live.st_mode))
		return base_error(r->err, AIRLOCK_ERR_CONFLICT, "restore", r->path, "%s is a directory now", r->path);
	rc = rc < 0 ? rc : copy_backup(r, upper, there && S_ISREG(live.st_mode) ? live.st_mode & 0777 : 0644);
	if (rc < 0)
		return rc;
	rc = fs_stat_beneath(upper, r->path, &new);
	if (rc < 0)
		return base_errno(r->err, AIRLOCK_ERR_IO, rc, "stat", r->path);
	if (!add_change(r, r->path, there ? &live : NULL, &new))
		return base_oom(r->err);
	if (there && !S_ISREG(live.st_mode))
		r->set->v[r->set->n - 1].kind = CHANGE_TYPE;
	set_start(r);
	change_set_sort(r->set);
	return 0;
}

static int carry_out(struct restore *r)
{
	_cleanup_free_ char *journal = host_journal_dir(&r->v.host), *locks = host_lock_dir(&r->v.host);
	if (!journal || !locks)
		return base_oom(r->err);
	struct apply_request request = {.set = r->set, .run_dir = r->dir, .journal_dir = journal, .lock_dir = locks};
	int rc = backups_execute(&r->v.host, r->v.dir, &request, &r->notes, r->err);
	return rc < 0 ? rc : 0;
}

/* Removes the traces of a restore that failed. After a half-done apply the directory must stay: the next start
 * finishes the apply and needs its files (I4). gc removes the rest. */
static void remove_run(struct restore *r)
{
	_cleanup_free_ char *runs = path_join(r->v.host.state_dir, "runs");
	_cleanup_close_ int fd = runs && r->dir ? open(runs, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (fd >= 0 && r->id[0])
		(void)fs_remove_tree_at(fd, r->id, NULL, NULL);
}

static int restore(struct restore *r, const char *path, const char *date)
{
	int rc = choose(r, path, date);
	rc = rc < 0 ? rc : split(r);
	rc = rc < 0 ? rc : make_run(r);
	rc = rc < 0 ? rc : fill(r);
	bool has_begun = rc == 0;
	rc = rc < 0 ? rc : carry_out(r);
	if (rc < 0 && (!has_begun || rc == AIRLOCK_ERR_CONFLICT || rc == AIRLOCK_ERR_BUSY))
		remove_run(r);
	return rc;
}

int airlock_restore(const struct airlock_settings *s, const char *path, const char *date, struct airlock_changes **ret,
		    struct airlock_error *err)
{
	struct airlock_error own = {0};
	struct restore r = {.lock_fd = -EBADF, .err = err ? err : &own};
	int rc = files_open_project_of(&r.v, s, path, r.err);
	rc = rc < 0 ? rc : restore(&r, path, date);
	if (rc == 0) {
		_cleanup_buf_ struct buf command = BUF_INIT;
		buf_adds(&command, "airlock restore ");
		text_add_shell_word(&command, path);
		run_record_made(&r.v.host, r.dir, r.set, r.v.dir, buf_str(&command),
				s->asked_by ? s->asked_by : "library", &r.notes);
		const struct change_outcome outcome = {.action = AIRLOCK_ACTION_APPLY, .notes = &r.notes};
		rc = change_values_take(TAKE_PTR(r.set), &outcome, ret, r.err);
	}
	restore_done(&r);
	return rc;
}
