/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Opens every directory again beneath the start, so depth costs no descriptors; a directory that was moved away is
 * simply gone. */
#include "files/tree.h"

#include "base/array.h"
#include "base/path.h"
#include "fs/fs.h"
#include "layer/open.h"
#include "layer/upper.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>

#define MAX_DEPTH 1000 /* directories; deeper ones are listed but not entered */

/* ── Opening ── */

/* For kernels without openat2. */
static int open_by_component(int dir_fd, const char *relative, int flags)
{
	_cleanup_close_ int at = -EBADF;
	for (;;) {
		size_t len = strcspn(relative, "/");
		bool last = relative[len] == '\0';
		_cleanup_free_ char *name = strndup(relative, len);
		if (!name)
			return -ENOMEM;
		int next =
			openat(at >= 0 ? at : dir_fd, name,
			       last ? flags | O_NOFOLLOW | O_CLOEXEC : O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0 || last)
			return next < 0 ? -errno : next;
		base_closep(&at);
		at = next;
		relative += len + 1;
	}
}

int files_open_plain(int dir_fd, const char *relative, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)(unsigned)(flags | O_NOFOLLOW | O_CLOEXEC),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	const char *path = *relative ? relative : ".";
	int fd = (int)syscall(SYS_openat2, dir_fd, path, &how, sizeof how);
	if (fd >= 0)
		return fd;
	if (errno == ENOSYS || errno == EPERM || errno == ENAMETOOLONG || errno == EAGAIN)
		return open_by_component(dir_fd, path, flags);
	return -errno;
}

/* The directory of an entry, and its name in it. */
static int open_parent(int start_fd, const char *relative, const char **ret_name)
{
	const char *slash = strrchr(relative, '/');
	*ret_name = slash ? slash + 1 : relative;
	_cleanup_free_ char *dir = slash ? strndup(relative, (size_t)(slash - relative)) : strdup("");
	return dir ? files_open_plain(start_fd, dir, O_PATH | O_DIRECTORY) : -ENOMEM;
}

int files_tree_open(const struct files_tree *t)
{
	const char *name;
	_cleanup_close_ int dir = open_parent(t->now.in_upper ? t->upper_fd : t->lower_fd, t->now.relative, &name);
	if (dir < 0)
		return dir;
	return t->now.in_upper ? upper_open_known(dir, name, &t->now.st) : open_known_at(dir, name, &t->now.st);
}

/* ── The stack ── */

void files_tree_done(struct files_tree *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->stack[i].relative);
	free(t->stack);
	free(t->now.relative);
	free(t->inside);
	free(t->shown);
	free(t->path);
	base_closep(&t->upper_fd);
	base_closep(&t->lower_fd);
	*t = (struct files_tree)FILES_TREE_INIT;
}

/* Takes relative. */
static int push(struct files_tree *t, char *relative, const struct stat *st, bool in_upper, int depth)
{
	if (!relative || !ARRAY_ROOM(t->stack, t->n, t->cap, 64)) {
		free(relative);
		return -ENOMEM;
	}
	t->stack[t->n++] = (struct files_tree_item){relative, *st, in_upper, depth};
	return 0;
}

/* ── Reading a directory ── */

static int list_names(int dir_fd, struct strs *names)
{
	int fd = fcntl(dir_fd, F_DUPFD_CLOEXEC, 3);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	if (!dir) {
		int rc = -errno;
		base_closep(&fd);
		return rc;
	}
	for (struct dirent *e; (e = readdir(dir));)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			strs_add(names, e->d_name);
	(void)closedir(dir);
	return names->failed ? -ENOMEM : 0;
}

static int push_named(struct files_tree *t, const struct files_look *look, const struct files_tree_item *dir,
		      const char *name)
{
	struct stat st;
	bool in_upper;
	if (t->place->n_rules > 0) {
		_cleanup_free_ char *whole = path_join(look->dir_inside, name);
		if (!whole)
			return -ENOMEM;
		if (files_place_access(t->place, whole) == FILES_HIDDEN)
			return 0;
	}
	int rc = files_look(look, name, &st, &in_upper);
	if (rc <= 0)
		return rc == -ENOMEM ? rc : 0; /* gone, deleted by the layer, or hidden */
	if (t->place->workspace && fs_is_mount_point(&st))
		return 0;
	char *relative = *dir->relative ? path_join(dir->relative, name) : strdup(name);
	return push(t, relative, &st, in_upper, dir->depth + 1);
}

