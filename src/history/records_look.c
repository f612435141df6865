/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "history/records_look.h"

#include "base/macros.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>

#define TEXT_PROBE 8000

static const char *type_of(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return "file";
	case S_IFDIR:
		return "directory";
	case S_IFLNK:
		return "symlink";
	default:
		return "other";
	}
}

void records_from_stat(const struct stat *st, struct store_file *f)
{
	f->type = type_of(st->st_mode);
	f->size = S_ISDIR(st->st_mode) ? 0 : st->st_size;
	f->mtime = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
	f->ctime = (int64_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec;
	f->inode = (int64_t)st->st_ino;
}

/* As git sees it: a file without a NUL byte near its beginning. */
static bool looks_like_text(int dir_fd, const char *name)
{
	char head[TEXT_PROBE];
	_cleanup_close_ int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, head, sizeof head);
	return n >= 0 && !memchr(head, '\0', (size_t)n);
}

void records_glance(int dir_fd, const char *name, struct store_file *f)
{
	char target[PATH_MAX];
	f->is_text = 0;
	f->target = NULL;
	if (strcmp(f->type, "file") == 0) {
		f->is_text = f->size == 0 ? 1 : STORE_TEXT_UNKNOWN;
	} else if (strcmp(f->type, "symlink") == 0) {
		ssize_t n = readlinkat(dir_fd, name, target, sizeof target);
		f->target = n >= 0 && n < (ssize_t)sizeof target ? strndup(target, (size_t)n) : NULL;
	}
}

void records_look(int dir_fd, const char *name, struct store_file *f)
{
	records_glance(dir_fd, name, f);
	if (f->is_text == STORE_TEXT_UNKNOWN)
		f->is_text = looks_like_text(dir_fd, name);
}
