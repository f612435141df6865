/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* I3: what somebody else did since the run began is never overwritten. Nothing was copied when the run began, so the live
 * tree itself must tell: only others write to it while the run is in its layer, and whoever changes an entry gives it a
 * ctime later than the run's start, or another inode, or none. Only a directory's ctime says little: it changes with every
 * neighbour. What already is as the run would make it is no conflict, whoever made it so.
 */
#include "change/change.h"

#include "base/path.h"
#include "change/apply/apply_tx.h"
#include "change/scan/compare.h"
#include "change/gate/gate_moved.h"
#include "change/scan/returns.h"
#include "change/reason.h"
#include "change/same_root.h"
#include "fs/beneath.h"
#include "fs/walk.h"
#include "layer/open.h"
#include "layer/upper.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>

struct check {
	struct change_set *set;
	struct moved moved;
	const struct apply_tx *tx;
	struct returns *returns; /* never NULL */
	struct compare compare;
	size_t root;
	int live, layer;  /* of this root, O_PATH */
	bool tells_birth; /* when a directory was made */
	bool made_up_inodes;
	/* The directory looked at last: changes come sorted, so mostly it is the next one's as well. */
	struct buf dir;
	bool known;
	int dir_fd; /* -EBADF: not there, and need not be */
	enum airlock_reason_code dir_reason;
	bool failed; /* out of memory */
	int errnum;  /* the machine could not say: that is an error, and nobody else's doing */
};

static void note_error(struct check *k, int errnum)
{
	if (k->errnum == 0 && !base_is_absent(errnum) && errnum != EXDEV)
		k->errnum = errnum;
}

/* ── The directory a path is in ── */

static int64_t nanoseconds(const struct statx_timestamp *t)
{
	const struct stat st = {.st_ctim = {.tv_sec = t->tv_sec, .tv_nsec = t->tv_nsec}};
	return change_stat_of(&st).ctime_ns;
}

/* The directory may be missing then. */
static bool is_made_by_run(const struct check *k, const char *path)
{
	const struct change *c = change_set_find(k->set, k->root, path);
	return c && c->before.type != CHANGE_DIRECTORY;
}

/* True if the run knew this directory: it is the recorded one, or older than the run. Unknown if the file system has
 * no birth times. */
static bool is_the_same_directory(struct check *k, int fd, const char *path)
{
	struct statx stx;
	const struct change *c = change_set_find(k->set, k->root, path);
	if (is_made_by_run(k, path) || k->made_up_inodes)
		return true;
	if (statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_MODE | STATX_BTIME, &stx) < 0) {
		note_error(k, errno);
		return false;
	}
	if (c) {
		struct change_stat live = {
			.type = CHANGE_DIRECTORY, .inode = stx.stx_ino, .mode = stx.stx_mode & 07777u};
		return live.inode == c->before.inode || returns_is_same(k->returns, &c->before, &live);
	}
	return !k->tells_birth || !(stx.stx_mask & STATX_BTIME) || nanoseconds(&stx.stx_btime) <= k->set->started_ns ||
	       returns_has_made(k->returns, stx.stx_ino, nanoseconds(&stx.stx_btime));
}

static enum airlock_reason_code why_not_opened(struct check *k, int rc, const char *path)
{
	note_error(k, -rc);
	if (is_made_by_run(k, path) && (rc == -ENOENT || rc == -ENOTDIR || rc == -ELOOP))
		return AIRLOCK_REASON_NONE;
	return rc == -ENOENT   ? AIRLOCK_REASON_PARENT_DELETED
	       : rc == -EACCES ? AIRLOCK_REASON_LOST
			       : AIRLOCK_REASON_PARENT_REPLACED;
}

/* One step down, to the directory whose path is the first n bytes of k->dir. */
static bool descend(struct check *k, char *path, size_t start, size_t n)
{
	char kept = path[n];
	path[n] = '\0';
	int fd = fs_open_dir_at(k->dir_fd, path + start, O_PATH);
	base_closep(&k->dir_fd);
	if (fd < 0)
		k->dir_reason = why_not_opened(k, fd, path);
	else if (!is_the_same_directory(k, fd, path)) {
		k->dir_reason = AIRLOCK_REASON_PARENT_REPLACED;
		base_closep(&fd);
	}
	k->dir_fd = fd < 0 ? -EBADF : fd;
	path[n] = kept;
	return fd >= 0;
}