/* Pushes the entries of both sides onto the stack, the first on top. */
static int push_entries(struct files_tree *t, const struct files_tree_item *dir, int upper_fd, int lower_fd)
{
	_cleanup_strs_ struct strs names = STRS_INIT;
	_cleanup_free_ char *inside = *dir->relative ? path_join(t->inside, dir->relative) : strdup(t->inside);
	int rc = inside ? 0 : -ENOMEM;
	if (rc == 0 && upper_fd >= 0)
		rc = list_names(upper_fd, &names);
	if (rc == 0 && lower_fd >= 0)
		rc = list_names(lower_fd, &names);
	if (rc < 0)
		return rc;
	strs_sort(&names);
	struct files_look look = {t->place, t->mount, inside, upper_fd, lower_fd};
	for (size_t i = names.n; rc == 0 && i > 0; i--)
		if (i == names.n || strcmp(names.v[i - 1], names.v[i]) != 0)
			rc = push_named(t, &look, dir, names.v[i - 1]);
	return rc;
}

static int open_level(const struct files_tree *t, const struct files_tree_item *dir, int *ret_upper, int *ret_lower)
{
	struct upper_dir marks = {0};
	const int flags = O_RDONLY | O_DIRECTORY;
	_cleanup_close_ int upper = dir->in_upper ? files_open_plain(t->upper_fd, dir->relative, flags) : -EBADF;
	if (dir->in_upper && upper < 0)
		return upper;
	int rc = upper >= 0 ? upper_dir_read(upper, NULL, &marks) : 0;
	if (rc < 0)
		return rc;
	_cleanup_close_ int lower =
		t->lower_fd >= 0 && !marks.opaque ? files_open_plain(t->lower_fd, dir->relative, flags) : -EBADF;
	if (!dir->in_upper && lower < 0)
		return lower;
	*ret_upper = TAKE_FD(upper);
	*ret_lower = TAKE_FD(lower);
	return 0;
}

static int enter(struct files_tree *t, const struct files_tree_item *dir)
{
	_cleanup_close_ int upper = -EBADF, lower = -EBADF;
	int rc = open_level(t, dir, &upper, &lower);
	if (rc == 0)
		rc = push_entries(t, dir, upper, lower);
	return rc;
}

/* ── The walk ── */

/* A single file: the start is its directory, and it is the only entry. */
static int start_with_file(struct files_tree *t, const struct files_at *at)
{
	t->upper_fd = at->upper_fd >= 0 ? fcntl(at->upper_fd, F_DUPFD_CLOEXEC, 3) : -EBADF;
	t->lower_fd = at->lower_fd >= 0 ? fcntl(at->lower_fd, F_DUPFD_CLOEXEC, 3) : -EBADF;
	t->inside = strdup(at->inside);
	t->flat = true;
	return t->inside ? push(t, strdup(at->name), &at->st, at->in_upper, 1) : -ENOMEM;
}

static int start_with_dir(struct files_tree *t, const struct files_at *at)
{
	int rc = files_open_dir(t->place, at, &t->upper_fd, &t->lower_fd);
	if (rc < 0)
		return rc;
	t->inside = strcmp(at->name, ".") == 0 ? strdup(at->inside) : path_join(at->inside, at->name);
	struct files_tree_item start = {.relative = (char *)"", .depth = 0};
	return t->inside ? push_entries(t, &start, t->upper_fd, t->lower_fd) : -ENOMEM;
}

int files_tree_start(struct files_tree *t, const struct files_place *p, const struct files_at *at, const char *shown,
		     struct airlock_error *err)
{
	bool is_dir = S_ISDIR(at->st.st_mode);
	t->place = p;
	t->mount = at->mount;
	t->shown = is_dir ? strdup(shown) : NULL;
	int rc = is_dir && !t->shown ? -ENOMEM : is_dir ? start_with_dir(t, at) : start_with_file(t, at);
	if (rc == 0 && !is_dir && !(t->shown = path_dirname(shown)))
		rc = -ENOMEM;
	return rc == -ENOMEM ? base_oom(err) : rc < 0 ? base_errno(err, AIRLOCK_ERR_IO, rc, "open", shown) : 0;
}

static char *shown_path(const struct files_tree *t)
{
	bool here = strcmp(t->shown, ".") == 0;
	return here ? strdup(t->now.relative) : path_join(t->shown, t->now.relative);
}

int files_tree_next(struct files_tree *t, struct airlock_error *err)
{
	/* The content of the previous entry comes next. */
	bool go_in = t->now.relative && S_ISDIR(t->now.st.st_mode) && !t->flat && t->now.depth < MAX_DEPTH;
	if (go_in && enter(t, &t->now) == -ENOMEM)
		return base_oom(err);
	base_freep(&t->now.relative);
	base_freep(&t->path);
	if (t->n == 0)
		return 0;
	t->now = t->stack[--t->n];
	t->path = shown_path(t);
	return t->path ? 1 : base_oom(err);
}
