/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* write, edit and delete, directly in the directories of the place.
 *
 * A file is replaced as a whole: a new file beside it gets its mode, owner and attributes and is renamed over it,
 * after a check that it is still the file that was read. So a reader sees the old or the new content, and a concurrent
 * change is a conflict. */
#include "files/files.h"

#include "base/path.h"
#include "files/tree.h"
#include "fs/fs.h"
#include "fs/io.h"
#include "layer/upper.h"
#include "layer/xattrs.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/xattr.h>

/* ── What may be changed ── */

static int check_mount(const struct files_place *p, const struct files_at *at, const char *path,
		       struct airlock_error *err)
{
	if (p->set)
		return base_error(err, AIRLOCK_ERR_INVALID, "write", path,
				  "the held changes of a run are read-only: %s", path);
	_cleanup_free_ char *whole = path_join(at->inside, at->name);
	if (!whole)
		return base_oom(err);
	assert(at->mount); /* files_resolve found it */
	if (at->mount->read_only || files_place_access(p, whole) != FILES_WRITABLE)
		return base_error(err, AIRLOCK_ERR_BLOCKED, "write", path, "%s is read-only here", path);
	return 0;
}

static int led_away(const char *path, struct airlock_error *err)
{
	return base_error(err, AIRLOCK_ERR_BLOCKED, "write", path,
			  "%s leads out of the project or workspace: a symbolic link on the way leads outside", path);
}

static int is_empty(const char *op, struct airlock_error *err)
{
	return base_error(err, AIRLOCK_ERR_INVALID, op, "", "the path is empty");
}

int files_resolve_target(const struct files_place *p, const char *path, struct files_at *at, struct airlock_error *err)
{
	int rc = !*path ? is_empty("write", err) : files_resolve(p, path, 0, at, err);
	if (rc == 0)
		rc = check_mount(p, at, path, err);
	if (rc < 0)
		return rc;
	/* Makes no directories below a path that exists only as the target of a link. */
	if (!at->found && at->detour && *at->rest)
		return led_away(path, err);
	if (!at->found || S_ISREG(at->st.st_mode))
		return 0;
	return base_error(err, AIRLOCK_ERR_INVALID, "write", path,
			  S_ISDIR(at->st.st_mode) ? "%s is a directory" : "%s is not a regular file", path);
}

int files_resolve_removal(const struct files_place *p, const char *path, struct files_at *at, struct airlock_error *err)
{
	int rc = !*path ? is_empty("delete", err) : files_find(p, path, FILES_NO_FOLLOW, at, err);
	if (rc == 0)
		rc = check_mount(p, at, path, err);
	if (rc < 0)
		return rc;
	assert(at->name); /* files_find found it */
	if (strcmp(at->name, ".") != 0)
		return rc;
	return base_error(err, AIRLOCK_ERR_BLOCKED, "delete", path,
			  "%s is the project or workspace itself and cannot be deleted", path);
}

/* ── A new file in the place of an old one ── */

/* User attributes and access lists go with the file, as if it were written in place. */
static void copy_attributes(int dir_fd, const char *name, int fd)
{
	_cleanup_buf_ struct buf names = BUF_INIT;
	if (xattrs_list(dir_fd, name, &names) < 0)
		return;
	for (size_t at = 0; at < names.len; at += strlen(names.data + at) + 1) {
		const char *attribute = names.data + at;
		_cleanup_buf_ struct buf value = BUF_INIT;
		bool wanted = strncmp(attribute, "user.", 5) == 0 || strncmp(attribute, "system.posix_acl_", 17) == 0;
		if (wanted && !upper_owns_xattr(attribute) && xattrs_get(dir_fd, name, attribute, &value) == 0)
			(void)fsetxattr(fd, attribute, buf_str(&value), value.len, 0);
	}
}

void files_make_alike(int dir_fd, const char *name, const struct stat *like, int fd)
{
	if (like->st_uid != geteuid() || like->st_gid != getegid())
		(void)fchown(fd, like->st_uid, like->st_gid);
	copy_attributes(dir_fd, name, fd);
	/* A set-user-id bit belonged to the old content. */
	(void)fchmod(fd, like->st_mode & 01777);
}

void files_temporary_name(char *ret, size_t size)
{
	uint64_t random = 0;
	(void)getrandom(&random, sizeof random, 0); /* a name that is taken already is tried again by the caller */
	(void)snprintf(ret, size, ".airlock-%016llx", (unsigned long long)random);
}