/* Leaves in k what there is to know about the directory of path. */
static void look_at_dir(struct check *k, const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t len = slash ? (size_t)(slash - path) : 0;
	if (k->known && k->dir.len == len && memcmp(buf_str(&k->dir), path, len) == 0)
		return;
	base_closep(&k->dir_fd);
	k->dir_reason = AIRLOCK_REASON_NONE;
	buf_reset(&k->dir);
	buf_add(&k->dir, path, len);
	k->failed |= k->dir.failed;
	k->known = !k->dir.failed;
	k->dir_fd = k->known ? fs_open_beneath(k->live, "", O_PATH | O_DIRECTORY) : -EBADF;
	if (k->known && k->dir_fd < 0)
		note_error(k, -k->dir_fd);
	for (size_t start = 0; k->dir_fd >= 0 && start < len;) {
		size_t n = start + strcspn(k->dir.data + start, "/");
		if (!descend(k, k->dir.data, start, n))
			return;
		start = n + 1;
	}
}

/* ── One path ── */

/* What is live there; CHANGE_NOTHING also when its directory is not. Returns why that cannot be told. */
static enum airlock_reason_code look(struct check *k, const char *path, struct change_stat *ret)
{
	*ret = (struct change_stat){0};
	look_at_dir(k, path);
	if (k->dir_fd < 0)
		return k->dir_reason == AIRLOCK_REASON_PARENT_DELETED ? AIRLOCK_REASON_NONE : k->dir_reason;
	int rc = change_stat_fresh(k->dir_fd, path_basename(path), ret);
	if (rc < 0) {
		note_error(k, -rc);
		return AIRLOCK_REASON_LOST;
	}
	if (k->tx && ret->type == CHANGE_DIRECTORY)
		ret->mode = dirs_mode(k->tx, k->root, path, ret->mode);
	return AIRLOCK_REASON_NONE;
}

/* Adding or removing a hard link changes the ctime of every name of the file. */
static bool only_links_changed(const struct change_stat *live, const struct change_stat *before)
{
	return (live->links > 1 || before->links > 1) && live->mtime_ns == before->mtime_ns &&
	       live->size == before->size && live->mode == before->mode;
}

/* Put back by an undo, an entry has the ctime of that; otherwise none may be later than the run's start. A clock that was
 * set back shows in the difference to what the scan saw. Where times are whole seconds (sshfs), the size tells a little more. */
static bool was_edited(const struct check *k, const struct change *c, const struct change_stat *live)
{
	bool was_old = c->settled || c->before.ctime_ns <= k->set->started_ns;
	if (was_old && live->ctime_ns == c->before.ctime_ns && live->size == c->before.size)
		return false;
	if (was_old && returns_is_same(k->returns, &c->before, live))
		return false;
	return !was_old || !only_links_changed(live, &c->before);
}

/* Looks for somebody else's new entry in a directory that the run deletes. Entries that the run knew are changes of
 * their own. */
static bool has_unknown_entry(struct check *k, const char *path)
{
	_cleanup_walk_ struct fs_walk w = FS_WALK_INIT;
	int event = fs_open_dir_at(k->dir_fd, path_basename(path), O_RDONLY);
	event = event < 0 ? event : fs_walk_start(&w, event);
	while (event >= 0 && (event = fs_walk_next(&w)) > 0) {
		_cleanup_free_ char *child = path_join(path, w.name);
		bool known =
			child && (change_set_find(k->set, k->root, child) || moved_find(&k->moved, k->root, child));
		k->failed |= !child;
		if (!known)
			return true;
	}
	if (event < 0)
		note_error(k, -event);
	return event < 0;
}

/* The scan saw the new entry after the run and took it for the old one. */
static bool was_born_since(struct check *k, const char *path)
{
	struct statx stx;
	if (!k->tells_birth)
		return false;
	if (statx(k->dir_fd, path_basename(path), AT_SYMLINK_NOFOLLOW, STATX_INO | STATX_BTIME, &stx) < 0) {
		note_error(k, errno);
		return false;
	}
	return (stx.stx_mask & STATX_BTIME) && nanoseconds(&stx.stx_btime) > k->set->started_ns &&
	       !returns_has_made(k->returns, stx.stx_ino, nanoseconds(&stx.stx_btime));
}

static enum airlock_reason_code judge_directory(struct check *k, const struct change *c, const char *path,
						const struct change_stat *live)
{
	if (!c->settled && was_born_since(k, path))
		return AIRLOCK_REASON_CREATED;
	if (live->mode != c->before.mode)
		return AIRLOCK_REASON_EDITED;
	return c->after.type != CHANGE_DIRECTORY && has_unknown_entry(k, path) ? AIRLOCK_REASON_FILLED
									       : AIRLOCK_REASON_NONE;
}

/* True if git rewrote its index only to remember file times: the staged entries are the same. */
static bool is_same_index(struct check *k, const struct change *c, const char *path, const struct change_stat *live)
{
	if (!c->index_mark || live->type != CHANGE_FILE || c->before.type != CHANGE_FILE ||
	    live->mode != c->before.mode)
		return false;
	_cleanup_close_ int fd = open_regular_at(k->dir_fd, path_basename(path));
	return fd >= 0 && gate_index_mark(fd) == c->index_mark;
}

