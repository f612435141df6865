/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where the two versions of a file are: before the apply the old one is live and the new one in the layer, afterwards the
 * old one is in before/ or in the layer and the new one live. */
#include "change/diff/diff_parts.h"

#include "base/path.h"
#include "change/image.h"
#include "fs/beneath.h"
#include "fs/io.h"
#include "layer/open.h"
#include "layer/upper.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>

struct diff_trees {
	const struct change_set *set;
	int run; /* -EBADF: there is none */
	struct {
		int live, layer;
	} roots[];
};

static int open_top(const char *path)
{
	int fd = path ? open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
	return fd < 0 ? -EBADF : fd;
}

struct diff_trees *diff_trees_open(const struct change_set *set, const char *run_dir)
{
	struct diff_trees *trees = calloc(1, sizeof *trees + set->n_roots * sizeof trees->roots[0]);
	if (!trees)
		return NULL;
	trees->set = set;
	trees->run = open_top(run_dir);
	for (size_t i = 0; i < set->n_roots; i++) {
		trees->roots[i].live = open_top(set->roots[i].path);
		trees->roots[i].layer = open_top(set->roots[i].upper);
	}
	return trees;
}

void diff_trees_close(struct diff_trees *trees)
{
	if (!trees)
		return;
	base_closep(&trees->run);
	for (size_t i = 0; i < trees->set->n_roots; i++) {
		base_closep(&trees->roots[i].live);
		base_closep(&trees->roots[i].layer);
	}
	free(trees);
}

/* A symlink's target as a file. */
static int open_target(int dir, const char *name)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(dir, name, target, sizeof target);
	if (n < 0)
		return -errno;
	_cleanup_close_ int fd = memfd_create("target", MFD_CLOEXEC);
	if (fd < 0 || write(fd, target, (size_t)n) != n || lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	return TAKE_FD(fd);
}

static int open_entry(int top, const char *path, enum change_type type, int (*open_file)(int, const char *))
{
	const char *name;
	if (top < 0)
		return -ENOENT;
	_cleanup_close_ int dir = fs_open_parent(top, path, &name);
	if (dir < 0)
		return dir;
	return type == CHANGE_SYMLINK ? open_target(dir, name) : open_file(dir, name);
}

static int open_before(void *context, const struct change *c)
{
	const struct diff_trees *t = context;
	struct change_image image;
	if (c->state != CHANGE_APPLIED)
		return open_entry(t->roots[c->root].live, c->from ? c->from : c->path, c->before.type, open_regular_at);
	_cleanup_close_ int before = t->run < 0 ? -EBADF : fs_open_beneath(t->run, "before", O_PATH | O_DIRECTORY);
	int rc = change_find_image(before, t->roots[c->root].layer, c, &image);
	if (rc < 0)
		return rc;
	int fd = c->before.type == CHANGE_SYMLINK ? open_target(image.dir_fd, image.name)
						  : upper_open_file(image.dir_fd, image.name);
	base_closep(&image.dir_fd);
	return fd;
}

static int open_after(void *context, const struct change *c)
{
	const struct diff_trees *t = context;
	if (c->state != CHANGE_APPLIED)
		return open_entry(t->roots[c->root].layer, c->path, c->after.type, upper_open_file);
	return open_entry(t->roots[c->root].live, c->path, c->after.type, open_regular_at);
}

struct diff_source diff_trees_source(struct diff_trees *trees)
{
	return (struct diff_source){open_before, open_after, trees};
}

static bool has_content(enum change_type type)
{
	return type == CHANGE_FILE || type == CHANGE_SYMLINK;
}

static int open_live(const struct diff_trees *t, const struct change *c)
{
	struct stat st;
	const char *name;
	if (t->roots[c->root].live < 0)
		return -ENOENT;
	_cleanup_close_ int dir = fs_open_parent(t->roots[c->root].live, c->path, &name);
	if (dir < 0)
		return dir;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (!has_content(change_type_of(st.st_mode)))
		return -EISDIR;
	return S_ISLNK(st.st_mode) ? open_target(dir, name) : open_regular_at(dir, name);
}

int diff_open_side(const struct change_set *set, const char *run_dir, const struct change *c, enum airlock_side side)
{
	enum change_type type = side == AIRLOCK_SIDE_AFTER ? c->after.type : c->before.type;
	if (side != AIRLOCK_SIDE_PROJECT && !has_content(type))
		return type == CHANGE_NOTHING ? -ENOENT : -EISDIR;
	struct diff_trees *trees = diff_trees_open(set, run_dir);
	if (!trees)
		return -ENOMEM;
	int fd = side == AIRLOCK_SIDE_PROJECT ? open_live(trees, c)
		 : side == AIRLOCK_SIDE_AFTER ? open_after(trees, c)
					      : open_before(trees, c);
	diff_trees_close(trees);
	return fd;
}

int diff_read(int fd, struct buf *ret)
{
	_cleanup_close_ int owned = fd;
	buf_reset(ret);
	return owned < 0 ? owned : fs_read_all(owned, DIFF_MAX_CONTENT, ret);
}
