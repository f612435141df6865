/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "child/missing.h"

#include "child/caller.h"
#include "child/raw_calls.h"

#include <asm/statfs.h>
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <linux/stat.h>

static int is_deletion(int nr)
{
#ifdef __NR_unlink
	if (nr == __NR_unlink || nr == __NR_rmdir)
		return 1;
#endif
	return nr == __NR_unlinkat;
}

static long look(int base, const char *path)
{
	struct statx st;
	return raw_call5(__NR_statx, base, path, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_TYPE, &st);
}

/* Paths in /proc mean something else to us than to the caller: /proc/self is another directory. */
static int is_in_proc(int dir)
{
	struct statfs fs;
	return raw_call2(__NR_fstatfs, dir, &fs) < 0 || fs.f_type == PROC_SUPER_MAGIC;
}

int missing_name(int base, char *path)
{
	size_t len = 0;
	while (path[len])
		len++;
	while (len > 1 && path[len - 1] == '/')
		path[--len] = '\0';
	size_t at = len;
	while (at > 0 && path[at - 1] != '/')
		at--;
	if (at == len) /* no name: "" or "/" */
		return 0;
	const char *name = path + at, *dir = ".";
	char kept = 0;
	struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = RESOLVE_NO_MAGICLINKS};
	if (at > 0) {
		/* "a/" and "/" are directories as "a" is, but the name must not be overwritten. */
		kept = path[at];
		path[at] = '\0';
		dir = path;
	}
	long fd = raw_call4(__NR_openat2, base, dir, &how, sizeof how);
	if (at > 0)
		path[at] = kept;
	if (fd < 0) /* the kernel reports that itself */
		return 0;
	int missing = !is_in_proc((int)fd) && look((int)fd, name) == -ENOENT;
	(void)r_close((int)fd);
	return missing;
}

int missing_is(const struct seccomp_notif *request, int nested)
{
	static char path[PATH_MAX]; /* one call at a time */
	const __u64 *a = request->data.args;
	int pid = (int)request->pid, at = request->data.nr == __NR_unlinkat;
	if (!is_deletion(request->data.nr) || caller_read_string(pid, at ? a[1] : a[0], path) < 0)
		return 0;
	/* It nearly always exists: this must be cheap. */
	long base = path[0] == '/' ? AT_FDCWD : caller_open_base(pid, at ? (int)a[0] : AT_FDCWD);
	if (base < 0 && base != AT_FDCWD)
		return 0;
	int missing = look((int)base, path) == -ENOENT && (!nested || caller_shares_root(pid)) &&
		      missing_name((int)base, path);
	if (base >= 0)
		(void)r_close((int)base);
	return missing;
}
