/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Modes and times of live directories. A step changes the mtime of the directory it happens in; in the end each gets the one
 * it would have if the command had worked in the live tree, and undo gives back the one it had. So both are kept, in the
 * journal while applying and in the record afterwards. A directory whose owner, us, may not write in it is opened up
 * meanwhile. */
#include "change/apply/apply_tx.h"

#include "base/path.h"
#include "fs/beneath.h"

#include <fcntl.h>
#include <string.h>

#define FEW_DIRS 8 /* up to here each is synced by itself, beyond it the file system */

/* ── Deciding ── */

static int compare_dirs(const void *x, const void *y)
{
	const struct apply_dir *a = x, *b = y;
	if (a->root != b->root)
		return a->root < b->root ? -1 : 1;
	int order = path_compare(a->path, b->path);
	order = order ? order : (a->op == NULL) - (b->op == NULL);
	return order ? order : a->staged - b->staged;
}

static bool is_about_directory(const struct apply_op *op)
{
	return op->want.type == CHANGE_DIRECTORY || op->old.type == CHANGE_DIRECTORY;
}

static char *parent_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? strndup(path, (size_t)(slash - path)) : strdup("");
}

static int collect_op(struct apply_tx *tx, const struct apply_op *op)
{
	if (op->step == APPLY_NONE)
		return 0;
	/* Also when only the attributes of a directory change: it may have been made anew, which its parent's time tells. */
	struct apply_dir d = {.root = op->root, .path = parent_of(op->path)};
	if (!apply_tx_add_dir(tx, &d))
		return -ENOMEM;
	d.path = is_about_directory(op) ? strdup(op->path) : NULL;
	d.op = op;
	return is_about_directory(op) && !apply_tx_add_dir(tx, &d) ? -ENOMEM : 0;
}

static int collect(struct apply_tx *tx)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < tx->n_ops; i++)
		rc = collect_op(tx, &tx->ops[i]);
	for (size_t i = 0; rc == 0 && i < tx->n_roots; i++) {
		/* our stage directory comes and goes there */
		struct apply_dir d = {.root = i, .path = tx->roots[i].copy ? strdup("") : NULL, .staged = true};
		rc = tx->roots[i].copy && !apply_tx_add_dir(tx, &d) ? -ENOMEM : 0;
	}
	for (size_t i = 0; rc == 0 && tx->unlocked && i < tx->unlocked->n_dirs; i++) {
		/* nothing comes or goes there but its mode */
		const struct apply_dir *open = &tx->unlocked->dirs[i];
		struct apply_dir d = {.root = open->root, .path = strdup(open->path), .staged = true};
		rc = apply_tx_add_dir(tx, &d) ? 0 : -ENOMEM;
	}
	return rc;
}

/* Sorted, each once; the entry with the operation comes first and stays, that of the stage only when there is no other. */
static void make_unique(struct apply_tx *tx)
{
	size_t kept = 0;
	if (tx->n_dirs > 1)
		qsort(tx->dirs, tx->n_dirs, sizeof *tx->dirs, compare_dirs);
	for (size_t i = 0; i < tx->n_dirs; i++) {
		struct apply_dir *last = kept ? &tx->dirs[kept - 1] : NULL;
		if (last && last->root == tx->dirs[i].root && strcmp(last->path, tx->dirs[i].path) == 0)
			free(tx->dirs[i].path);
		else
			tx->dirs[kept++] = tx->dirs[i];
	}
	tx->n_dirs = kept;
}