int files_create_beside(int dir_fd, char *name, size_t size)
{
	for (int tries = 0; tries < 100; tries++) {
		files_temporary_name(name, size);
		int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
		if (fd >= 0 || errno != EEXIST)
			return fd < 0 ? -errno : fd;
	}
	return -EEXIST;
}

/* True if the name is still what it was when we looked. */
static bool is_unchanged(int dir_fd, const char *name, const struct stat *like)
{
	struct stat now;
	if (fstatat(dir_fd, name, &now, AT_SYMLINK_NOFOLLOW) < 0)
		return !like && (errno == ENOENT || errno == ENAMETOOLONG); /* the caller is about to learn of it */
	return like && now.st_dev == like->st_dev && now.st_ino == like->st_ino && now.st_size == like->st_size &&
	       now.st_mtim.tv_sec == like->st_mtim.tv_sec && now.st_mtim.tv_nsec == like->st_mtim.tv_nsec;
}

int files_put(int dir_fd, const char *name, const void *content, size_t size, const struct stat *like)
{
	char temporary[64];
	_cleanup_close_ int fd = files_create_beside(dir_fd, temporary, sizeof temporary);
	if (fd < 0)
		return fd;
	int rc = fs_write_all(fd, content, size);
	if (rc == 0 && like)
		files_make_alike(dir_fd, name, like, fd);
	/* Object stores upload on close, and report then whether it worked. */
	int closed = close(TAKE_FD(fd));
	if (rc == 0 && closed < 0)
		rc = -errno;
	if (rc == 0 && !is_unchanged(dir_fd, name, like))
		rc = -ESTALE;
	if (rc == 0 && renameat(dir_fd, temporary, dir_fd, name) < 0)
		rc = -errno;
	if (rc < 0)
		(void)unlinkat(dir_fd, temporary, 0);
	return rc;
}

/* ── Directories above ── */

