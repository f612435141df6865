/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "session/tail.h"

#include "base/path.h"
#include "change/fold/fold.h"
#include "fs/beneath.h"
#include "fs/fs.h"
#include "session/session_parts.h"
#include "sys/overlay_view.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

void session_tail_done(struct session_tail *t)
{
	if (t->dir && !t->taken)
		(void)rmdir(t->dir);
	free(t->dir);
	t->dir = NULL;
	base_closep(&t->lock_fd);
}

/* ── Taking ── */

static int copy_layers(const struct session_tail *t, const struct change_set *set, const struct strs *below,
		       struct airlock_error *err)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < set->n_roots; i++) {
		_cleanup_free_ char *copy = fold_upper_path(t->dir, i);
		rc = copy ? fs_make_private_dir(copy, err) : base_oom(err);
		if (rc == 0)
			rc = fold_layer(copy, set->roots[i].upper, FOLD_COPY, &below[i], err);
	}
	return rc;
}

/* A process that has the layer mounted does not notice the rename. */
static int exchange(const char *a, const char *b, struct airlock_error *err)
{
	_cleanup_free_ char *upper_a = path_join(a, "upper"), *upper_b = path_join(b, "upper");
	_cleanup_free_ char *work_a = path_join(a, "work"), *work_b = path_join(b, "work");
	if (!upper_a || !upper_b || !work_a || !work_b)
		return base_oom(err);
	if (renameat2(AT_FDCWD, upper_a, AT_FDCWD, upper_b, RENAME_EXCHANGE) < 0)
		return base_errno(err, AIRLOCK_ERR_IO, errno, "rename", upper_a);
	(void)rename(work_a, work_b);
	return 0;
}

int session_tail_take(struct session_tail *t, const struct host *host, const char *run_dir,
		      const struct change_set *set, const struct strs *below, struct airlock_error *err)
{
	_cleanup_free_ char *runs = path_join(host->state_dir, "runs");
	int rc = runs ? session_claim_run(runs, t->id, sizeof t->id, &t->dir, &t->lock_fd, err) : base_oom(err);
	if (rc == 0)
		rc = copy_layers(t, set, below, err);
	if (rc == 0)
		rc = exchange(run_dir, t->dir, err);
	t->taken = rc == 0;
	return rc;
}

/* ── Is it over? ── */

bool session_layers_in_use(const struct change_set *set, const char *dir)
{
	for (size_t i = 0; i < set->n_roots; i++) {
		char work[PATH_MAX];
		int n = snprintf(work, sizeof work, "%s/work/work%zu", dir, i + 1);
		if (n < 0 || (size_t)n >= sizeof work)
			return true;
		if (access(work, F_OK) < 0)
			continue; /* nothing was ever mounted, or it was tidied up */
		if (sys_overlay_is_in_use(set->roots[i].upper, work, -EBADF) != 0)
			return true;
	}
	return false;
}

/* ── What was changed since ── */

/* A file that the copy has and the layer lacks was removed since the copy. Nothing below it needs a look. */
static int mark_removed(const struct change_set *set, const struct change *c, struct airlock_error *err)
{
	struct stat st;
	_cleanup_close_ int upper = open(set->roots[c->root].upper, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	_cleanup_free_ char *parent = path_dirname(c->path);
	if (upper < 0 || !parent)
		return upper < 0 ? base_errno(err, AIRLOCK_ERR_IO, errno, "open", set->roots[c->root].upper)
				 : base_oom(err);
	bool is_top = strchr(c->path, '/') == NULL;
	_cleanup_close_ int above = is_top ? fcntl(upper, F_DUPFD_CLOEXEC, 0)
					   : fs_open_beneath(upper, parent, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
	if (above < 0 || fstatat(above, path_basename(c->path), &st, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	if (mknodat(above, path_basename(c->path), S_IFCHR, makedev(0, 0)) < 0)
		return base_errno(err, AIRLOCK_ERR_IO, errno, "mknod", c->path);
	return 0;
}

static int mark_all_removed(const struct change_set *set, const struct host *host, const char *tail_of,
			    struct airlock_error *err)
{
	_cleanup_changes_ struct change_set *copied = NULL;
	struct buf path = BUF_INIT;
	buf_printf(&path, "%s/runs/%s/changes", host->state_dir, tail_of);
	_cleanup_free_ char *file = buf_take(&path);
	int rc = file ? change_set_load(file, &copied, err) : base_oom(err);
	for (size_t i = 0; rc == 0 && i < copied->n; i++)
		if (copied->v[i].kind != CHANGE_DELETED && copied->v[i].root < set->n_roots)
			rc = mark_removed(set, &copied->v[i], err);
	return rc;
}

/* Everything that the command itself changed is in the layer as well, and would hide what others have made of it since. */
static int keep_changes_only(struct change_set *set, const char *dir, struct airlock_error *err)
{
	_cleanup_free_ char *rest = path_join(dir, "rest");
	int rc = rest ? fs_make_private_dir(rest, err) : base_oom(err);
	if (rc == 0)
		rc = fold_rest(set, rest, err);
	if (rc >= 0)
		rc = exchange(dir, rest, err);
	_cleanup_close_ int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (rc == 0 && fd >= 0)
		(void)fs_remove_tree_at(fd, "rest", NULL, NULL);
	return rc;
}

int session_tail_scan(struct change_set *set, const struct host *host, const char *dir, const char *tail_of,
		      struct notes *notes, struct airlock_error *err)
{
	int rc = mark_all_removed(set, host, tail_of, err);
	if (rc == 0)
		rc = change_scan(set, notes, err);
	return rc < 0 || set->n == 0 ? rc : keep_changes_only(set, dir, err);
}