static struct apply_dir *find_dir(const struct apply_tx *tx, size_t root, const char *path)
{
	size_t low = 0, high = tx->n_dirs;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		struct apply_dir *d = &tx->dirs[middle];
		int order = root != d->root ? (root < d->root ? -1 : 1) : path_compare(path, d->path);
		if (order == 0)
			return d;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

uint32_t dirs_mode(const struct apply_tx *tx, size_t root, const char *path, uint32_t mode)
{
	const struct apply_dir *d = tx->unlocked ? find_dir(tx->unlocked, root, path) : NULL;
	return d ? d->mode_before : mode;
}

static int mark_busy_parent(struct apply_tx *tx, size_t root, const char *path)
{
	_cleanup_free_ char *parent = parent_of(path);
	struct apply_dir *d = parent ? find_dir(tx, root, parent) : NULL;
	if (d)
		d->busy = true;
	return parent ? 0 : -ENOMEM;
}

/* Directories of which, or in which, changes of this run are applied besides those that this transaction is about. */
static int mark_busy(struct apply_tx *tx, const struct change_set *set)
{
	_cleanup_free_ bool *ours = calloc(set->n + 1, sizeof *ours);
	int rc = ours ? 0 : -ENOMEM;
	for (size_t i = 0; ours && i < tx->n_ops; i++)
		ours[tx->ops[i].change] = true;
	for (size_t i = 0; rc == 0 && i < set->n; i++) {
		const struct change *c = &set->v[i];
		if (c->state != CHANGE_APPLIED || ours[i])
			continue;
		struct apply_dir *itself = c->after.type == CHANGE_DIRECTORY ? find_dir(tx, c->root, c->path) : NULL;
		if (itself)
			itself->busy = true;
		rc = mark_busy_parent(tx, c->root, c->path);
		rc = rc == 0 && c->from ? mark_busy_parent(tx, c->root, c->from) : rc;
	}
	return rc;
}

/* What earlier applies of this run have left in the record. */
static void take_recorded(struct apply_tx *tx, const struct change_set *set)
{
	for (size_t i = 0; i < tx->n_dirs; i++)
		tx->dirs[i].without_ns = tx->dirs[i].with_ns = APPLY_NO_TIME;
	for (size_t i = 0; i < set->n_dirs; i++) {
		struct apply_dir *d = find_dir(tx, set->dirs[i].root, set->dirs[i].path);
		if (!d)
			continue;
		d->without_ns = set->dirs[i].without_ns;
		d->with_ns = set->dirs[i].with_ns;
	}
}

static int look_twin(const struct apply_tx *tx, struct apply_dir *d)
{
	struct stat st;
	int rc = fs_stat_beneath(tx->roots[d->root].upper_fd, d->path, &st);
	if (rc == -EACCES) { /* the layer's modes are ours to open */
		const char *name;
		int dir = apply_layer_parent(tx, d->root, d->path, &name);
		rc = dir < 0 ? dir : fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
	}
	if (rc == 0 && S_ISDIR(st.st_mode))
		d->with_ns = change_stat_of(&st).mtime_ns;
	return rc == -ENOENT || rc == -ENOTDIR ? 0 : rc;
}

/* If somebody else added an entry later, keep that later time; a time that the command set itself is kept exactly. */
static void decide_apply(struct apply_dir *d, int64_t live_ns, int64_t started_ns)
{
	bool itself = d->op && d->op->want.type == CHANGE_DIRECTORY;
	d->mtime_after = d->with_ns;
	if (!itself && d->exists_before && live_ns > started_ns && live_ns > d->with_ns)
		d->mtime_after = live_ns;
	if (!d->busy)
		d->without_ns = d->exists_before ? live_ns : APPLY_NO_TIME;
}

static void decide_undo(struct apply_dir *d, int64_t live_ns)
{
	bool others = d->exists_before && d->with_ns != APPLY_NO_TIME && live_ns > d->with_ns;
	d->mtime_after = d->without_ns;
	if (d->exists_before && (d->busy || others))
		d->mtime_after = live_ns;
}

/* It keeps its time, and is remembered so that nobody takes ours for somebody's change. */
static void decide_staged(struct apply_dir *d, int64_t live_ns)
{
	d->mtime_after = live_ns;
	if (d->without_ns == APPLY_NO_TIME)
		d->without_ns = live_ns;
}

static int decide(const struct apply_tx *tx, struct apply_dir *d, int64_t started_ns)
{
	struct stat st = {0};
	int rc = fs_stat_beneath(tx->roots[d->root].live_fd, d->path, &st);
	if (rc < 0 && rc != -ENOENT && rc != -ENOTDIR && rc != -ELOOP)
		return rc;
	struct change_stat live = change_stat_of(&st);
	live.mode = dirs_mode(tx, d->root, d->path, live.mode);
	d->exists_before = rc == 0 && S_ISDIR(st.st_mode);
	d->exists_after = d->op && d->op->step != APPLY_NONE ? d->op->want.type == CHANGE_DIRECTORY : d->exists_before;
	d->mode_before = d->exists_before ? live.mode : 0;
	d->mode_after = d->op && d->exists_after ? d->op->want.mode : d->mode_before;
	d->mtime_before = live.mtime_ns;
	d->open = d->exists_before && st.st_uid == geteuid() && geteuid() != 0 && (live.mode & 0300) != 0300;
	if (d->with_ns == APPLY_NO_TIME && !tx->undo && !d->staged)
		rc = look_twin(tx, d);
	if (d->staged)
		decide_staged(d, live.mtime_ns);
	else if (tx->undo)
		decide_undo(d, live.mtime_ns);
	else
		decide_apply(d, live.mtime_ns, started_ns);
	return rc == -ENOENT || rc == -ENOTDIR || rc == -ELOOP ? 0 : rc;
}

int ops_plan_dirs(struct apply_tx *tx, struct change_set *set, struct airlock_error *err)
{
	int rc = collect(tx);
	if (rc < 0)
		return base_oom(err);
	make_unique(tx);
	take_recorded(tx, set);
	rc = mark_busy(tx, set);
	if (rc < 0)
		return base_oom(err);
	for (size_t i = 0; i < tx->n_dirs; i++) {
		rc = decide(tx, &tx->dirs[i], set->started_ns);
		if (rc < 0)
			return apply_error(err, rc, "lstat", tx, tx->dirs[i].root, tx->dirs[i].path);
	}
	return 0;
}

/* ── Doing ── */

static int open_dir(const struct apply_tx *tx, const struct apply_dir *d, int flags)
{
	return fs_open_beneath(tx->roots[d->root].live_fd, d->path, flags | O_DIRECTORY);
}

static int open_up(const struct apply_tx *tx, const struct apply_dir *d)
{
	struct stat st;
	_cleanup_close_ int fd = open_dir(tx, d, O_PATH);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	bool needed = st.st_uid == geteuid() && (st.st_mode & 0700) != 0700;
	return needed ? apply_chmod_fd(fd, (uint32_t)st.st_mode | 0700) : 0;
}

int dirs_open(struct apply_tx *tx, bool again, struct airlock_error *err)
{
	for (size_t i = 0; i < tx->n_dirs && geteuid() != 0; i++) {
		const struct apply_dir *d = &tx->dirs[i];
		int rc = d->open || again ? open_up(tx, d) : 0;
		bool missing = rc == -ENOENT || rc == -ENOTDIR || rc == -ELOOP;
		if (rc < 0 && !(again && missing))
			return apply_error(err, rc, "chmod", tx, d->root, d->path);
	}
	return 0;
}

static int set_one(int fd, uint32_t mode, int64_t mtime_ns)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return -errno;
	int rc = (st.st_mode & 07777) == mode ? 0 : apply_chmod_fd(fd, mode);
	if (rc < 0 || mtime_ns == APPLY_NO_TIME || change_stat_of(&st).mtime_ns == mtime_ns)
		return rc;
	rc = apply_set_mtime_fd(fd, mtime_ns);
	/* In a directory that others own (/tmp, a group's), we may change entries but not the time: leave it. */
	return rc == -EPERM && st.st_uid != geteuid() ? 0 : rc;
}

