/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Removing and measuring whole trees: layers a hostile command has filled, and the playground. */
#include "fs/fs.h"

#include "fs/inodes.h"
#include "fs/walk.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static int bad_name(const char *name, struct airlock_error *err)
{
	if (name[0] && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
		return 0;
	return base_error(err, AIRLOCK_ERR_INVALID, "open", name, "'%s' is not a plain name in a directory", name);
}

static int entry_error(struct airlock_error *err, int errnum, const char *op, const char *path)
{
	if (errnum == -EXDEV || errnum == -EBUSY)
		return base_error(err, AIRLOCK_ERR_BUSY, op, path, "%s: another file system is mounted there", path);
	return base_errno(err, errnum == -ENOMEM ? AIRLOCK_ERR_INTERNAL : AIRLOCK_ERR_IO, errnum, op, path);
}

/* The name of the current entry for messages, below top; cuts the middle of a long path. */
static int walk_error(struct airlock_error *err, int errnum, const char *op, const char *top, struct fs_walk *w)
{
	const char *path = fs_walk_path(w);
	char text[1024];
	if (!path)
		return base_oom(err);
	size_t len = strlen(path);
	if (len < 512)
		(void)snprintf(text, sizeof text, "%s%s%s", top, len ? "/" : "", path);
	else
		(void)snprintf(text, sizeof text, "%s/%.200s...%s", top, path, path + len - 200);
	return entry_error(err, errnum, op, text);
}

/* The owner of a directory may open it again whatever its mode says. Touches only a directory of ours beneath dirfd,
 * pinned with O_PATH first so that nothing can be put in its place. */
static int unlock_dir(int dirfd, const char *name)
{
	_cleanup_close_ int fd = fs_open_dir_at(dirfd, name, O_PATH);
	char proc[64];
	if (fd < 0)
		return fd;
	(void)snprintf(proc, sizeof proc, "/proc/self/fd/%d", fd);
	return chmod(proc, 0700) < 0 ? -errno : 0;
}

/* Entries can be removed only from a directory that we can write and search. */
static void make_writable(int fd, mode_t mode)
{
	if ((mode & 0700) != 0700)
		(void)fchmod(fd, 0700); /* If it is not ours, the removal reports it. */
}

static int enter_to_remove(struct fs_walk *w)
{
	int rc = fs_walk_enter(w);
	if (rc == -EACCES && unlock_dir(fs_walk_dirfd(w), w->name) == 0)
		rc = fs_walk_enter(w);
	if (rc == 0)
		make_writable(fs_walk_dirfd(w), fs_walk_dir(w)->mode);
	return rc;
}

static int remove_entry(struct fs_walk *w, int flags, uint64_t *n)
{
	if (unlinkat(fs_walk_dirfd(w), w->name, flags) == 0) {
		(*n)++;
		return 0;
	}
	return errno == ENOENT ? 0 : -errno; /* Already gone: that is what we wanted. */
}

static int remove_step(struct fs_walk *w, int event, uint64_t *n)
{
	int rc = -EISDIR;
	if (event == FS_WALK_LEAVE)
		return remove_entry(w, AT_REMOVEDIR, n);
	if (event == FS_WALK_ENTRY)
		rc = remove_entry(w, 0, n);
	if (rc == -EISDIR)
		rc = enter_to_remove(w);
	if (rc == -ENOTDIR || rc == -ELOOP) /* It changed its type since the directory was read. */
		rc = remove_entry(w, 0, n);
	return rc == -ENOENT ? 0 : rc;
}

/* Takes fd. */
static int remove_content(int fd, const char *top, uint64_t *n, struct airlock_error *err)
{
	_cleanup_walk_ struct fs_walk w = FS_WALK_INIT;
	int rc = fs_walk_start(&w, fd);
	if (rc < 0)
		return entry_error(err, rc, "read", top);
	for (;;) {
		int event = fs_walk_next(&w);
		if (event == FS_WALK_END)
			return 0;
		rc = event < 0 ? event : remove_step(&w, event, n);
		if (rc < 0)
			return walk_error(err, rc, "remove", top, &w);
	}
}

static int open_top(int dirfd, const char *name)
{
	int fd = fs_open_dir_at(dirfd, name, O_RDONLY);
	if (fd == -EACCES && unlock_dir(dirfd, name) == 0)
		fd = fs_open_dir_at(dirfd, name, O_RDONLY);
	struct stat st;
	if (fd >= 0 && fstat(fd, &st) == 0)
		make_writable(fd, st.st_mode);
	return fd;
}

static int remove_top(int dirfd, const char *name, int flags, uint64_t *n, struct airlock_error *err)
{
	if (unlinkat(dirfd, name, flags) == 0) {
		(*n)++;
		return 0;
	}
	if (errno == ENOENT)
		return base_errno(err, AIRLOCK_ERR_NOT_FOUND, ENOENT, "remove", name);
	return entry_error(err, -errno, "remove", name);
}

int fs_remove_tree_at(int dirfd, const char *name, uint64_t *ret_entries, struct airlock_error *err)
{
	uint64_t n = 0;
	int rc = bad_name(name, err);
	if (rc < 0)
		return rc;
	int fd = open_top(dirfd, name);
	bool is_dir = fd >= 0;
	if (is_dir)
		rc = remove_content(fd, name, &n, err);
	else if (fd != -ENOTDIR && fd != -ELOOP && fd != -ENOENT)
		rc = entry_error(err, fd, "open", name);
	if (rc == 0)
		rc = remove_top(dirfd, name, is_dir ? AT_REMOVEDIR : 0, &n, err);
	if (rc == 0 && ret_entries)
		*ret_entries = n;
	return rc;
}

struct sum {
	uint64_t bytes, entries;
	struct fs_inodes linked; /* files with several names, counted once */
};

static void add_stat(struct sum *s, const struct stat *st)
{
	s->entries++;
	if (S_ISDIR(st->st_mode) || st->st_nlink < 2 || fs_inodes_add(&s->linked, st->st_dev, st->st_ino))
		s->bytes += (uint64_t)st->st_blocks * 512;
}

static int measure_step(struct fs_walk *w, int event, struct sum *s)
{
	struct stat st;
	if (event == FS_WALK_LEAVE)
		return 0;
	if (fstatat(fs_walk_dirfd(w), w->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT || errno == EACCES ? 0 : -errno;
	add_stat(s, &st);
	int rc = event == FS_WALK_DIR ? fs_walk_enter(w) : 0;
	/* Entries that cannot be read, are mount points or vanished count as themselves alone. */
	return rc == -ENOMEM || rc == -EMFILE || rc == -ENFILE ? rc : 0;
}

/* Takes fd. */
static int measure_content(int fd, const char *top, struct sum *s, struct airlock_error *err)
{
	_cleanup_walk_ struct fs_walk w = FS_WALK_INIT;
	int rc = fs_walk_start(&w, fd);
	if (rc < 0)
		return entry_error(err, rc, "read", top);
	for (;;) {
		int event = fs_walk_next(&w);
		if (event == FS_WALK_END)
			return 0;
		rc = event < 0 ? event : measure_step(&w, event, s);
		if (rc < 0)
			return walk_error(err, rc, "measure", top, &w);
	}
}

int fs_tree_size_at(int dirfd, const char *name, uint64_t *ret_bytes, uint64_t *ret_entries, struct airlock_error *err)
{
	struct sum s = {.linked = FS_INODES_INIT};
	struct stat st;
	int rc = bad_name(name, err);
	if (rc < 0)
		return rc;
	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return base_errno(err, errno == ENOENT ? AIRLOCK_ERR_NOT_FOUND : AIRLOCK_ERR_IO, errno, "lstat", name);
	add_stat(&s, &st);
	if (S_ISDIR(st.st_mode)) {
		int fd = fs_open_dir_at(dirfd, name, O_RDONLY);
		rc = fd < 0 ? entry_error(err, fd, "open", name) : measure_content(fd, name, &s, err);
	}
	fs_inodes_done(&s.linked);
	if (rc < 0)
		return rc;
	*ret_bytes = s.bytes;
	*ret_entries = s.entries;
	return 0;
}
