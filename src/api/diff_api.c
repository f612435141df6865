/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `airlock diff`. */
#include "history/past_run.h"

#include "base/error.h"

int airlock_changes_diff(const struct airlock_settings *s, const char *run, const char *const *paths, int colour,
			 char **ret_text, struct airlock_error *err)
{
	struct past_run e;
	struct buf out = BUF_INIT;
	int rc = past_run_open(&e, s, run, err);
	if (rc == 0) {
		struct diff_options options = {.colour = colour != 0, .run_dir = e.dir};
		rc = diff_write(e.set, paths, &options, &out, err);
	}
	past_run_done(&e);
	*ret_text = rc == 0 ? buf_take(&out) : NULL;
	buf_done(&out);
	return rc < 0 ? rc : *ret_text ? 0 : base_oom(err);
}
