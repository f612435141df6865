/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "change/fold/fold.h"

#include "base/path.h"
#include "change/scan/compare.h"
#include "change/transfer.h"
#include "fs/beneath.h"
#include "fs/fs.h"
#include "fs/walk.h"
#include "layer/upper.h"
#include "layer/xattrs.h"

#include <assert.h>
#include <fcntl.h>
#include <string.h>

char *fold_upper_path(const char *dir, size_t root)
{
	struct buf b = BUF_INIT;
	buf_printf(&b, "%s/upper/overlay%zu", dir, root + 1);
	return buf_take(&b);
}

/* ── Against the bases ── */

struct rebase {
	struct change_set *set;
	const struct fold_bases *bases;
	struct compare compare;
	int upper; /* of the root that is looked at */
};

/* The work made the file what it was at first, and somebody else has changed the project's since. */
static bool is_as_base(struct rebase *r, const struct change *c, const struct fold_base *base)
{
	int ignored;
	const char *name = NULL;
	if (c->after.type != CHANGE_FILE || base->stat.type != CHANGE_FILE || c->after.size != base->stat.size ||
	    c->after.mode != base->stat.mode)
		return false;
	_cleanup_close_ int dir = fs_open_parent(r->upper, c->path, &name);
	_cleanup_close_ int ours = dir < 0 ? dir : upper_open_file(dir, name);
	_cleanup_close_ int kept = fold_base_open(base);
	return ours >= 0 && kept >= 0 && compare_files(&r->compare, ours, kept, c->after.size, &ignored) == 1;
}

static bool is_same_entry(const struct change_stat *a, const struct change_stat *b)
{
	return a->type == b->type && a->inode == b->inode && a->size == b->size && a->mtime_ns == b->mtime_ns;
}

/* It was looked at then, and what is known of it is from there: a later ctime than the last command's start is somebody else's
 * change, unless that is known, too. */
static void take_base(struct change *c, const struct fold_base *base)
{
	c->before = base->stat;
	c->settled = base->stat.ctime_ns != INT64_MAX;
}

/* Sets `before` and the kind. False: it comes to nothing, or is none of the work's doing. */
static bool rebase_change(struct rebase *r, struct change *c)
{
	const char *root = r->set->roots[c->root].path;
	const struct fold_base *base = fold_bases_find(r->bases, root, c->path);
	if (c->kind == CHANGE_RENAMED) {
		const struct fold_base *from = fold_bases_find(r->bases, root, c->from);
		if (!base || !from)
			return base != NULL;
		take_base(c, from);
		return true;
	}
	/* No command changed it: it lies in a directory that one removed, and is somebody else's. */
	if (!base)
		return false;
	bool is_live = is_same_entry(&c->before, &base->stat);
	if (c->after.type == CHANGE_NOTHING && base->stat.type == CHANGE_NOTHING)
		return false;
	if (!is_live && is_as_base(r, c, base))
		return false;
	take_base(c, base);
	if (c->after.type == CHANGE_NOTHING)
		c->kind = CHANGE_DELETED;
	else if (base->stat.type == CHANGE_NOTHING)
		c->kind = CHANGE_ADDED;
	else if (base->stat.type != c->after.type)
		c->kind = CHANGE_TYPE;
	else if (!is_live)
		c->kind = c->after.type == CHANGE_DIRECTORY ? CHANGE_METADATA : CHANGE_MODIFIED;
	c->type = c->after.type == CHANGE_NOTHING ? c->before.type : c->after.type;
	return true;
}

