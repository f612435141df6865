/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Looks up entries of a directory that a run's layer may cover, and opens what was found. */
#include "files/resolve.h"

#include "base/path.h"
#include "change/change.h"
#include "layer/open.h"
#include "layer/upper.h"

#include <fcntl.h>

/* A decided change is no longer held: the live tree counts for it. */
static int is_decided(const struct files_look *l, const char *name, bool *ret)
{
	*ret = false;
	if (!l->place->set)
		return 0;
	_cleanup_free_ char *whole = path_join(l->dir_inside, name);
	if (!whole)
		return -ENOMEM;
	const char *rest = path_rest(whole, l->mount->inside);
	const struct change *c = rest ? change_set_find(l->place->set, l->mount->root, rest) : NULL;
	*ret = c && c->state != CHANGE_HELD && c->state != CHANGE_CONFLICT;
	return 0;
}

/* 1: in the layer; 0: not there; 2: deleted by the layer. */
static int look_upper(const struct files_look *l, const char *name, struct stat *ret)
{
	struct upper_dir marks;
	struct upper_entry entry = {0};
	bool decided;
	if (fstatat(l->upper_fd, name, ret, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	int rc = is_decided(l, name, &decided);
	if (rc == 0 && decided)
		return 0;
	if (rc == 0)
		rc = upper_dir_read(l->upper_fd, NULL, &marks);
	if (rc == 0)
		rc = upper_entry_read(l->upper_fd, name, ret, &marks, &entry);
	return rc < 0 ? rc : entry.whiteout ? 2 : 1;
}

int files_look(const struct files_look *l, const char *name, struct stat *ret, bool *ret_in_upper)
{
	int rc = l->upper_fd >= 0 ? look_upper(l, name, ret) : 0;
	*ret_in_upper = rc == 1;
	if (rc != 0)
		return rc == 2 ? 0 : rc;
	if (l->lower_fd < 0)
		return 0;
	if (fstatat(l->lower_fd, name, ret, AT_SYMLINK_NOFOLLOW) == 0)
		return 1;
	return errno == ENOENT ? 0 : -errno;
}

int files_open_file(const struct files_at *at)
{
	if (S_ISDIR(at->st.st_mode))
		return -EISDIR;
	if (!S_ISREG(at->st.st_mode))
		return -EINVAL;
	return at->in_upper ? upper_open_known(at->upper_fd, at->name, &at->st)
			    : open_known_at(at->lower_fd, at->name, &at->st);
}

static int open_side(int dir_fd, const char *name)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int files_open_dir(const struct files_place *p, const struct files_at *at, int *ret_upper, int *ret_lower)
{
	_cleanup_close_ int upper = -EBADF, lower = -EBADF;
	struct upper_dir marks = {0};
	bool top = at->name[0] == '.' && at->name[1] == '\0';
	if (at->upper_fd >= 0 && (at->in_upper || top)) {
		upper = open_side(at->upper_fd, at->name);
		int rc = upper < 0 ? upper : upper_dir_read(upper, NULL, &marks);
		if (rc < 0)
			return rc;
	}
	if (at->lower_fd >= 0 && !marks.opaque) {
		lower = open_side(at->lower_fd, at->name);
		/* Below a directory of the layer the live tree may have nothing, or a file that the directory
		 * replaced. */
		if (lower < 0 && (upper < 0 || (lower != -ENOENT && lower != -ENOTDIR && lower != -ELOOP)))
			return lower;
	}
	*ret_upper = TAKE_FD(upper);
	*ret_lower = TAKE_FD(lower);
	return 0;
}
