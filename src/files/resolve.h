/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From a path to the directory that holds it and its name there, following links only inside the place.
 *
 *   _cleanup_files_at_ struct files_at at;
 *   int rc = files_resolve(place, "/a/b", 0, &at, err);
 *   if (rc == 0 && at.found) … at.st, files_open_file(&at) …
 *
 * Theory of operation. The kernel is asked first: one openat2 beneath the place's descriptor, RESOLVE_IN_ROOT for a
 * workspace (its links mean what they mean to a command whose root it is), RESOLVE_BENEATH for a project, magic links never.
 * What that call cannot answer (a link at the end, something missing, a link that leads out, a kernel without openat2) a
 * walk answers, one component at a time: each is opened O_NOFOLLOW beneath the one before it, ".." goes back to the
 * descriptor we came from and never asks the kernel, links are read and put in the place of their name. So whoever swaps
 * directories and links meanwhile can make us fail or find one of the things that were there, never leave.
 */
#pragma once

#include "files/place.h"

#include <sys/stat.h>

enum {
	FILES_NO_FOLLOW = 1 << 0, /* a link at the end is the result itself */
	FILES_NO_FAST = 1 << 1,	  /* the walk only: for tests */
};

struct files_at {
	const struct files_mount *mount;
	int upper_fd, lower_fd; /* the directory that holds it, O_PATH; -EBADF: not on that side */
	char *name;		/* "." for the top of a mount */
	char *rest;		/* not found, and more than the last component is missing: what follows name; else "" */
	char *inside;		/* the directory's own path inside, links resolved */
	bool found, in_upper;
	bool detour; /* reached through a link that names a path outside the workspace, though it was found inside */
	struct stat st;
};
#define FILES_AT_INIT                                                                                                  \
	{                                                                                                              \
		.upper_fd = -EBADF, .lower_fd = -EBADF                                                                 \
	}

/* Also 0 if it does not exist: at.found. AIRLOCK_ERR_BLOCKED: it leads out. AIRLOCK_ERR_NOT_FOUND: below something
 * that is not a directory. AIRLOCK_ERR_INVALID: not a path, or a loop of links. */
int files_resolve(const struct files_place *p, const char *path, int flags, struct files_at *ret,
		  struct airlock_error *err);
void files_at_done(struct files_at *at);
#define _cleanup_files_at_ _cleanup_(files_at_done)

/* The same, but it must exist: AIRLOCK_ERR_NOT_FOUND, or AIRLOCK_ERR_BLOCKED if a link led out. */
int files_find(const struct files_place *p, const char *path, int flags, struct files_at *ret,
	       struct airlock_error *err);

/* Opens what was found, if it is still the same: a regular file for reading. -errno: -EISDIR, -EINVAL for neither file
 * nor directory, -ESTALE. */
int files_open_file(const struct files_at *at);
/* The directory that was found, O_RDONLY, on each side where it exists, else -EBADF. 0 or -errno. */
int files_open_dir(const struct files_place *p, const struct files_at *at, int *ret_upper, int *ret_lower);

/* One entry of a directory that may have two sides: 1 found, 0 not there, -errno. dir_inside is the directory's path.
 */
struct files_look {
	const struct files_place *place;
	const struct files_mount *mount;
	const char *dir_inside;
	int upper_fd, lower_fd;
};
int files_look(const struct files_look *l, const char *name, struct stat *ret, bool *ret_in_upper);
