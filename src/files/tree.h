/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Directories of a place, listed and walked, with a run's layer over them where there is one. Links are never followed.
 *
 *   _cleanup_files_tree_ struct files_tree t = FILES_TREE_INIT;
 *   files_tree_start(&t, place, &at, shown, err);
 *   while ((rc = files_tree_next(&t, err)) > 0) … t.path, t.now.st, files_tree_open(&t) …
 */
#pragma once

#include "files/resolve.h"

/* An entry that was listed but not visited yet. */
struct files_tree_item {
	char *relative; /* below the directory that is searched; "" for itself */
	struct stat st;
	bool in_upper;
	int depth;
};

struct files_tree {
	const struct files_place *place;
	const struct files_mount *mount;
	char *inside;		       /* the start: its path inside */
	char *shown;		       /* and as it is shown */
	int upper_fd, lower_fd;	       /* the start, on each side */
	bool flat;		       /* only the entries of the start itself */
	struct files_tree_item *stack; /* the next on top */
	size_t n, cap;
	struct files_tree_item now; /* the current entry */
	char *path;		    /* as shown */
};
#define FILES_TREE_INIT                                                                                                \
	{                                                                                                              \
		.upper_fd = -EBADF, .lower_fd = -EBADF                                                                 \
	}

/* at: what was found at shown; if it is a file, it is the only entry. */
int files_tree_start(struct files_tree *t, const struct files_place *p, const struct files_at *at, const char *shown,
		     struct airlock_error *err);
/* 1: an entry, in the order of path_compare; 0: no more; or a code. Unreadable directories are entries without
 * content. */
int files_tree_next(struct files_tree *t, struct airlock_error *err);
/* The current entry, a regular file, for reading. An fd or -errno. */
int files_tree_open(const struct files_tree *t);
/* A path below a directory without following links: openat2, or component by component without it. -errno. */
int files_open_plain(int dir_fd, const char *relative, int flags);
void files_tree_done(struct files_tree *t);
#define _cleanup_files_tree_ _cleanup_(files_tree_done)
