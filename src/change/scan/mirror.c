/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Layers that are whole copies of their roots, for where no overlay can be mounted over one: the copy is mounted at the
 * root's path, and the command works in it. So the project stays as it is until apply (I2), whatever the command does.
 *
 * Before the run copy_take_mirror() fills the layer. After it the scan compares layer and live tree as if every directory
 * were opaque. An entry of the layer whose ctime is from before the end of the copying was not touched by the command, and
 * its live twin need not be looked at. That holds for the path it was copied to only: a directory that was moved takes
 * untouched entries along, so `original` follows the walk down. What the live tree has and the layer has not was deleted by
 * the command if it was there when the copy was made; else somebody else made it meanwhile.
 *
 * mirror_prune() then takes out everything that is not in the change set. What is left is what an overlay would have left,
 * and nothing after this knows the difference. */
#include "change/scan/scan_parts.h"

#include "base/path.h"

#include <fcntl.h>

bool mirror_is_untouched(const struct change_set *set, const struct stat *copy)
{
	return change_stat_of(copy).ctime_ns < set->mirrored_ns && copy_find(set->origins, copy->st_ino);
}

bool mirror_is_original(const struct change_set *set, size_t root, const char *path, const struct stat *copy,
			const struct stat *live)
{
	const struct copy_origin *was = copy_find(set->origins, copy->st_ino);
	if (!was)
		return false;
	/* A new directory may have got the inode number of a copied file that the command removed. */
	return live ? S_ISDIR(live->st_mode) && was->from_inode == live->st_ino : copy_knew(set->origins, root, path);
}

/* ── Pruning ── */

struct mirror_level {
	struct stat st;
	bool untouched;
	struct mirror_level *above;
};

struct pruning {
	struct change_set *set;
	size_t root;
	struct fs_walk w;
	struct mirror_level *top;
};

static int enter(struct pruning *p)
{
	struct mirror_level *l = calloc(1, sizeof *l);
	if (!l)
		return -ENOMEM;
	if (fstatat(fs_walk_dirfd(&p->w), p->w.name, &l->st, AT_SYMLINK_NOFOLLOW) < 0) {
		free(l);
		return -errno;
	}
	l->untouched = mirror_is_untouched(p->set, &l->st);
	int rc = 0;
	if ((l->st.st_mode & 0700) != 0700 &&
	    fchmodat(fs_walk_dirfd(&p->w), p->w.name, (l->st.st_mode & 07777) | 0700, 0) < 0)
		rc = -errno;
	rc = rc < 0 ? rc : fs_walk_enter(&p->w);
	if (rc < 0) {
		free(l);
		return rc;
	}
	l->above = p->top;
	p->top = l;
	return 0;
}

/* Removed when nothing is left in it and nothing happened to it; else it gets the mode and time back that the command left. */
static int leave(struct pruning *p)
{
	struct mirror_level *l = p->top;
	struct timespec times[2] = {l->st.st_atim, l->st.st_mtim};
	int dir = fs_walk_dirfd(&p->w), rc = 0;
	const char *path = fs_walk_path(&p->w);
	bool kept = !path || !l->untouched || change_set_find(p->set, p->root, path);
	p->top = l->above;
	if ((kept || unlinkat(dir, p->w.name, AT_REMOVEDIR) < 0) &&
	    (fchmodat(dir, p->w.name, l->st.st_mode & 07777, 0) < 0 ||
	     utimensat(dir, p->w.name, times, AT_SYMLINK_NOFOLLOW) < 0))
		rc = -errno;
	free(l);
	return path ? rc : -ENOMEM;
}

static int on_entry(struct pruning *p)
{
	const char *path = fs_walk_path(&p->w);
	if (!path)
		return -ENOMEM;
	if (change_set_find(p->set, p->root, path))
		return 0;
	return unlinkat(fs_walk_dirfd(&p->w), p->w.name, 0) < 0 && errno != ENOENT ? -errno : 0;
}

static int prune_tree(struct pruning *p)
{
	for (;;) {
		int event = fs_walk_next(&p->w);
		if (event <= 0)
			return event;
		int rc = event == FS_WALK_DIR ? enter(p) : event == FS_WALK_LEAVE ? leave(p) : on_entry(p);
		if (rc < 0)
			return rc;
	}
}

static int prune_root(struct change_set *set, size_t root)
{
	struct pruning p = {.set = set, .root = root, .w = FS_WALK_INIT};
	struct stat st;
	int fd = open(set->roots[root].upper, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	_cleanup_close_ int top = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	int rc = top < 0 || fstat(top, &st) < 0 ? -errno : 0;
	if (rc < 0)
		base_closep(&fd);
	rc = rc < 0 ? rc : fs_walk_start(&p.w, fd);
	rc = rc < 0 ? rc : prune_tree(&p);
	while (p.top) {
		struct mirror_level *l = p.top;
		p.top = l->above;
		free(l);
	}
	fs_walk_done(&p.w);
	struct timespec times[2] = {st.st_atim, st.st_mtim};
	if (rc == 0 && futimens(top, times) < 0)
		rc = -errno;
	return rc;
}

int mirror_prune(struct change_set *set, struct airlock_error *err)
{
	for (size_t i = 0; i < set->n_roots; i++) {
		int rc = set->roots[i].mirror ? prune_root(set, i) : 0;
		if (rc < 0)
			return base_errno(err, AIRLOCK_ERR_IO, rc, "prune", set->roots[i].upper);
		set->roots[i].mirror = false;
	}
	return 0;
}
