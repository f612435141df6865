/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `airlock diff`. */
#include "session/decided.h"

#include "base/error.h"

int airlock_changes_diff(const struct airlock_settings *s, const char *run, const char *const *paths, int colour,
			 char **ret_text, struct airlock_error *err)
{
	_cleanup_decided_ struct decided d = DECIDED_INIT;
	struct buf out = BUF_INIT;
	int rc = decided_open(&d, s, run, DECIDED_TO_LOOK, err);
	if (rc == 0) {
		struct diff_options options = {.colour = colour != 0, .run_dir = d.run.dir};
		rc = diff_write(d.run.set, paths, &options, &out, err);
	}
	*ret_text = rc == 0 ? buf_take(&out) : NULL;
	buf_done(&out);
	return rc < 0 ? rc : *ret_text ? 0 : base_oom(err);
}
