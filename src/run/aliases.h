/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Other names of things that are to be hidden: where a file system, or a part of one, is mounted a second time,
 * everything in it has two. */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "plan/plan.h"
#include "policy/policy.h"

/* The list of mounts as the kernel tells it, and the mount points in it. */
int aliases_read_mounts(struct buf *ret_text, struct strs *ret_points, struct airlock_error *err);

/* For each of dirs (NULL-terminated) and of the paths that the policy hides, if it exists: where else it, or a part of it, can be found,
 * but for places the policy shows by a rule of their own. ret_paths and ret_originals (of which they are other names) belong
 * together by position. mountinfo is the text that aliases_read_mounts gives. */
int aliases_find_in(const char *mountinfo, const struct policy *policy, const struct plan_world *world,
		    const char *const *dirs, struct strs *ret_paths, struct strs *ret_originals,
		    struct airlock_error *err);
