/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "history/spare.h"

#include "base/macros.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/vfs.h>
#include <unistd.h>

/* A record of about a thousand changes. */
#define SPARE_BYTES (256 << 10)

static char *spare_path(const char *state_dir)
{
	return path_join(state_dir, "spare");
}

void spare_keep(const char *state_dir)
{
	_cleanup_free_ char *path = spare_path(state_dir);
	if (!path || access(path, F_OK) == 0)
		return;
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0 && fallocate(fd, 0, 0, SPARE_BYTES) < 0)
		(void)unlink(path);
}

int spare_check(const char *dir, struct airlock_error *err)
{
	struct statfs st;
	if (statfs(dir, &st) < 0)
		return base_errno(err, AIRLOCK_ERR_IO, errno, "statfs", dir);
	uint64_t blocks = geteuid() == 0 ? st.f_bfree : st.f_bavail;
	if (st.f_blocks == 0 || blocks * (uint64_t)st.f_bsize >= SPARE_BYTES) /* some network file systems do not say */
		return 0;
	base_errno(err, AIRLOCK_ERR_IO, ENOSPC, "capture changes in", dir);
	return base_hint(err, "make room there (`airlock gc` may), or point XDG_STATE_HOME to another disk");
}

bool spare_spend(const char *state_dir)
{
	_cleanup_free_ char *path = spare_path(state_dir);
	return path && unlink(path) == 0;
}