static bool is_same_inode(const struct check *k, const struct change *c, const struct change_stat *live)
{
	return live->inode == c->before.inode || k->made_up_inodes || returns_is_same(k->returns, &c->before, live);
}

/* The path the entry of c had before the run, which is not where it is after a rename. */
static enum airlock_reason_code judge_old(struct check *k, const struct change *c, const char *path)
{
	struct change_stat live;
	enum airlock_reason_code reason = look(k, path, &live);
	if (reason)
		return reason;
	if (live.type == CHANGE_NOTHING)
		return AIRLOCK_REASON_DELETED;
	if (is_same_index(k, c, path, &live))
		return AIRLOCK_REASON_NONE;
	if (live.type != c->before.type || !is_same_inode(k, c, &live))
		return AIRLOCK_REASON_REPLACED;
	if (live.type == CHANGE_DIRECTORY)
		return judge_directory(k, c, path, &live);
	return was_edited(k, c, &live) ? AIRLOCK_REASON_EDITED : AIRLOCK_REASON_NONE;
}

static int compare_dirs(const void *a, const void *b)
{
	const struct change_dir *x = a, *y = b;
	if (x->root != y->root)
		return x->root < y->root ? -1 : 1;
	return path_compare(x->path, y->path);
}

/* Where some of the run's own changes have arrived already, what counts is the mtime from before that. */
static bool dir_was_changed(struct check *k)
{
	struct stat st;
	struct change_dir key = {.root = k->root, .path = (char *)buf_str(&k->dir)}, *known = NULL;
	if (k->set->n_dirs > 0)
		known = bsearch(&key, k->set->dirs, k->set->n_dirs, sizeof key, compare_dirs);
	if (known)
		return known->without_ns > k->set->started_ns;
	if (k->dir_fd < 0)
		return false;
	if (fstat(k->dir_fd, &st) < 0) {
		note_error(k, errno);
		return false;
	}
	return change_stat_of(&st).ctime_ns > k->set->started_ns;
}

/* The layer has a copy of an entry that was gone when the scan came: somebody deleted it during the run. A file may
 * also have been moved here by the command; then nobody touched this directory. */
static bool has_lost_original(struct check *k, const struct change *c)
{
	if (!c->copied_up || c->settled || c->kind == CHANGE_RENAMED || c->before.type != CHANGE_NOTHING)
		return false;
	return c->after.type == CHANGE_DIRECTORY || dir_was_changed(k);
}

/* A path that was not there before the run. */
static enum airlock_reason_code judge_new(struct check *k, const struct change *c)
{
	struct change_stat live;
	enum airlock_reason_code reason = look(k, c->path, &live);
	if (reason)
		return reason;
	bool lost = has_lost_original(k, c);
	if (live.type == CHANGE_NOTHING)
		return lost ? AIRLOCK_REASON_DELETED : k->dir_reason; /* its directory may be gone as well */
	return lost ? AIRLOCK_REASON_REPLACED : AIRLOCK_REASON_CREATED;
}

static enum airlock_reason_code judge(struct check *k, const struct change *c)
{
	if (c->kind == CHANGE_RENAMED) {
		enum airlock_reason_code reason = judge_old(k, c, c->from);
		return reason ? reason : judge_new(k, c);
	}
	return c->before.type == CHANGE_NOTHING ? judge_new(k, c) : judge_old(k, c, c->path);
}

/* ── Already so ── */

static bool same_bytes(struct check *k, int layer_dir, const char *name, uint64_t size)
{
	int ignored;
	_cleanup_close_ int a = upper_open_file(layer_dir, name);
	_cleanup_close_ int b = a < 0 ? -EBADF : open_regular_at(k->dir_fd, name);
	return a >= 0 && b >= 0 && compare_files(&k->compare, a, b, size, &ignored) == 1;
}

static bool same_target(struct check *k, int layer_dir, const char *name)
{
	char x[PATH_MAX], y[PATH_MAX];
	ssize_t n = readlinkat(layer_dir, name, x, sizeof x), m = readlinkat(k->dir_fd, name, y, sizeof y);
	return n >= 0 && n == m && memcmp(x, y, (size_t)n) == 0;
}

static bool is_as_after(struct check *k, const struct change *c)
{
	struct change_stat live;
	const char *name;
	uint32_t mode = c->setid_dropped ? c->after.mode & 01777u : c->after.mode;
	if (look(k, c->path, &live) || live.type != c->after.type)
		return false;
	if (live.type == CHANGE_NOTHING)
		return true;
	if (live.type != CHANGE_SYMLINK && live.mode != mode)
		return false;
	if (live.type == CHANGE_DIRECTORY)
		return true;
	_cleanup_close_ int layer_dir = upper_open_parent(k->layer, c->path, &name);
	if (layer_dir < 0 || live.size != c->after.size)
		return false;
	return live.type == CHANGE_SYMLINK ? same_target(k, layer_dir, name)
	       : live.type == CHANGE_FILE  ? same_bytes(k, layer_dir, name, live.size)
					   : false;
}