/* Going back, the layer's directory gets its time too: taking files out and putting them back changed it. */
static int reset_twin(const struct apply_tx *tx, const struct apply_dir *d)
{
	if (tx->undo || d->with_ns == APPLY_NO_TIME)
		return 0;
	_cleanup_close_ int fd = fs_open_beneath(tx->roots[d->root].upper_fd, d->path, O_PATH | O_DIRECTORY);
	return fd < 0 ? 0 : apply_set_mtime_fd(fd, d->with_ns);
}

/* Somebody else's directory is at the place of one that was to come. */
static bool is_left(const struct apply_tx *tx, const struct apply_dir *d)
{
	for (size_t i = 0; tx->n_left && i < tx->n_ops; i++)
		if (tx->ops[i].left && tx->ops[i].root == d->root && strcmp(tx->ops[i].path, d->path) == 0)
			return true;
	return false;
}

static int finish_one(const struct apply_tx *tx, const struct apply_dir *d, bool forward)
{
	int twin = forward ? 0 : reset_twin(tx, d);
	if (!(forward ? d->exists_after : d->exists_before) || is_left(tx, d))
		return twin;
	_cleanup_close_ int fd = open_dir(tx, d, O_PATH);
	if (fd < 0) /* after a crash somebody may have taken it away */
		return tx->recovering || !forward ? twin : fd;
	int rc = set_one(fd, forward ? d->mode_after : d->mode_before, forward ? d->mtime_after : d->mtime_before);
	return rc < 0 ? rc : twin;
}

