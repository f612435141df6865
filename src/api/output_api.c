/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The output of an earlier run. */
#include "history/past_run.h"

#include "airlock/airlock.h"
#include "base/error.h"
#include "base/path.h"

#include <assert.h>
#include <fcntl.h>

int airlock_output_open(const struct airlock_settings *s, const char *run, int is_stderr, int *ret_fd,
			struct airlock_error *err)
{
	struct past_run e;
	_cleanup_free_ char *id = NULL, *dir = NULL, *path = NULL;
	int rc = past_run_init(&e, s, err);
	if (rc == 0)
		rc = past_run_find(&e, run, &id, err);
	if (rc == 0) {
		dir = path_join(e.runs, id);
		path = dir ? path_join(dir, is_stderr ? "stderr" : "stdout") : NULL;
		rc = path ? 0 : base_oom(err);
	}
	past_run_done(&e);
	if (rc < 0)
		return rc;
	assert(path); /* base_oom fails */
	*ret_fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (*ret_fd < 0 && errno == ENOENT) /* the file is made when the first output comes */
		*ret_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return *ret_fd < 0 ? base_errno(err, AIRLOCK_ERR_IO, errno, "open", path) : 0;
}