int fold_rebase(struct change_set *set, const struct fold_bases *bases, struct airlock_error *err)
{
	struct rebase r = {.set = set, .bases = bases, .upper = -EBADF};
	size_t kept = 0, root = SIZE_MAX;
	int rc = 0;
	for (size_t i = 0; i < set->n; i++) {
		struct change *c = &set->v[i];
		if (c->root != root) {
			root = c->root;
			base_closep(&r.upper);
			r.upper = open(set->roots[root].upper, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
			if (r.upper < 0 && rc == 0)
				rc = base_errno(err, AIRLOCK_ERR_IO, errno, "open", set->roots[root].upper);
		}
		if (rc == 0 && !rebase_change(&r, c))
			change_done(c);
		else if (kept++ != i) {
			set->v[kept - 1] = *c;
			*c = (struct change){0};
		}
	}
	set->n = kept;
	set->started_ns = bases->started_ns;
	base_closep(&r.upper);
	compare_done(&r.compare);
	return rc;
}

/* ── What still waits, as a layer ── */

struct rest {
	int from, to; /* the roots of the layers */
	const struct change_set *set;
	struct strs below; /* the root */
	struct airlock_error *err;
};

/* A directory of the new layer with the attributes of the old one's, when that has it. */
static int make_dir(int to_dir, const char *name, int from_dir)
{
	if (mkdirat(to_dir, name, 0700) < 0)
		return errno == EEXIST ? 0 : -errno;
	struct stat st;
	_cleanup_close_ int to = fs_open_dir_at(to_dir, name, O_RDONLY);
	_cleanup_close_ int from = from_dir < 0 ? -EBADF : fs_open_dir_at(from_dir, name, O_PATH);
	if (to < 0 || from < 0 || fstat(from, &st) < 0)
		return to < 0 ? to : 0;
	int rc = transfer_xattrs(from, to);
	rc = rc < 0 ? rc : transfer_owner(from, to);
	/* Its owner must get in to fill it; what it really is its own change tells. */
	return rc < 0 ? rc : fchmod(to, (st.st_mode & 07777) | 0700) < 0 ? -errno : 0;
}

/* The directory of path in the new layer, made where it is missing. *ret_covered: it hides all that is below it. */
static int open_parent(struct rest *r, const char *path, const char **ret_name, bool *ret_covered)
{
	*ret_covered = false;
	_cleanup_close_ int to = fcntl(r->to, F_DUPFD_CLOEXEC, 3), from = fcntl(r->from, F_DUPFD_CLOEXEC, 3);
	if (to < 0)
		return -errno;
	for (const char *slash; (slash = strchr(path, '/')); path = slash + 1) {
		_cleanup_free_ char *name = strndup(path, (size_t)(slash - path));
		int rc = name ? make_dir(to, name, from) : -ENOMEM;
		int next = rc < 0 ? rc : fs_open_dir_at(to, name, O_RDONLY);
		if (next < 0)
			return next;
		int below = from < 0 ? -EBADF : fs_open_dir_at(from, name, O_PATH);
		base_closep(&to);
		base_closep(&from);
		to = next;
		from = below < 0 ? -EBADF : below;
		struct upper_dir marks = {0};
		rc = upper_dir_read(to, NULL, &marks);
		if (rc < 0)
			return rc;
		*ret_covered |= marks.opaque;
	}
	*ret_name = path;
	return TAKE_FD(to);
}

static int put_whiteout(struct rest *r, const char *path)
{
	const char *name = NULL;
	bool covered = false;
	_cleanup_free_ char *parent = strchr(path, '/') ? path_dirname(path) : NULL;
	if (parent && !fold_has_dir(&r->below, parent))
		return 0;
	_cleanup_close_ int dir = open_parent(r, path, &name, &covered);
	if (covered) /* fold_layer.c tells why there must be none */
		return 0;
	if (dir == -ENOTDIR || dir == -ELOOP) /* something else, or nothing, has taken the place of its directory */
		return 0;
	if (dir < 0)
		return dir;
	assert(name); /* open_parent succeeded */
	return mknodat(dir, name, S_IFCHR, 0) < 0 && errno != EEXIST ? -errno : 0;
}

static int put_entry(struct rest *r, const struct change *c)
{
	const char *name = NULL, *old = NULL;
	bool covered = false;
	_cleanup_close_ int dir = open_parent(r, c->path, &name, &covered);
	_cleanup_close_ int from = dir < 0 ? dir : upper_open_parent(r->from, c->path, &old);
	if (dir < 0 || from < 0)
		return dir < 0 ? dir : from;
	assert(name && old); /* both parents were opened */
	if (c->after.type == CHANGE_DIRECTORY) {
		int rc = make_dir(dir, name, from);
		_cleanup_close_ int made = rc < 0 ? rc : fs_open_dir_at(dir, name, O_RDONLY);
		if (made < 0)
			return made;
		rc = fchmod(made, c->after.mode | 0700) < 0 ? -errno : 0;
		bool replaces = c->opaque || c->kind == CHANGE_TYPE;
		return rc < 0 || !replaces ? rc : xattrs_set(made, "user.overlay.opaque", "y", 1);
	}
	return linkat(from, old, dir, name, 0) < 0 ? -errno : 0;
}

/* Modes of directories come last: nothing could be made in some of them. */
static int set_modes(struct rest *r, size_t root)
{
	for (size_t i = r->set->n; i > 0; i--) {
		const struct change *c = &r->set->v[i - 1];
		const char *name = NULL;
		if (c->root != root || c->after.type != CHANGE_DIRECTORY ||
		    (c->state != CHANGE_HELD && c->state != CHANGE_CONFLICT))
			continue;
		_cleanup_close_ int dir = fs_open_parent(r->to, c->path, &name);
		if (dir < 0 || fchmodat(dir, name, c->after.mode, 0) < 0)
			return dir < 0 ? dir : -errno;
	}
	return 0;
}

static int rest_of_root(struct rest *r, size_t root, size_t *count)
{
	for (size_t i = 0; i < r->set->n; i++) {
		const struct change *c = &r->set->v[i];
		if (c->root != root || (c->state != CHANGE_HELD && c->state != CHANGE_CONFLICT))
			continue;
		int rc = c->kind == CHANGE_DELETED ? put_whiteout(r, c->path) : put_entry(r, c);
		if (rc < 0)
			return base_errno(r->err, AIRLOCK_ERR_IO, rc, "keep", c->path);
		++*count;
	}
	/* Old names come last: the directory that one was in may be something else now. */
	for (size_t i = 0; i < r->set->n; i++) {
		const struct change *c = &r->set->v[i];
		bool waits = c->state == CHANGE_HELD || c->state == CHANGE_CONFLICT;
		int rc = c->root == root && waits && c->from ? put_whiteout(r, c->from) : 0;
		if (rc < 0)
			return base_errno(r->err, AIRLOCK_ERR_IO, rc, "keep", c->from);
	}
	int rc = set_modes(r, root);
	return rc < 0 ? base_errno(r->err, AIRLOCK_ERR_IO, rc, "chmod", r->set->roots[root].path) : 0;
}

int fold_rest(const struct change_set *set, const char *dir, struct airlock_error *err)
{
	size_t count = 0;
	for (size_t root = 0; root < set->n_roots; root++) {
		_cleanup_free_ char *upper = fold_upper_path(dir, root);
		int rc = upper ? fs_make_private_dir(upper, err) : base_oom(err);
		if (rc < 0)
			return rc;
		struct rest r = {.from = open(set->roots[root].upper, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
				 .to = open(upper, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
				 .set = set,
				 .below = STRS_INIT,
				 .err = err};
		strs_add(&r.below, set->roots[root].path);
		if (r.from < 0 || r.to < 0)
			rc = base_errno(err, AIRLOCK_ERR_IO, errno, "open",
					r.from < 0 ? set->roots[root].upper : upper);
		else
			rc = rest_of_root(&r, root, &count);
		struct stat st;
		if (rc == 0 && fstat(r.from, &st) == 0) { /* the overlay's top directory shows these */
			(void)transfer_xattrs(r.from, r.to);
			(void)transfer_owner(r.from, r.to);
			(void)fchmod(r.to, st.st_mode & 07777);
		}
		base_closep(&r.from);
		base_closep(&r.to);
		if (rc == 0 && r.below.failed)
			rc = base_oom(err);
		strs_done(&r.below);
		if (rc < 0)
			return rc;
	}
	return (int)AL_MIN(count, (size_t)INT32_MAX);
}
