/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Is there a bubblewrap here that works?
 *
 *   struct bwrap_info info;
 *   int rc = bwrap_probe(path_env, cache_file, untrusted_dirs, &info, err);
 *   if (rc == 0 && !info.works) …info.why has the cause and the way out…
 *
 * The answer comes from making a sandbox with it. It is remembered in cache_file until the next boot, or until the
 * program or a kernel setting that matters changes; a failure only for a minute, so that a repair is noticed.
 */
#pragma once

#include "base/error.h"
#include "sys/probe.h"

#include <limits.h>
#include <stdbool.h>

/* The minimum: --perms, of 0.5. */
#define BWRAP_MIN_MAJOR 0
#define BWRAP_MIN_MINOR 5

/* Where the verdict is stored, in the state directory. */
#define BWRAP_CACHE_NAME "bubblewrap.probe"

struct bwrap_info {
	char path[PATH_MAX]; /* the program itself, not a symlink; "" if there is no trustworthy one */
	int major, minor, patch;
	bool works;
	bool is_setuid;		 /* makes namespaces with its own privileges, and refuses some options */
	bool has_size_perms;	 /* --perms and --size (0.7, not setuid) */
	bool has_disable_userns; /* --disable-userns (0.8) */
	bool has_overlay;	 /* --overlay (0.11, not setuid) */
	bool from_cache;
	struct airlock_error why; /* AIRLOCK_ERR_UNAVAILABLE when !works */
};

/* path_env: only its absolute entries count, followed by /usr/bin, /usr/local/bin and /bin. Never used: a program in
 * one of untrusted_dirs (NULL-terminated, real paths; "/" is ignored), one that belongs to neither root nor us, one
 * that others may write or replace. cache_file may be NULL. Returns 0, or a negative code if out of memory. */
int bwrap_probe(const char *path_env, const char *cache_file, const char *const *untrusted_dirs, struct bwrap_info *ret,
		struct airlock_error *err);

/* ── Causes, shared with the doctor ── */

enum bwrap_cause {
	BWRAP_FINE,
	BWRAP_NOT_INSTALLED,
	BWRAP_UNTRUSTED,
	BWRAP_NOT_RUNNABLE,
	BWRAP_NOT_BWRAP,
	BWRAP_TOO_OLD,
	BWRAP_SLOW,
	BWRAP_SETUID,
	BWRAP_FLATPAK,
	BWRAP_APPARMOR,
	BWRAP_CLONE_SYSCTL,
	BWRAP_MAX_ZERO,
	BWRAP_MAX_REACHED,
	BWRAP_NOT_IN_KERNEL,
	BWRAP_CHROOT,
	BWRAP_CONTAINER,
	BWRAP_SECCOMP,
	BWRAP_PROC,
	BWRAP_LOOPBACK,
	BWRAP_OTHER,
	BWRAP_CAUSES
};

struct bwrap_words {
	const char *cause; /* a clause: "AppArmor forbids …" */
	const char *fix;
};
const struct bwrap_words *bwrap_cause_words(enum bwrap_cause cause);
enum bwrap_cause bwrap_cause_of(enum sys_userns_obstacle obstacle);
