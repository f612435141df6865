/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "layer/empty_layers.h"

#include "base/macros.h"
#include "fs/fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define POOL "empty-layers"
#define POOL_SIZE 8
#define UPPER "upper/overlay1"
#define WORK "work/work1"
/* The kernel gives every overlay a name of its own, which it would find again. */
#define OVERLAY_UUID "user.overlay.uuid"

static int open_dir(int at, const char *name)
{
	return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Place number n of the pool; made when `make`. -errno. */
static int open_slot(int state_fd, int n, bool make)
{
	char name[32];
	(void)snprintf(name, sizeof name, POOL "/%d", n);
	int fd = open_dir(state_fd, name);
	if (fd >= 0 || errno != ENOENT || !make)
		return fd >= 0 ? fd : -errno;
	(void)mkdirat(state_fd, POOL, 0700);
	(void)mkdirat(state_fd, name, 0700);
	fd = open_dir(state_fd, name);
	return fd >= 0 ? fd : -errno;
}

static bool is_empty(int fd)
{
	_cleanup_close_ int again = open_dir(fd, ".");
	DIR *dir = again >= 0 ? fdopendir(again) : NULL;
	size_t n = 0;
	if (!dir)
		return false;
	TAKE_FD(again);
	for (struct dirent *e; (e = readdir(dir));)
		n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
	(void)closedir(dir);
	return n == 0;
}

static bool is_empty_at(int at, const char *name)
{
	_cleanup_close_ int fd = open_dir(at, name);
	return fd >= 0 && is_empty(fd);
}

void empty_layers_take(const char *state_dir, const char *run_dir)
{
	_cleanup_close_ int state_fd = open_dir(AT_FDCWD, state_dir), run_fd = open_dir(AT_FDCWD, run_dir);
	for (int n = 0; state_fd >= 0 && run_fd >= 0 && n < POOL_SIZE; n++) {
		_cleanup_close_ int fd = open_slot(state_fd, n, false);
		if (fd < 0)
			return; /* there never were more */
		/* Looked at once more: what lies in a layer is a change of the next run. */
		if (!is_empty_at(fd, UPPER) || !is_empty_at(fd, WORK) || renameat(fd, "work", run_fd, "work") < 0)
			continue;
		if (renameat(fd, "upper", run_fd, "upper") == 0)
			return;
	}
}

/* Attributes of the root that was layered, and of what happened in it, must not reach another. */
static bool is_plain(int fd)
{
	char names[256];
	struct stat st;
	(void)fremovexattr(fd, OVERLAY_UUID);
	return fstat(fd, &st) == 0 && st.st_uid == geteuid() && st.st_gid == getegid() &&
	       flistxattr(fd, names, sizeof names) == 0 && fchmod(fd, 0700) == 0;
}

static bool is_as_new(int run_fd)
{
	_cleanup_close_ int upper = open_dir(run_fd, "clean-" UPPER), work = open_dir(run_fd, "clean-" WORK);
	if (upper < 0 || work < 0)
		return false;
	(void)fs_remove_tree_at(work, "work", NULL,
				NULL); /* the kernel's own, which keeps a layer from being used twice */
	return is_empty(upper) && is_empty(work) && is_plain(upper) && is_plain(work);
}

/* Under these names in the pool and in a run's directory: as it was left, and being made new. */
static const struct {
	const char *name, *used, *cleaned;
} parts[] = {{"upper", "used-upper", "clean-upper"}, {"work", "used-work", "clean-work"}};

/* Into the first place of the pool that has none of that kind: as it was left, or as new. */
static bool put(int state_fd, int run_fd, bool used)
{
	for (int n = 0; n < POOL_SIZE; n++) {
		_cleanup_close_ int fd = open_slot(state_fd, n, true);
		size_t moved = 0;
		while (fd >= 0 && moved < AL_ARRAY_LEN(parts) &&
		       renameat2(run_fd, used ? parts[moved].name : parts[moved].cleaned, fd,
				 used ? parts[moved].used : parts[moved].name, RENAME_NOREPLACE) == 0)
			moved++;
		if (fd < 0 || moved > 0 || errno != EEXIST)
			return moved == AL_ARRAY_LEN(parts);
	}
	return false;
}

bool empty_layers_give(const char *state_dir, const char *run_dir)
{
	_cleanup_close_ int state_fd = open_dir(AT_FDCWD, state_dir), run_fd = open_dir(AT_FDCWD, run_dir);
	return state_fd >= 0 && run_fd >= 0 && put(state_fd, run_fd, true);
}

/* Nobody else has it from here on: whoever renames it first. Also the half of one, which somebody left who was killed: it would be
 * in the way for ever. False: there is none. */
static bool claim(int state_fd, int run_fd)
{
	for (int n = 0; n < POOL_SIZE; n++) {
		_cleanup_close_ int fd = open_slot(state_fd, n, false);
		size_t claimed = 0;
		if (fd < 0)
			return false; /* there never were more */
		for (size_t i = AL_ARRAY_LEN(parts); i-- > 0;)
			claimed += renameat(fd, parts[i].used, run_fd, parts[i].cleaned) == 0;
		if (claimed > 0)
			return true;
	}
	return false;
}

void empty_layers_clean(const char *state_dir, const char *run_dir)
{
	_cleanup_close_ int state_fd = open_dir(AT_FDCWD, state_dir), run_fd = open_dir(AT_FDCWD, run_dir);
	if (state_fd < 0 || run_fd < 0 || !claim(state_fd, run_fd) ||
	    (is_as_new(run_fd) && put(state_fd, run_fd, false)))
		return;
	for (size_t i = 0; i < AL_ARRAY_LEN(parts); i++)
		(void)fs_remove_tree_at(run_fd, parts[i].cleaned, NULL, NULL);
}
