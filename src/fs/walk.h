/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Walking a directory tree that somebody hostile may have made.
 *
 *   _cleanup_walk_ struct fs_walk w = FS_WALK_INIT;
 *   int event = fs_walk_start(&w, fd);                   takes fd
 *   while (event >= 0 && (event = fs_walk_next(&w)) > 0)
 *           if (event == FS_WALK_DIR) (void)fs_walk_enter(&w);
 *
 * Invariants: every directory is opened as one component beneath its parent's descriptor, never through a symlink,
 * never across a mount point; depth costs heap, not stack, and at most FS_WALK_MAX_FDS descriptors.
 * Returns bare -errno: the caller knows the words.
 */
#pragma once

#include "base/buf.h"

#include <sys/stat.h>

#define FS_WALK_MAX_FDS 32

enum fs_walk_event {
	FS_WALK_END = 0,
	FS_WALK_ENTRY, /* anything but a directory */
	FS_WALK_DIR,   /* a directory; its content follows only after fs_walk_enter */
	FS_WALK_LEAVE, /* an entered directory whose content is done */
};

struct fs_walk_level {
	int fd; /* -EBADF while deeper levels needed the descriptor */
	dev_t dev;
	ino_t ino;
	mode_t mode;
	size_t first;	/* where its entries begin in names */
	size_t current; /* the entry the last event was about */
	size_t next;
	size_t path_len; /* length of path for entries of this level */
};

struct fs_walk {
	struct fs_walk_level *levels;
	size_t depth, cap;
	struct buf names; /* of all open levels: type byte, name, NUL */
	struct buf path;
	const char *name;   /* of the current entry; valid until the next call */
	unsigned char type; /* DT_*, never DT_UNKNOWN unless the entry vanished */
};
#define FS_WALK_INIT                                                                                                   \
	{                                                                                                              \
		0                                                                                                      \
	}

/* Opens name, a single component, as a directory beneath dirfd; flags beside O_DIRECTORY|O_CLOEXEC|O_NOFOLLOW.
 * Returns the descriptor, -EXDEV for a mount point, -ENOTDIR or -ELOOP when it is no directory. */
int fs_open_dir_at(int dirfd, const char *name, int flags);

/* Takes fd, a directory opened for reading, also on failure. */
int fs_walk_start(struct fs_walk *w, int fd);
int fs_walk_next(struct fs_walk *w);  /* an event, or -errno: the walk cannot go on */
int fs_walk_enter(struct fs_walk *w); /* after FS_WALK_DIR; on -errno the directory is skipped */
void fs_walk_done(struct fs_walk *w);
#define _cleanup_walk_ _cleanup_(fs_walk_done)

/* The directory the current entry is in. Borrowed until the next call. */
int fs_walk_dirfd(const struct fs_walk *w);
/* The directory itself: dev, ino and mode. Right after fs_walk_start and fs_walk_enter it is the one just opened.
 * Borrowed until the next call. */
const struct fs_walk_level *fs_walk_dir(const struct fs_walk *w);
/* Passes over the rest of that directory. */
void fs_walk_skip(struct fs_walk *w);
/* Path of the current entry from the start of the walk, without leading slash; "" before the first, also when the walk could
 * not begin. NULL on out of memory; else borrowed until the next call. */
const char *fs_walk_path(struct fs_walk *w);
