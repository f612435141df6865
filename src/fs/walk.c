/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Each level is read completely when it is entered. So the caller may create, rename or remove entries there without
 * confusing the walk, and a deep walk may close the descriptor without losing its position. */
#include "fs/walk.h"

#include "base/array.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>

#define DIR_FLAGS (O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)

/* Kernels before 5.6 and some container filters have no openat2. There only the device number reveals a mount. */
static int open_dir_by_device(int dirfd, const char *name, int flags)
{
	_cleanup_close_ int fd = openat(dirfd, name, flags);
	struct stat parent, child;
	if (fd < 0 || fstat(dirfd, &parent) < 0 || fstat(fd, &child) < 0)
		return -errno;
	return child.st_dev == parent.st_dev ? TAKE_FD(fd) : -EXDEV;
}

int fs_open_dir_at(int dirfd, const char *name, int flags)
{
	struct open_how how = {
		.flags = (unsigned)(flags | DIR_FLAGS),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
	};
	long fd = syscall(SYS_openat2, dirfd, name, &how, sizeof how);
	if (fd >= 0)
		return (int)fd;
	if (errno == ENOSYS || errno == EPERM)
		return open_dir_by_device(dirfd, name, flags | DIR_FLAGS);
	return -errno;
}

static struct fs_walk_level *top_of(const struct fs_walk *w)
{
	return &w->levels[w->depth - 1];
}

static bool is_dot(const char *name)
{
	return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

/* Some file systems do not report the type; the type of an entry that vanished stays unknown. */
static unsigned char type_of(int dirfd, const struct dirent64 *e)
{
	struct stat st;
	if (e->d_type != DT_UNKNOWN)
		return e->d_type;
	return fstatat(dirfd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? (unsigned char)IFTODT(st.st_mode)
									: DT_UNKNOWN;
}

static void add_entries(struct buf *names, int fd, const char *chunk, size_t len)
{
	for (size_t at = 0; at < len;) {
		const struct dirent64 *e = (const void *)(chunk + at);
		at += e->d_reclen;
		if (is_dot(e->d_name))
			continue;
		buf_addc(names, (char)type_of(fd, e));
		buf_add(names, e->d_name, strlen(e->d_name) + 1);
	}
}

static int read_entries(struct buf *names, int fd)
{
	_Alignas(struct dirent64) char chunk[32768];
	ssize_t n;
	while ((n = getdents64(fd, chunk, sizeof chunk)) > 0)
		add_entries(names, fd, chunk, (size_t)n);
	if (n < 0)
		return -errno;
	return names->failed ? -ENOMEM : 0;
}

/* Ancestors far above are closed, and reopened from below when the walk returns to them. */
static void spare_descriptors(struct fs_walk *w)
{
	if (w->depth > FS_WALK_MAX_FDS)
		base_closep(&w->levels[w->depth - 1 - FS_WALK_MAX_FDS].fd);
}

/* Takes fd. */
static int push(struct fs_walk *w, int new_fd)
{
	_cleanup_close_ int fd = new_fd;
	struct stat st;
	size_t first = w->names.len;
	int rc = fstat(fd, &st) < 0 ? -errno : ARRAY_ROOM(w->levels, w->depth, w->cap, 16) ? 0 : -ENOMEM;
	if (rc == 0)
		rc = read_entries(&w->names, fd);
	if (rc < 0) {
		w->names.len = first;
		return rc;
	}
	w->levels[w->depth++] = (struct fs_walk_level){
		.fd = TAKE_FD(fd),
		.dev = st.st_dev,
		.ino = st.st_ino,
		.mode = st.st_mode,
		.first = first,
		.next = first,
		.path_len = w->path.len,
	};
	w->name = ""; /* The old name pointed into names, which may have moved. */
	spare_descriptors(w);
	return 0;
}

int fs_walk_start(struct fs_walk *w, int fd)
{
	return push(w, fd);
}

static void point_at_current(struct fs_walk *w)
{
	const struct fs_walk_level *l = top_of(w);
	w->type = (unsigned char)w->names.data[l->current];
	w->name = w->names.data + l->current + 1;
	w->path.len = l->path_len;
}

int fs_walk_enter(struct fs_walk *w)
{
	size_t path_len = w->path.len;
	int fd = fs_open_dir_at(fs_walk_dirfd(w), w->name, O_RDONLY);
	if (fd < 0)
		return fd;
	buf_adds(&w->path, w->name);
	buf_addc(&w->path, '/');
	int rc = w->path.failed ? (base_closep(&fd), -ENOMEM) : push(w, fd);
	if (rc < 0) {
		w->path.len = path_len;
		point_at_current(w); /* names may have moved. */
	}
	return rc;
}

/* ".." is trusted only if it is the directory we came from: someone may have moved the tree. */
static int reopen_parent(struct fs_walk_level *parent, int child_fd)
{
	if (parent->fd >= 0)
		return 0;
	_cleanup_close_ int fd = openat(child_fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (st.st_dev != parent->dev || st.st_ino != parent->ino)
		return -ESTALE;
	parent->fd = TAKE_FD(fd);
	return 0;
}

static int leave(struct fs_walk *w)
{
	if (w->depth == 1)
		return FS_WALK_END;
	int rc = reopen_parent(&w->levels[w->depth - 2], top_of(w)->fd);
	if (rc < 0)
		return rc;
	base_closep(&top_of(w)->fd);
	w->names.len = top_of(w)->first;
	w->depth--;
	point_at_current(w);
	return FS_WALK_LEAVE;
}

int fs_walk_next(struct fs_walk *w)
{
	struct fs_walk_level *l = top_of(w);
	if (l->next >= w->names.len)
		return leave(w);
	l->current = l->next;
	point_at_current(w);
	l->next += 1 + strlen(w->name) + 1;
	return w->type == DT_DIR ? FS_WALK_DIR : FS_WALK_ENTRY;
}

void fs_walk_done(struct fs_walk *w)
{
	for (size_t i = 0; i < w->depth; i++)
		base_closep(&w->levels[i].fd);
	base_freep(&w->levels);
	buf_done(&w->names);
	buf_done(&w->path);
	*w = (struct fs_walk)FS_WALK_INIT;
}

int fs_walk_dirfd(const struct fs_walk *w)
{
	return top_of(w)->fd;
}

const struct fs_walk_level *fs_walk_dir(const struct fs_walk *w)
{
	return top_of(w);
}

void fs_walk_skip(struct fs_walk *w)
{
	top_of(w)->next = w->names.len;
}

const char *fs_walk_path(struct fs_walk *w)
{
	size_t len = w->depth > 0 ? top_of(w)->path_len : 0; /* Empty if the walk could not begin. */
	w->path.len = len;
	buf_adds(&w->path, w->depth > 0 ? w->name : "");
	w->path.len = len; /* The text stays behind the end until the next call. */
	return w->path.failed ? NULL : w->path.data;
}
