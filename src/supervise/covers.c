/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A hidden file has an empty file mounted over it. If someone on the host renames another file over the hidden one, or
 * removes it, the kernel removes the mount in every namespace, and the command could read the new file. We cannot
 * prevent that, only notice it: the table of mounts wakes whoever polls it. Then we hide the new file again. If that
 * is impossible, because the file is gone and may come back, we end the command. */
#include "supervise/supervise_state.h"

#include "base/path.h"
#include "child/cover.h"
#include "sys/mountinfo.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static size_t count_at_risk(const struct plan *plan)
{
	size_t n = 0;
	for (size_t i = 0; i < plan->n_mounts; i++)
		n += plan->mounts[i].uncoverable;
	return n;
}

/* It may have ended already; and a user who cannot see these processes (hidepid) has no table. */
static bool is_unseen(int errnum)
{
	return errnum == ENOENT || errnum == ESRCH || errnum == EINVAL || errnum == EACCES || errnum == EPERM;
}

int covers_open(struct supervise *s, pid_t pid, struct airlock_error *err)
{
	if (!(s->spec.plan->namespaces & PLAN_NS_MOUNT) || count_at_risk(s->spec.plan) == 0)
		return 0;
	char path[64];
	(void)snprintf(path, sizeof path, "/proc/%d/mountinfo", (int)pid);
	s->covers_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (s->covers_fd < 0 && !is_unseen(errno))
		return base_errno(err, AIRLOCK_ERR_INIT_FAILED, errno, "open", path);
	return 0;
}

static int read_table(int fd, struct buf *out)
{
	char part[4096];
	ssize_t n;
	if (lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	while ((n = read(fd, part, sizeof part)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		buf_add(out, part, (size_t)n);
	}
	return out->failed ? -ENOMEM : 0;
}

static bool is_mounted(char *table, const char *target)
{
	char point[PATH_MAX];
	for (char *line = table; line && *line; line = strchr(line, '\n'), line = line ? line + 1 : NULL)
		if (sys_mount_point(line, point, sizeof point) && strcmp(point, target) == 0)
			return true;
	return false;
}

/* If the new file can be hidden as well, the command continues. */
static bool cover(const struct supervise *s, const struct plan_mount *m)
{
	_cleanup_free_ char *empty = path_join(s->spec.ctx->data_dir, "empty");
	return empty && s->first_fd >= 0 && cover_again(s->first_fd, m->target, m->kind == PLAN_EMPTY_DIR, empty) == 0;
}

int covers_check(struct supervise *s, struct airlock_error *err)
{
	const struct plan *plan = s->spec.plan;
	_cleanup_buf_ struct buf table = BUF_INIT;
	int rc = read_table(s->covers_fd, &table);
	if (rc < 0)
		return base_errno(err, AIRLOCK_ERR_IO, rc, "read", "the mounts of the sandbox");
	for (size_t i = 0; i < plan->n_mounts; i++) {
		const struct plan_mount *m = &plan->mounts[i];
		if (!m->uncoverable || is_mounted(table.data, m->target))
			continue;
		if (cover(s, m)) {
			s->result.covered_again = m->target;
			continue;
		}
		if (m->replaced_by_root)
			continue;
		base_error(
			err, AIRLOCK_ERR_CONFLICT, "hide", m->target,
			"airlock ended the command because %s, which is hidden from it, was replaced or removed on the host",
			m->target);
		return base_hint(err, "run it again: the new file will be hidden too");
	}
	return 0;
}
