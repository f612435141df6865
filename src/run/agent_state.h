/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What an agent leaves in its state in the home: files and directories stay, the rest goes.
 *
 *   agent_state_begin(&mark, job, run_id, now, err);     before it starts; also settles runs that were cut short
 *   agent_state_end(&mark, job, then);                   when nothing is mounted any more
 *   agent_mark_done(&mark);                              whatever happened
 */
#pragma once

#include "run/job.h"

struct agent_mark {
	int fd; /* of the locked file; negative: none */
	char *path;
};
#define AGENT_MARK_INIT                                                                                                \
	{                                                                                                              \
		.fd = -EBADF                                                                                           \
	}

/* Does nothing for a run that is no agent. */
int agent_state_begin(struct agent_mark *m, const struct airlock_job *job, const char *run, int64_t since_ns,
		      struct airlock_error *err);
/* What the agent made in its state since then, other than files and directories, is removed: a symlink would lead the agent outside to
 * write elsewhere. So are setuid bits. */
void agent_state_end(struct agent_mark *m, const struct airlock_job *job, int64_t since_ns);
void agent_mark_done(struct agent_mark *m);