/* Makes name in dir_fd and returns its descriptor in dir_fd; also if someone else has just made it. */
static int make_and_enter(int *dir_fd, const char *name)
{
	if (mkdirat(*dir_fd, name, 0777) < 0 && errno != EEXIST)
		return -errno;
	int fd = openat(*dir_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	base_closep(dir_fd);
	*dir_fd = fd;
	return 0;
}

/* at->name is missing, and so is what at->rest names below it: makes all but the last, which becomes at->name. */
int files_make_parents(struct files_at *at)
{
	char *rest = at->rest;
	while (*rest) {
		size_t len = strcspn(rest, "/"), skip = strspn(rest + len, "/");
		_cleanup_free_ char *next = strndup(rest, len);
		if (!next)
			return -ENOMEM;
		if (strcmp(next, "..") == 0)
			return -ENOENT;
		rest += len + skip;
		if (strcmp(next, ".") == 0)
			continue;
		int rc = make_and_enter(&at->lower_fd, at->name);
		if (rc < 0)
			return rc;
		free(at->name);
		at->name = TAKE_PTR(next);
	}
	return 0;
}

/* ── The calls ── */

int files_write_error(const char *path, int rc, struct airlock_error *err)
{
	if (rc == -ENOMEM)
		return base_oom(err);
	if (rc == -ESTALE)
		return base_error(err, AIRLOCK_ERR_CONFLICT, "write", path,
				  "%s was changed by someone else at the same moment", path);
	bool odd = rc == -ENAMETOOLONG || rc == -EISDIR || rc == -ENOTDIR || rc == -ELOOP;
	int code = rc == -ENOENT ? AIRLOCK_ERR_NOT_FOUND : odd ? AIRLOCK_ERR_INVALID : AIRLOCK_ERR_IO;
	return base_errno(err, code, rc, "write", path);
}

static int changed(const struct files_place *p, const char *path, enum airlock_files_action action, uint64_t count,
		   struct airlock_files **ret, struct airlock_error *err)
{
	_cleanup_files_result_ struct airlock_files *r = files_result_new(FILES_CHANGE);
	if (!r)
		return base_oom(err);
	files_result_set_change(r, files_place_shown(p, path), action, count);
	if (r->failed)
		return base_oom(err);
	*ret = TAKE_PTR(r);
	return 0;
}

static int try_write(const struct files_place *p, const char *path, const void *content, size_t size, bool *ret_existed,
		     struct airlock_error *err)
{
	_cleanup_files_at_ struct files_at at = FILES_AT_INIT;
	int rc = files_resolve_target(p, path, &at, err);
	if (rc < 0)
		return rc;
	*ret_existed = at.found;
	rc = at.found ? 0 : files_make_parents(&at);
	if (rc == 0)
		rc = files_put(at.lower_fd, at.name, content, size, at.found ? &at.st : NULL);
	return rc == -ESTALE ? 1 : rc < 0 ? files_write_error(path, rc, err) : 0;
}

int files_write(const struct files_place *p, const char *path, const void *content, size_t size,
		struct airlock_files **ret, struct airlock_error *err)
{
	bool existed = false;
	int rc = 1;
	/* Replaces the whole content: the last writer wins, so a concurrent change only means to look again. */
	for (int tries = 0; rc == 1 && tries < 100; tries++)
		rc = try_write(p, path, content, size, &existed, err);
	if (rc == 1)
		return files_write_error(path, -ESTALE, err);
	return rc < 0 ? rc : changed(p, path, existed ? AIRLOCK_FILES_REPLACED : AIRLOCK_FILES_CREATED, size, ret, err);
}

int files_edit(const struct files_place *p, const char *path, const char *old_text, const char *new_text, bool all,
	       struct airlock_files **ret, struct airlock_error *err)
{
	_cleanup_files_at_ struct files_at at = FILES_AT_INIT;
	_cleanup_buf_ struct buf content = BUF_INIT;
	int rc = files_find(p, path, 0, &at, err);
	if (rc == 0)
		rc = check_mount(p, &at, path, err);
	if (rc == 0)
		rc = files_slurp(&at, path, &content, err);
	if (rc < 0)
		return rc;
	int64_t n = files_replace(&content, path, old_text, new_text, all, err);
	if (n < 0)
		return (int)n;
	rc = files_put(at.lower_fd, at.name, buf_str(&content), content.len, &at.st);
	return rc < 0 ? files_write_error(path, rc, err)
		      : changed(p, path, AIRLOCK_FILES_EDITED, (uint64_t)n, ret, err);
}

int files_delete(const struct files_place *p, const char *path, struct airlock_files **ret, struct airlock_error *err)
{
	_cleanup_files_at_ struct files_at at = FILES_AT_INIT;
	uint64_t n = 1;
	int rc = files_resolve_removal(p, path, &at, err);
	if (rc < 0)
		return rc;
	if (S_ISDIR(at.st.st_mode))
		rc = fs_remove_tree_at(at.lower_fd, at.name, &n, err);
	else if (unlinkat(at.lower_fd, at.name, 0) < 0)
		rc = base_errno(err, errno == ENOENT ? AIRLOCK_ERR_NOT_FOUND : AIRLOCK_ERR_IO, errno, "delete", path);
	return rc < 0 ? rc : changed(p, path, AIRLOCK_FILES_DELETED, n, ret, err);
}

/* ── Editing a text ── */

static int64_t count_of(const struct buf *content, const char *text, size_t len)
{
	int64_t n = 0;
	const char *at = content->data, *end = at + content->len;
	while (at < end && (at = memmem(at, (size_t)(end - at), text, len))) {
		n++;
		at += len;
	}
	return n;
}

static void replace_all(struct buf *content, const char *old_text, const char *new_text)
{
	struct buf out = BUF_INIT;
	size_t len = strlen(old_text);
	const char *at = content->data, *end = at + content->len;
	for (const char *hit; at < end && (hit = memmem(at, (size_t)(end - at), old_text, len)); at = hit + len) {
		buf_add(&out, at, (size_t)(hit - at));
		buf_adds(&out, new_text);
	}
	buf_add(&out, at, (size_t)(end - at));
	buf_done(content);
	*content = out;
}

int64_t files_replace(struct buf *content, const char *shown, const char *old_text, const char *new_text, bool all,
		      struct airlock_error *err)
{
	if (!*old_text)
		return base_error(err, AIRLOCK_ERR_INVALID, "edit", shown, "the text to replace is empty");
	if (strcmp(old_text, new_text) == 0)
		return base_error(err, AIRLOCK_ERR_INVALID, "edit", shown, "the old and the new text are the same");
	int64_t n = count_of(content, old_text, strlen(old_text));
	if (n == 0)
		return base_error(err, AIRLOCK_ERR_NOT_FOUND, "edit", shown, "the text to replace is not in %s", shown);
	if (n > 1 && !all) {
		base_error(err, AIRLOCK_ERR_INVALID, "edit", shown, "the text to replace is in %s %lld times", shown,
			   (long long)n);
		return base_hint(err, "include more of the surrounding text, or replace every occurrence (--all)");
	}
	replace_all(content, old_text, new_text);
	return content->failed ? base_oom(err) : n;
}
