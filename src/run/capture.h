/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whether changes can be captured in layers here: decided before the run, and by the same probe for `doctor`.
 *
 * An overlay is mounted for real (sys_probe_overlay), with its upper directory in the state directory and the project below it.
 * That it worked is remembered in the state directory for this boot and these two file systems, so that a usual start reads one
 * small file. That it did not work is never remembered: whoever repairs the machine need not know of a file to remove.
 */
#pragma once

#include "run/job.h"

#define CAPTURE_CACHE_NAME "layers.probe"

enum capture_obstacle {
	CAPTURE_FREE,
	CAPTURE_FOREIGN_GROUP, /* of a root: the user namespace does not know it, so nothing could be copied up; detail: why not */
	CAPTURE_FOREIGN_OWNER, /* the same for its owner, where we may write in it: a directory that people share */
	CAPTURE_NO_OVERLAY,    /* not with this state directory and this root */
};

struct capture_choice {
	enum capture_obstacle obstacle;
	const char *root; /* borrowed from the plan */
	int errnum;	  /* of CAPTURE_NO_OVERLAY, with the step in detail */
	char detail[512];
};

/* For a job whose plan has layers. */
void capture_examine(const struct airlock_job *job, struct capture_choice *ret);
/* The same where the user namespace knows the groups of the roots. */
void capture_examine_grouped(const struct airlock_job *job, struct capture_choice *ret);

/* Whether an overlay over this directory can have its upper directory in the state directory. */
bool capture_can_layer(const struct host *host, const char *dir);

/* True the first time for this root and obstacle: then a person is told. */
bool capture_tell_once(const struct host *host, const struct capture_choice *choice);
/* The sentence for a person. */
void capture_describe(const struct airlock_job *job, const struct capture_choice *choice, struct buf *ret);

/* The next run tries again: because one could not mount its layers after all, or because somebody asks the doctor. */
void capture_forget(const char *state_dir);
