/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "change/apply/unlock.h"

#include "base/path.h"
#include "fs/beneath.h"
#include "fs/walk.h"

#include <fcntl.h>
#include <string.h>

/* ── Looking ── */

static bool is_closed(int fd, struct stat *ret)
{
	return fstat(fd, ret) == 0 && S_ISDIR(ret->st_mode) && ret->st_uid == geteuid() &&
	       (ret->st_mode & 0500) != 0500;
}

static int note(struct unlock *u, size_t root, const char *path, size_t len, const struct stat *st)
{
	struct change_stat s = change_stat_of(st);
	struct apply_dir d = {.root = root,
			      .path = strndup(path, len),
			      .exists_before = true,
			      .exists_after = true,
			      .open = true,
			      .mode_before = s.mode,
			      .mode_after = s.mode,
			      .mtime_before = s.mtime_ns,
			      .mtime_after = s.mtime_ns,
			      .without_ns = APPLY_NO_TIME,
			      .with_ns = APPLY_NO_TIME};
	return apply_tx_add_dir(&u->tx, &d) ? 0 : -ENOMEM;
}

/* Notes the first directory on the way to path, or path itself, that is closed. Whatever else keeps us from going on is for
 * others to find. */
static int look_at(struct unlock *u, size_t root, const char *path)
{
	_cleanup_close_ int fd = fs_open_beneath(u->tx.roots[root].live_fd, "", O_PATH | O_DIRECTORY);
	for (size_t at = 0; fd >= 0;) {
		struct stat st;
		if (at > 0 && is_closed(fd, &st))
			return note(u, root, path, at, &st);
		if (path[at] == '\0')
			break;
		size_t start = at + (path[at] == '/'), len = strcspn(path + start, "/");
		_cleanup_free_ char *name = strndup(path + start, len);
		if (!name)
			return -ENOMEM;
		int next = fs_open_dir_at(fd, name, O_PATH);
		base_closep(&fd);
		fd = next < 0 ? -EBADF : next;
		at = start + len;
	}
	return 0;
}

static int look_at_all(struct unlock *u, const struct apply_request *request)
{
	const struct change_set *set = request->set;
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < set->n; i++) {
		const struct change *c = &set->v[i];
		bool ready = request->undo ? c->state == CHANGE_APPLIED
					   : c->state == CHANGE_HELD || c->state == CHANGE_CONFLICT;
		if (!ready || (request->selected && !request->selected[i]))
			continue;
		rc = look_at(u, c->root, c->path);
		rc = rc == 0 && c->from ? look_at(u, c->root, c->from) : rc;
	}
	return rc;
}

/* ── Opening ── */

static int compare(const void *x, const void *y)
{
	const struct apply_dir *a = x, *b = y;
	if (a->root != b->root)
		return a->root < b->root ? -1 : 1;
	return path_compare(a->path, b->path);
}

static void make_unique(struct apply_tx *tx)
{
	size_t kept = 0;
	if (tx->n_dirs > 1)
		qsort(tx->dirs, tx->n_dirs, sizeof *tx->dirs, compare);
	for (size_t i = 0; i < tx->n_dirs; i++)
		if (kept && compare(&tx->dirs[kept - 1], &tx->dirs[i]) == 0)
			free(tx->dirs[i].path);
		else
			tx->dirs[kept++] = tx->dirs[i];
	tx->n_dirs = kept;
}

/* All that were found so far, those before included: whoever recovers opens and closes them together. */
static int write_journal(struct unlock *u, const char *dir, struct airlock_error *err)
{
	struct journal *v = reallocarray(u->journals, u->n_journals + 1, sizeof *v);
	if (!v)
		return base_oom(err);
	u->journals = v;
	struct journal *j = &v[u->n_journals];
	*j = (struct journal)JOURNAL_INIT;
	int rc = journal_create(j, dir, u->tx.run, err);
	if (rc < 0) {
		journal_close(j);
		return rc;
	}
	u->n_journals++;
	journal_add_head(j, &u->tx);
	return journal_write(j, err);
}

static int open_places(struct unlock *u, const struct apply_tx *tx, const struct apply_request *request,
		       struct airlock_error *err)
{
	u->tx.undo = tx->undo;
	u->tx.notes = tx->notes;
	u->tx.run = strdup(tx->run);
	u->tx.lock_dir = strdup(tx->lock_dir);
	int rc = u->tx.run && u->tx.lock_dir ? 0 : -ENOMEM;
	for (size_t i = 0; rc == 0 && i < tx->n_roots; i++) {
		struct apply_root root = tx->roots[i];
		root.copy = false;
		rc = apply_tx_add_root(&u->tx, &root);
	}
	return rc < 0 ? base_oom(err) : apply_tx_open(&u->tx, request->run_dir, request->set->started_ns, err);
}

/* Each round opens the directories that the previous round made visible. */
int unlock_dirs(struct unlock *u, struct apply_tx *tx, const struct apply_request *request, struct airlock_error *err)
{
	int rc = open_places(u, tx, request, err);
	for (size_t known = 0; rc == 0; known = u->tx.n_dirs) {
		if (look_at_all(u, request) < 0)
			return base_oom(err);
		make_unique(&u->tx);
		if (u->tx.n_dirs == known)
			break;
		rc = write_journal(u, request->journal_dir, err);
		rc = rc < 0 ? rc : dirs_open(&u->tx, true, err);
	}
	tx->unlocked = &u->tx;
	return rc;
}

/* ── Closing ── */

void unlock_hand_over(struct unlock *u)
{
	for (size_t i = 0; i < u->n_journals; i++)
		(void)journal_remove(&u->journals[i], NULL); /* one that stays is done with first when recovering */
	u->handed_over = true;
}

void unlock_restore(struct unlock *u)
{
	struct airlock_error why = {0};
	if (u->handed_over || u->n_journals == 0)
		return;
	int rc = dirs_open(&u->tx, true, &why);
	rc = rc < 0 ? rc : apply_abandon(&u->tx, &why);
	if (rc < 0)
		NOTE(u->tx.notes, MODES_NOT_RESTORED, .cause = why.message);
	else
		unlock_hand_over(u);
}

void unlock_done(struct unlock *u)
{
	for (size_t i = 0; i < u->n_journals; i++)
		journal_close(&u->journals[i]);
	base_freep(&u->journals);
	u->n_journals = 0;
	apply_tx_done(&u->tx);
}
