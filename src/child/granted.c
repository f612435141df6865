/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "child/granted.h"

#include "child/caller.h"
#include "child/child_job.h"
#include "child/raw_calls.h"

#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/limits.h>
#include <linux/stat.h>

#define MAX_MOUNTS 16 /* a command works on few */

/* One call at a time: the first process answers them one by one. */
static struct {
	uint64_t id;
	int is_all;
} mounts[MAX_MOUNTS];
static size_t n_mounts;

static size_t length(const char *s)
{
	size_t n = 0;
	while (s[n])
		n++;
	return n;
}

/* ── What the plan says ── */

/* The length of the common start if above is where itself or a directory above it, else 0. */
static size_t is_above(const char *above, const char *where)
{
	size_t n = 0;
	while (above[n] && above[n] == where[n])
		n++;
	/* "/" is above everything, and has its slash itself. */
	return !above[n] && (n == 1 || where[n] == '/' || where[n] == '\0') ? n : 0;
}

static const struct child_region *region(const struct child_job *job, uint32_t i)
{
	return (const struct child_region *)(const void *)((const char *)job + job->regions.at) + i;
}

static const char *region_path(const struct child_job *job, uint32_t i)
{
	return (const char *)job + region(job, i)->path.at;
}

unsigned granted_refuses(const struct child_job *job, const char *where)
{
	unsigned found = 0;
	size_t longest = 0;
	for (uint32_t i = 0; i < job->n_regions; i++) {
		size_t n = is_above(region_path(job, i), where);
		if (n && n >= longest) {
			longest = n;
			found = region(job, i)->refuses;
		}
	}
	return found;
}

/* ── Mounts ── */

static long look(const char *path, int flags, struct statx *ret)
{
	long rc = raw_call5(__NR_statx, AT_FDCWD, path, flags | AT_NO_AUTOMOUNT, STATX_TYPE | STATX_MNT_ID, ret);
	return rc < 0 ? rc : ret->stx_mask & STATX_MNT_ID ? 0 : -EOPNOTSUPP; /* Linux 5.8 */
}

/* True if nothing is refused on the mount that begins at root: neither by the region it lies in nor by one in it. A region that
 * is a mount of its own has another id. One that does not exist might come into being. */
static int is_all_granted(const struct child_job *job, const char *root, uint64_t id)
{
	struct statx st;
	if (granted_refuses(job, root))
		return 0;
	for (uint32_t i = 0; i < job->n_regions; i++)
		if (region(job, i)->refuses && is_above(root, region_path(job, i)) &&
		    (look(region_path(job, i), AT_SYMLINK_NOFOLLOW, &st) < 0 || st.stx_mnt_id == id))
			return 0;
	return 1;
}

static int is_known(uint64_t id)
{
	for (size_t i = 0; i < n_mounts; i++)
		if (mounts[i].id == id)
			return 1;
	return 0;
}

static int is_all(uint64_t id)
{
	for (size_t i = 0; i < n_mounts; i++)
		if (mounts[i].id == id)
			return mounts[i].is_all;
	return 0;
}

static size_t parent_length(const char *path, size_t len)
{
	while (len > 1 && path[len - 1] != '/')
		len--;
	return len > 1 ? len - 1 : len;
}

/* Cuts path down to the mount's first directory. False if that cannot be found. */
static int cut_to_root(char *path, uint64_t id)
{
	for (;;) {
		struct statx st;
		if (look(path, AT_SYMLINK_NOFOLLOW, &st) < 0 || st.stx_mnt_id != id)
			return 0;
		if (st.stx_attributes & STATX_ATTR_MOUNT_ROOT)
			return 1;
		size_t len = length(path);
		if (len <= 1)
			return 0;
		path[parent_length(path, len)] = '\0';
	}
}

void granted_learn(const struct child_job *job, char *path, size_t len)
{
	static char root[PATH_MAX];
	struct statx st;
	char kept = path[len];
	path[len] = '\0';
	size_t i = 0;
	do
		root[i] = path[i];
	while (path[i++]);
	path[len] = kept;
	if (n_mounts == MAX_MOUNTS || look(root, AT_SYMLINK_NOFOLLOW, &st) < 0 || is_known(st.stx_mnt_id))
		return;
	mounts[n_mounts].id = st.stx_mnt_id;
	mounts[n_mounts].is_all = cut_to_root(root, st.stx_mnt_id) && is_all_granted(job, root, st.stx_mnt_id);
	n_mounts++;
}

/* ── The path of a call ── */

static int starts_with(const char *s, const char *prefix)
{
	while (*prefix)
		if (*s++ != *prefix++)
			return 0;
	return 1;
}

/* Cuts the last name off. False if it may lead up, or there is none. */
static int cut_name(char *path, size_t least)
{
	size_t len = length(path);
	while (len > least && path[len - 1] == '/')
		len--;
	size_t end = len;
	while (len > least && path[len - 1] != '/')
		len--;
	if (len == end || (path[len] == '.' && (end - len == 1 || (end - len == 2 && path[len + 1] == '.'))))
		return 0;
	path[len] = '\0';
	return 1;
}

/* Paths in /proc mean something else to us than to the caller: /proc/self is another directory. */
int granted_is_all(int pid, int dir_fd, const char *path, int follow)
{
	static char full[CALLER_BASE_BYTES + PATH_MAX];
	struct statx st;
	size_t base = path[0] == '/' ? 0 : caller_base_path(pid, dir_fd, full), n = 0;
	if (n_mounts == 0 || starts_with(path, "/proc"))
		return 0;
	if (base)
		full[base++] = '/';
	do
		full[base + n] = path[n];
	while (path[n++]);
	long rc = look(full, AT_SYMLINK_NOFOLLOW, &st);
	if (rc == 0)
		return is_all(st.stx_mnt_id) && !(follow && (st.stx_mode & S_IFMT) == S_IFLNK);
	/* It does not exist, not even as a link: it would be made in the directory above. */
	return rc == -ENOENT && cut_name(full, base) && look(full, 0, &st) == 0 && is_all(st.stx_mnt_id);
}