/* Both ends of a rename have to be. */
static bool is_done(struct check *k, const struct change *c)
{
	struct change_stat live;
	if (c->from && (look(k, c->from, &live) || live.type != CHANGE_NOTHING))
		return false;
	return is_as_after(k, c);
}

/* ── All of them ── */

static bool is_open(const struct change *c)
{
	return c->state == CHANGE_HELD || c->state == CHANGE_CONFLICT;
}

void conflict_forget(struct change *c)
{
	change_reason_drop(c, REASON_CONFLICT);
	if (c->state == CHANGE_CONFLICT)
		c->state = CHANGE_HELD;
}

int conflict_mark(struct change *c, enum airlock_reason_code code)
{
	change_reason_drop(c, REASON_WAITING);
	c->state = CHANGE_CONFLICT;
	return change_reason_set(c, change_reason_of(code));
}

/* Keep the reason "another change is in conflict" as long as there is a conflict. */
static int tell_the_others(struct change_set *set, int conflicts)
{
	if (conflicts > 0)
		return change_set_wait(set, AIRLOCK_REASON_OTHER_CONFLICT) < 0 ? -ENOMEM : conflicts;
	for (size_t i = 0; i < set->n; i++)
		if (change_reason_code(&set->v[i], REASON_WAITING) == AIRLOCK_REASON_OTHER_CONFLICT)
			change_reason_drop(&set->v[i], REASON_WAITING);
	return 0;
}

static void close_root(struct check *k)
{
	base_closep(&k->live);
	base_closep(&k->layer);
	base_closep(&k->dir_fd);
	k->known = false;
}

/* On an overlay (as in containers) a directory gets a new inode when something in it first changes. */
static bool tells_birth(int fd)
{
	struct statfs fs;
	return fstatfs(fd, &fs) == 0 && fs.f_type != OVERLAYFS_SUPER_MAGIC;
}

/* Returns the reason when the directory is not the one the run began in. */
static enum airlock_reason_code open_root(struct check *k, size_t root)
{
	const struct change_root *r = &k->set->roots[root];
	struct stat st;
	close_root(k);
	k->root = root;
	k->live = open(r->path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (k->live < 0 || fstat(k->live, &st) < 0) {
		note_error(k, errno);
		return AIRLOCK_REASON_ROOT_REPLACED;
	}
	k->layer = open(r->upper, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (k->layer < 0)
		note_error(k, errno);
	if (!same_root(k->live, &st, &(struct same_root_key){r->device, r->inode, k->set->started_ns}))
		return AIRLOCK_REASON_ROOT_REPLACED;
	k->tells_birth = tells_birth(k->live);
	k->made_up_inodes = has_made_up_inodes(k->live);
	return AIRLOCK_REASON_NONE;
}

static int check_all(struct check *k)
{
	enum airlock_reason_code root_reason = AIRLOCK_REASON_NONE;
	int n = 0;
	for (size_t i = 0; i < k->set->n; i++) {
		struct change *c = &k->set->v[i];
		if (i == 0 || c->root != k->root)
			root_reason = open_root(k, c->root);
		if (!is_open(c))
			continue;
		conflict_forget(c);
		enum airlock_reason_code reason = root_reason ? root_reason : judge(k, c);
		if (k->errnum)
			return -k->errnum;
		if (!reason || (!root_reason && is_done(k, c)))
			continue;
		if (conflict_mark(c, reason) < 0)
			return -ENOMEM;
		n++;
	}
	return tell_the_others(k->set, n);
}

int conflict_check(struct change_set *set, const struct apply_tx *tx, struct airlock_error *err)
{
	struct returns nothing = RETURNS_INIT(NULL);
	struct check k = {.set = set,
			  .tx = tx,
			  .returns = tx && tx->known ? tx->known : &nothing,
			  .live = -EBADF,
			  .layer = -EBADF,
			  .dir_fd = -EBADF};
	int n = moved_collect(&k.moved, set);
	n = n < 0 ? n : check_all(&k);
	close_root(&k);
	moved_done(&k.moved);
	buf_done(&k.dir);
	compare_done(&k.compare);
	if (k.errnum && k.errnum != ENOMEM)
		return base_errno(err, AIRLOCK_ERR_IO, k.errnum, "look at", set->roots[k.root].path);
	return n < 0 || k.failed ? base_oom(err) : n;
}
