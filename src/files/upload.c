/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A file that comes in pieces. Until it is complete it has no name where the file system can do that (O_TMPFILE), so that nothing is
 * left of it when we are killed; object stores cannot, there it has a name of ours beside the target. */
#include "files/files.h"

#include "fs/fs.h"
#include "fs/io.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int open_nameless(int dir_fd)
{
	int fd = openat(dir_fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
	return fd < 0 ? -errno : fd;
}

int files_upload_begin(struct files_upload *u, const struct files_place *p, const char *path, struct airlock_error *err)
{
	struct files_at at = FILES_AT_INIT;
	*u = (struct files_upload){.dir_fd = -EBADF, .fd = -EBADF};
	int rc = files_resolve_target(p, path, &at, err);
	if (rc == 0 && !at.found && (rc = files_make_parents(&at)) < 0)
		rc = files_write_error(path, rc, err);
	if (rc == 0) {
		u->dir_fd = TAKE_FD(at.lower_fd);
		u->name = TAKE_PTR(at.name);
		u->shown = files_place_shown(p, path);
		u->fd = open_nameless(u->dir_fd);
		if (u->fd < 0)
			u->fd = files_create_beside(u->dir_fd, u->temporary, sizeof u->temporary);
		if (u->fd < 0)
			rc = files_write_error(path, u->fd, err);
		else if (!u->shown)
			rc = base_oom(err);
	}
	files_at_done(&at);
	if (rc < 0)
		files_upload_done(u);
	return rc;
}

int files_upload_write(struct files_upload *u, const void *bytes, size_t size, struct airlock_error *err)
{
	int rc = fs_write_all(u->fd, bytes, size);
	if (rc < 0)
		return files_write_error(u->shown, rc, err);
	u->size += size;
	return 0;
}

/* Gives the file a name of ours. */
static int give_name(struct files_upload *u)
{
	char from[32];
	(void)snprintf(from, sizeof from, "/proc/self/fd/%d", u->fd);
	for (int tries = 0; tries < 100; tries++) {
		char name[sizeof u->temporary];
		files_temporary_name(name, sizeof name);
		if (linkat(AT_FDCWD, from, u->dir_fd, name, AT_SYMLINK_FOLLOW) == 0) {
			(void)memcpy(u->temporary, name, sizeof name);
			return 0;
		}
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

static int rename_over(struct files_upload *u, bool *ret_existed)
{
	struct stat st;
	bool existed = fstatat(u->dir_fd, u->name, &st, AT_SYMLINK_NOFOLLOW) == 0;
	int rc = existed && S_ISDIR(st.st_mode) ? -EISDIR : 0;
	if (rc == 0 && existed && S_ISREG(st.st_mode))
		files_make_alike(u->dir_fd, u->name, &st, u->fd);
	if (rc == 0 && !*u->temporary)
		rc = give_name(u);
	/* Object stores upload on close, and report then whether it worked. */
	if (rc == 0 && close(TAKE_FD(u->fd)) < 0)
		rc = -errno;
	if (rc == 0 && renameat(u->dir_fd, u->temporary, u->dir_fd, u->name) < 0)
		rc = -errno;
	if (rc == 0)
		*u->temporary = '\0';
	*ret_existed = existed;
	return rc;
}

int files_upload_commit(struct files_upload *u, struct airlock_files **ret, struct airlock_error *err)
{
	bool existed = false;
	_cleanup_files_result_ struct airlock_files *r = files_result_new(FILES_CHANGE);
	if (!r)
		return base_oom(err);
	int rc = rename_over(u, &existed);
	if (rc < 0)
		return files_write_error(u->shown, rc, err);
	files_result_set_change(r, strdup(u->shown), existed ? AIRLOCK_FILES_REPLACED : AIRLOCK_FILES_CREATED, u->size);
	if (r->failed)
		return base_oom(err);
	*ret = TAKE_PTR(r);
	return 0;
}

void files_upload_done(struct files_upload *u)
{
	if (*u->temporary)
		(void)unlinkat(u->dir_fd, u->temporary, 0);
	base_closep(&u->fd);
	base_closep(&u->dir_fd);
	free(u->name);
	free(u->shown);
	*u = (struct files_upload){.dir_fd = -EBADF, .fd = -EBADF};
}
