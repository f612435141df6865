/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The calls of airlock/files.h on an open place. The caller owns the results. */
#pragma once

#include "files/place.h"
#include "files/resolve.h"
#include "files/files_result.h"

int files_ls(const struct files_place *p, const char *path, struct airlock_files **ret, struct airlock_error *err);
int files_read(const struct files_place *p, const char *path, int64_t offset, int64_t limit, struct airlock_files **ret,
	       struct airlock_error *err);
int files_glob(const struct files_place *p, const char *pattern, const char *path, int64_t max,
	       struct airlock_files **ret, struct airlock_error *err);
int files_grep(const struct files_place *p, const char *text, const char *path, const char *glob, int64_t max,
	       struct airlock_files **ret, struct airlock_error *err);

/* Writes directly into the place's own directories: a workspace's. */
int files_write(const struct files_place *p, const char *path, const void *content, size_t size,
		struct airlock_files **ret, struct airlock_error *err);
int files_edit(const struct files_place *p, const char *path, const char *old_text, const char *new_text, bool all,
	       struct airlock_files **ret, struct airlock_error *err);
int files_delete(const struct files_place *p, const char *path, struct airlock_files **ret, struct airlock_error *err);

/* ── Parts of these, for changes that go through a layer ── */

/* Checks that at, found or not, may be written: the mount is writable, and only a regular file is there. */
int files_resolve_target(const struct files_place *p, const char *path, struct files_at *at, struct airlock_error *err);
/* Checks that it may be removed. */
int files_resolve_removal(const struct files_place *p, const char *path, struct files_at *at,
			  struct airlock_error *err);
/* The error for a failed open for reading; rc: -errno. */
int files_open_error(const char *shown, int rc, struct airlock_error *err);
/* The whole content of what was found, into an empty buffer. */
int files_slurp(const struct files_at *at, const char *shown, struct buf *ret, struct airlock_error *err);
/* Replaces old_text in content. Returns the number of occurrences, or a code. */
int64_t files_replace(struct buf *content, const char *shown, const char *old_text, const char *new_text, bool all,
		      struct airlock_error *err);
/* Copies owner, mode and attributes of dir_fd/name, whose stat is like, to fd. */
void files_make_alike(int dir_fd, const char *name, const struct stat *like, int fd);
/* Writes a new file beside name in dir_fd, then renames it. Mode, owner and user attributes are those of `like` (may
 * be NULL). 0 or -errno; -ESTALE: name is no longer what `like` says. */
int files_put(int dir_fd, const char *name, const void *content, size_t size, const struct stat *like);

/* ── A file that comes in pieces ── */

struct files_upload {
	int dir_fd, fd;
	char *name, *shown;
	char temporary[64]; /* its name until commit; "": it has none */
	uint64_t size;
};
int files_upload_begin(struct files_upload *u, const struct files_place *p, const char *path,
		       struct airlock_error *err);
int files_upload_write(struct files_upload *u, const void *bytes, size_t size, struct airlock_error *err);
int files_upload_commit(struct files_upload *u, struct airlock_files **ret, struct airlock_error *err);
void files_upload_done(struct files_upload *u);

/* Makes the directories that are missing on the way to what was not found. 0 or -errno. */
int files_make_parents(struct files_at *at);
/* The error for a failed write; rc: -errno. */
int files_write_error(const char *path, int rc, struct airlock_error *err);
void files_temporary_name(char *ret, size_t size);
/* A new empty file of that kind of name, for writing: its descriptor or -errno. */
int files_create_beside(int dir_fd, char *name, size_t size);
