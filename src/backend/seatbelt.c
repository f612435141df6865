/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* macOS: sandbox-exec with a profile made from the plan. The profile is made on every system, so that it can be read
 * and tested; running it needs macOS and a first process for macOS, which this build does not have. */
#include "backend/seatbelt_profile.h"
#include "backend/spawn.h"

static int probe(const struct backend_context *ctx, struct airlock_error *err)
{
	base_error(err, AIRLOCK_ERR_UNAVAILABLE, "backend", "seatbelt",
		   "backend \"seatbelt\" needs macOS: it cannot run anything here");
	return base_hint(err, "use --backend auto; `airlock explain --backend seatbelt` shows its profile anywhere");
}

static int describe(const struct backend_context *ctx, const struct plan *plan, struct strs *ret,
		    struct airlock_error *err)
{
	strs_add(ret, "/usr/bin/sandbox-exec");
	strs_add(ret, "-f");
	strs_add(ret, "airlock.sb");
	strs_add_all(ret, &plan->argv);
	return ret->failed ? base_oom(err) : 0;
}

static struct backend_isolation isolation(const struct backend_context *ctx, const struct plan *plan)
{
	return (struct backend_isolation){.filesystem = AIRLOCK_GRADE_NONE}; /* nothing runs in it here */
}

static int spawn(const struct backend_context *ctx, const struct plan *plan, const struct backend_fds *fds,
		 pid_t *ret_pid, struct airlock_error *err)
{
	return probe(ctx, err);
}

const struct backend backend_seatbelt = {
	"seatbelt", probe, describe, isolation, spawn, .in_place = true, .profile = seatbelt_profile};