/* A root in which our stage directory still is comes last, when that is gone. */
static bool is_staged_root(const struct apply_tx *tx, const struct apply_dir *d)
{
	return tx->roots[d->root].copy && d->path[0] == '\0';
}

/* Deepest first: a parent without search permission would hide its children. */
static int finish(struct apply_tx *tx, bool forward, bool staged_roots, struct airlock_error *err)
{
	int failed = 0;
	for (size_t i = tx->n_dirs; i-- > 0;) {
		const struct apply_dir *d = &tx->dirs[i];
		int rc = is_staged_root(tx, d) == staged_roots ? finish_one(tx, d, forward) : 0;
		if (rc < 0 && !failed)
			failed = apply_error(err, rc, "set mode and time", tx, d->root, d->path);
		if (failed && forward)
			return failed;
	}
	return failed;
}

int dirs_finish(struct apply_tx *tx, bool forward, struct airlock_error *err)
{
	return finish(tx, forward, false, err);
}

int dirs_finish_staged_roots(struct apply_tx *tx, bool forward, struct airlock_error *err)
{
	return finish(tx, forward, true, err);
}

/* Some file systems cannot sync a directory and say EINVAL. */
static int sync_fd(int fd, int (*sync)(int))
{
	return sync(fd) < 0 && errno != EINVAL ? -errno : 0;
}

/* Before-images are in the layer, too. */
static int sync_twin(const struct apply_tx *tx, const struct apply_dir *d)
{
	if (tx->roots[d->root].copy)
		return 0;
	_cleanup_close_ int fd = fs_open_beneath(tx->roots[d->root].upper_fd, d->path, O_RDONLY | O_DIRECTORY);
	return fd < 0 ? 0 : sync_fd(fd, fsync);
}

static int sync_each(struct apply_tx *tx, struct airlock_error *err)
{
	for (size_t i = 0; i < tx->n_dirs; i++) {
		const struct apply_dir *d = &tx->dirs[i];
		_cleanup_close_ int fd = open_dir(tx, d, O_RDONLY);
		int rc = fd < 0 ? 0 : sync_fd(fd, fsync);
		rc = rc < 0 ? rc : sync_twin(tx, d);
		if (rc < 0)
			return apply_error(err, rc, "fsync", tx, d->root, d->path);
	}
	return 0;
}

/* Those on the file system of before/ are synced with it. */
static int sync_roots(struct apply_tx *tx, struct airlock_error *err)
{
	for (size_t i = 0; i < tx->n_roots; i++) {
		if (!tx->roots[i].copy)
			continue;
		_cleanup_close_ int fd = fs_open_beneath(tx->roots[i].live_fd, "", O_RDONLY | O_DIRECTORY);
		int rc = fd < 0 ? 0 : sync_fd(fd, syncfs);
		if (rc < 0)
			return base_errno(err, AIRLOCK_ERR_IO, rc, "syncfs", tx->roots[i].path);
	}
	return 0;
}

static bool uses_slots(const struct apply_tx *tx)
{
	for (size_t i = 0; i < tx->n_ops; i++)
		if (!tx->ops[i].in_layer)
			return true;
	return tx->n_ops == 0;
}

int dirs_sync(struct apply_tx *tx, struct airlock_error *err)
{
	bool few = tx->n_dirs <= FEW_DIRS;
	int rc = few ? sync_each(tx, err) : sync_roots(tx, err);
	if (rc < 0 || (few && !uses_slots(tx)))
		return rc;
	rc = sync_fd(tx->before_fd, few ? fsync : syncfs);
	return rc < 0 ? base_errno(err, AIRLOCK_ERR_IO, rc, "fsync", "before") : 0;
}
