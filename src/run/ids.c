/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/ids.h"

#include "base/error.h"
#include "base/other_ids.h"
#include "run/layers.h"
#include "sys/id_maps.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

int ids_decide_others(struct airlock_job *job, struct airlock_error *err)
{
	job->plan->ids.others = false;
	if (!job->backend->maps_ids || !layers_wanted(job) || geteuid() != 0 || getegid() != 0)
		return 0;
	int rc = sys_may_map_ids(IDS_FIRST, IDS_COUNT);
	if (rc < 0)
		return base_errno(err, AIRLOCK_ERR_IO, -rc, "read", "/proc/self/uid_map and gid_map");
	job->plan->ids.others = rc > 0;
	return 0;
}

/* The groups of our own roots, each once. False: they are more than can be had. */
static bool collect_groups(const struct airlock_job *job, struct plan_ids *ret)
{
	struct stat st;
	ret->n_groups = 0;
	for (size_t i = 0; i < job->plan->roots.n; i++) {
		if (stat(job->plan->roots.v[i], &st) < 0 || st.st_uid != geteuid() || st.st_gid == getegid())
			continue;
		bool known = false;
		for (size_t k = 0; k < ret->n_groups; k++)
			known = known || ret->groups[k] == st.st_gid;
		if (!known && ret->n_groups == PLAN_GROUPS_MAX)
			return false;
		if (!known)
			ret->groups[ret->n_groups++] = st.st_gid;
	}
	return ret->n_groups > 0;
}

static void describe(const struct sys_ids_failure *f, uint32_t group, char *ret, size_t size)
{
	switch (f->obstacle) {
	case SYS_IDS_NONE:
		return;
	case SYS_IDS_NO_NAMESPACE:
		(void)snprintf(ret, size, "no user namespace could be made for it (%s)", strerror(f->errnum));
		return;
	case SYS_IDS_NO_HELPER:
		(void)snprintf(
			ret, size,
			"newgidmap, which could make it known inside, is not installed (package uidmap; and /etc/subgid must have %u:%u:1)",
			geteuid(), group);
		return;
	case SYS_IDS_REFUSED:
		(void)snprintf(
			ret, size,
			"newgidmap does not make it known inside (%s). An administrator allows it with the line %u:%u:1 in /etc/subgid",
			f->said, geteuid(), group);
		return;
	}
}

bool ids_map_groups(struct airlock_job *job, struct capture_choice *choice)
{
	struct plan_ids ids = {0};
	struct sys_ids_failure failure;
	if (!collect_groups(job, &ids)) {
		(void)snprintf(choice->detail, sizeof choice->detail, "the roots have more than %d groups",
			       PLAN_GROUPS_MAX);
		return false;
	}
	int fd = sys_make_user_ns(ids.groups, ids.n_groups, &failure);
	if (fd < 0) {
		describe(&failure, ids.groups[0], choice->detail, sizeof choice->detail);
		return false;
	}
	job->user_ns_fd = fd;
	/* bwrap makes a namespace of its own in this one, with our own ids only. */
	if (job->backend->maps_ids)
		job->plan->ids = ids;
	return true;
}

void ids_forget_groups(struct airlock_job *job)
{
	if (job->user_ns_fd > 0)
		(void)close(job->user_ns_fd);
	job->user_ns_fd = 0;
}
