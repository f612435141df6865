/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Mounting an overlay: the one function that runs and probes use, so that a probe cannot find what a run would not.
 * Safe after clone and without libc.
 *
 *   struct raw_overlay o = {.lower = &project_fd, .n_lower = 1, .upper = upper_fd, .work = work_fd};
 *   enum raw_overlay_step failed;
 *   long mount = raw_overlay_mount(&o, &failed);     a detached mount, or -errno
 *
 * Directories are given as descriptors. The kernel gets them as "/proc/self/fd/N", a name without `,` `:` and `\`,
 * whatever the directory is called. It must be joined by `:` into one "lowerdir": "lowerdir+", which takes one directory at a
 * time, came with Linux 6.7, and before 6.5 overlayfs has no parser of its own. There fsconfig(2) collects every key unseen, and
 * an unknown one fails only when the file system is created, after a line in the kernel's log.
 *
 * fsconfig takes strings of at most 255 bytes. Where the names are longer together, they are given relative to
 * /proc/self/fd, which is made the working directory for as long as that takes: "7:8:9" has room for more than sixty.
 */
#pragma once

#include "sys/raw.h"

#include <linux/capability.h>
#include <linux/errno.h>
#include <stddef.h>

struct raw_overlay {
	const int *lower; /* the topmost first */
	size_t n_lower;
	int upper, work;     /* -1: read-only, then there must be two lower ones */
	unsigned attributes; /* MOUNT_ATTR_… */
};

enum raw_overlay_step {
	RAW_OVERLAY_OPEN,    /* fsopen */
	RAW_OVERLAY_OPTION,  /* fsconfig of an option; -ENAMETOOLONG: too many lower directories */
	RAW_OVERLAY_CREATE,  /* the kernel refuses these directories */
	RAW_OVERLAY_MOUNT,   /* fsmount */
	RAW_OVERLAY_WORKDIR, /* /proc/self/fd could not be made the working directory */
};

/* The headers of the kernel and of the C library exclude each other (mount.h, fcntl.h), and this file serves both; the
 * numbers are kernel interface. */
enum {
	RAW_AT_FDCWD = -100,
	RAW_O_CLOEXEC = 02000000,
	RAW_O_PATH = 010000000,
	RAW_FSOPEN_CLOEXEC = 1,
	RAW_FSMOUNT_CLOEXEC = 1,
	RAW_FSCONFIG_FLAG = 0,
	RAW_FSCONFIG_STRING = 1,
	RAW_FSCONFIG_CREATE = 6,
	RAW_FSCONFIG_MAX = 256, /* the longest string, its NUL included */
};

/* True if the caller may mount without its own user namespace. */
static inline int raw_may_mount(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{0}};
	return raw_call0(__NR_geteuid) == 0 && raw_call2(__NR_capget, &head, data) == 0 &&
	       (data[0].effective & (1U << CAP_SYS_ADMIN)) != 0;
}

#define RAW_OVERLAY_FDS "/proc/self/fd"

/* Appends "/proc/self/fd/N", or "N" if that is the working directory. Returns the end, or -1 if it does not fit. */
static inline long raw_overlay_name(char *out, long at, int fd, int relative)
{
	static const char prefix[] = RAW_OVERLAY_FDS "/";
	char digits[12];
	long n = 0, len = relative ? 0 : (long)sizeof prefix - 1;
	unsigned v = (unsigned)fd;
	do
		digits[n++] = (char)('0' + v % 10);
	while (v /= 10);
	if (at < 0 || at + len + n >= RAW_FSCONFIG_MAX)
		return -1;
	for (long i = 0; i < len; i++)
		out[at++] = prefix[i];
	while (n)
		out[at++] = digits[--n];
	out[at] = '\0';
	return at;
}

/* All lower directories as one string; returns its length, or -1 if it does not fit. */
static inline long raw_overlay_names(char *out, const struct raw_overlay *o, int relative)
{
	long at = 0;
	out[0] = '\0';
	for (size_t i = 0; i < o->n_lower && at >= 0; i++) {
		if (i > 0)
			out[at++] = ':';
		at = raw_overlay_name(out, at, o->lower[i], relative);
	}
	return at;
}

static inline long raw_overlay_set(long fs, const char *key, const char *value)
{
	return raw_call5(__NR_fsconfig, fs, RAW_FSCONFIG_STRING, key, value, 0);
}

static inline long raw_overlay_set_directory(long fs, const char *key, int fd)
{
	char name[RAW_FSCONFIG_MAX];
	(void)raw_overlay_name(name, 0, fd, 0);
	return raw_overlay_set(fs, key, name);
}

static inline long raw_overlay_options(long fs, const struct raw_overlay *o, const char *lower)
{
	long rc = raw_overlay_set(fs, "source", "airlock");
	rc = rc < 0 ? rc : raw_call5(__NR_fsconfig, fs, RAW_FSCONFIG_FLAG, "userxattr", 0, 0);
	rc = rc < 0 ? rc : raw_overlay_set(fs, "lowerdir", lower);
	if (rc < 0 || o->upper < 0)
		return rc;
	/* Without this option, each copied-up file waits for the disk. Nothing relies on that: apply syncs what it
	 * takes, and a layer is mounted a second time only if it is empty and the kernel's work directory, which marks
	 * it as volatile, is gone. Linux 5.10 and newer. */
	(void)raw_call5(__NR_fsconfig, fs, RAW_FSCONFIG_FLAG, "volatile", 0, 0);
	rc = raw_overlay_set_directory(fs, "upperdir", o->upper);
	return rc < 0 ? rc : raw_overlay_set_directory(fs, "workdir", o->work);
}

static inline long raw_overlay_create(const struct raw_overlay *o, const char *lower, enum raw_overlay_step *ret_step)
{
	*ret_step = RAW_OVERLAY_OPEN;
	long fs = raw_call2(__NR_fsopen, "overlay", RAW_FSOPEN_CLOEXEC);
	if (fs < 0)
		return fs;
	*ret_step = RAW_OVERLAY_OPTION;
	long rc = raw_overlay_options(fs, o, lower);
	if (rc >= 0) {
		*ret_step = RAW_OVERLAY_CREATE;
		rc = raw_call5(__NR_fsconfig, fs, RAW_FSCONFIG_CREATE, 0, 0, 0);
	}
	if (rc >= 0) {
		*ret_step = RAW_OVERLAY_MOUNT;
		rc = raw_call3(__NR_fsmount, fs, RAW_FSMOUNT_CLOEXEC, o->attributes);
	}
	(void)raw_call1(__NR_close, fs);
	return rc;
}

/* Returns a detached mount (CLOEXEC), or -errno and the step that failed. The descriptors stay the caller's. */
static inline long raw_overlay_mount(const struct raw_overlay *o, enum raw_overlay_step *ret_step)
{
	char lower[RAW_FSCONFIG_MAX];
	if (raw_overlay_names(lower, o, 0) >= 0)
		return raw_overlay_create(o, lower, ret_step);
	*ret_step = RAW_OVERLAY_OPTION;
	if (raw_overlay_names(lower, o, 1) < 0)
		return -ENAMETOOLONG;
	*ret_step = RAW_OVERLAY_WORKDIR;
	long back = raw_call4(__NR_openat, RAW_AT_FDCWD, ".", RAW_O_PATH | RAW_O_CLOEXEC, 0);
	if (back < 0)
		return back;
	long rc = raw_call1(__NR_chdir, RAW_OVERLAY_FDS);
	if (rc >= 0) {
		rc = raw_overlay_create(o, lower, ret_step);
		long returned = raw_call1(__NR_fchdir, back);
		if (returned < 0 && rc >= 0) {
			(void)raw_call1(__NR_close, rc);
			rc = returned;
		}
	}
	(void)raw_call1(__NR_close, back);
	return rc;
}
