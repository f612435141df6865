/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/capture.h"

#include "base/hash.h"
#include "base/path.h"
#include "fs/fs.h"
#include "sys/probe.h"
#include "sys/raw_overlay.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#define FORMAT "airlock layers probe 1"
#define MAX_FILE 4096

/* The cache key: everything the answer depends on, in one line. Device numbers hold until the next boot; the release
 * tells if the kernel's modules are the same. "" if unknown. */
static void make_key(const char *state_dir, const char *root, struct buf *ret)
{
	struct stat state, project;
	struct utsname kernel;
	char boot[64];
	if (stat(state_dir, &state) < 0 || stat(root, &project) < 0 || uname(&kernel) < 0 ||
	    sys_read_small("/proc/sys/kernel/random/boot_id", boot, sizeof boot) <= 0)
		return;
	boot[strcspn(boot, "\n")] = '\0';
	buf_printf(ret, FORMAT " %s %s %u %d %" PRIuMAX " %" PRIuMAX "\n", boot, kernel.release, geteuid(),
		   raw_may_mount(), (uintmax_t)state.st_dev, (uintmax_t)project.st_dev);
}

static void read_cache(const char *file, char *ret, size_t size)
{
	struct stat st;
	_cleanup_close_ int fd = open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool ours = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid();
	ssize_t n = ours ? read(fd, ret, size - 1) : 0;
	ret[n > 0 ? n : 0] = '\0';
}

/* Each pair of file systems that worked is a line; those of an earlier boot go when there is no more room. */
static void remember(const char *file, const char *old, const struct buf *key)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	struct airlock_error ignored = {0};
	buf_add(&text, key->data, key->len);
	if (strlen(old) + key->len < MAX_FILE)
		buf_adds(&text, old);
	if (!text.failed)
		(void)fs_write_private_file(file, text.data, text.len, &ignored);
}

/* Whether an overlay over root can have its upper directory in the state directory. */
static void examine_root(const struct host *host, const char *root, struct sys_probe *ret)
{
	_cleanup_free_ char *file = path_join(host->state_dir, CAPTURE_CACHE_NAME);
	_cleanup_buf_ struct buf key = BUF_INIT;
	struct airlock_error ignored = {0};
	char known[MAX_FILE] = "";
	*ret = (struct sys_probe){.works = true};
	make_key(host->state_dir, root, &key);
	if (file)
		read_cache(file, known, sizeof known);
	if (key.len > 0 && !key.failed && strstr(known, buf_str(&key)))
		return;
	/* Ignore errors of the directory itself: the run reports them better. */
	if (fs_make_private_dir(host->state_dir, &ignored) < 0)
		return;
	sys_probe_overlay(host->state_dir, root, ret);
	if (key.len == 0)
		make_key(host->state_dir, root, &key);
	if (ret->works && file && key.len > 0 && !key.failed)
		remember(file, known, &key);
}

bool capture_can_layer(const struct host *host, const char *dir)
{
	struct sys_probe p = {.works = true};
	examine_root(host, dir, &p);
	return p.works;
}

/* Only for directories we may write in: elsewhere nothing can be applied, and an overlay is enough for reading. */
static enum capture_obstacle foreign_ids(const char *root)
{
	struct stat st;
	if (geteuid() == 0 || stat(root, &st) < 0 || (st.st_uid == geteuid() && st.st_gid == getegid()))
		return CAPTURE_FREE;
	if (st.st_uid == geteuid())
		return CAPTURE_FOREIGN_GROUP;
	return faccessat(AT_FDCWD, root, W_OK, AT_EACCESS) == 0 ? CAPTURE_FOREIGN_OWNER : CAPTURE_FREE;
}

static void examine(const struct airlock_job *job, bool knows_groups, struct capture_choice *ret)
{
	*ret = (struct capture_choice){.obstacle = CAPTURE_FREE};
	for (size_t i = 0; i < job->plan->roots.n && ret->obstacle == CAPTURE_FREE; i++) {
		struct sys_probe p = {.works = true};
		ret->root = job->plan->roots.v[i];
		ret->obstacle = foreign_ids(ret->root);
		if (knows_groups && ret->obstacle == CAPTURE_FOREIGN_GROUP)
			ret->obstacle = CAPTURE_FREE;
		if (ret->obstacle != CAPTURE_FREE)
			continue;
		examine_root(&job->host, ret->root, &p);
		if (p.works)
			continue;
		ret->obstacle = CAPTURE_NO_OVERLAY;
		ret->errnum = p.errnum;
		(void)snprintf(ret->detail, sizeof ret->detail, "%s", p.detail);
	}
}

void capture_examine(const struct airlock_job *job, struct capture_choice *ret)
{
	examine(job, false, ret);
}

void capture_examine_grouped(const struct airlock_job *job, struct capture_choice *ret)
{
	examine(job, true, ret);
}

void capture_describe(const struct airlock_job *job, const struct capture_choice *choice, struct buf *ret)
{
	struct sys_fs state, project;
	switch (choice->obstacle) {
	case CAPTURE_FREE:
		return;
	case CAPTURE_FOREIGN_GROUP:
		buf_printf(
			ret,
			"changes are found by comparing with a copy of %s, which is made for each run: its group is not your own, an overlay cannot copy files of another group, and %s",
			choice->root, choice->detail);
		return;
	case CAPTURE_FOREIGN_OWNER:
		buf_printf(
			ret,
			"changes are found by comparing with a copy of %s, which is made for each run: it belongs to another user, and an overlay cannot copy their files. What the command changes becomes yours",
			choice->root);
		return;
	case CAPTURE_NO_OVERLAY:
		sys_fs_examine(job->host.state_dir, &state);
		sys_fs_examine(choice->root, &project);
		buf_printf(
			ret,
			"changes are found by comparing with a copy of %s (%s): overlays do not work with airlock's state on %s (%s); `airlock doctor` says more",
			choice->root, project.errnum ? "?" : project.type, state.errnum ? "?" : state.type,
			choice->detail);
		return;
	}
}

bool capture_tell_once(const struct host *host, const struct capture_choice *choice)
{
	_cleanup_free_ char *dir = path_join(host->state_dir, "told"), *file = NULL;
	struct airlock_error ignored = {0};
	struct stat st;
	uint64_t sum = hash_checksum(choice->root, strlen(choice->root)) + (uint64_t)choice->obstacle;
	if (!dir || asprintf(&file, "%s/copy-%016" PRIx64, dir, sum) < 0 || stat(file, &st) == 0)
		return !file;				    /* out of memory: better tell twice than never */
	(void)fs_write_private_file(file, "", 0, &ignored); /* or it is said once more */
	return true;
}

void capture_forget(const char *state_dir)
{
	_cleanup_free_ char *file = path_join(state_dir, CAPTURE_CACHE_NAME);
	if (file)
		(void)unlink(file);
}
