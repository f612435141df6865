/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Noting what the command tries where the plan may refuse it: which path, symlinks resolved, for what.
 *
 * Nothing is decided here. Every call that is looked at goes on, whatever was found: what was read from the command's
 * memory may be something else by the time the kernel reads it. Whether the plan refuses what was noted is decided
 * when the run is over, by somebody else (src/denial). Freestanding.
 */
#pragma once

#include "child/child_job.h"
#include "child/seen.h"

#include <stddef.h>

struct observer {
	const struct child_job *job;
	struct child_seen_head *seen; /* NULL: nothing is recorded */
	unsigned missing;	      /* records of paths that do not exist */
	int failed;		      /* the memory file could not be made */
};

/* Maps the memory file of seen.h. Returns its descriptor, for the supervisor, or -errno. */
long observe_begin(struct observer *o, const struct child_job *job);

/* The calls to be notified of, besides renames and sendto; -1 after the last. */
int observe_number(size_t i);
/* True of these, and of renames and sendto. */
int observe_is(int nr);

struct seccomp_notif;
/* Returns whether the call is about a path on a mount where nothing is refused (granted.h). */
int observe_call(struct observer *o, int listener, const struct seccomp_notif *n);
