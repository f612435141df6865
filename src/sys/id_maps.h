/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Mapping ids into a user namespace of our own. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns 1 if this process may map these ids, and root, into a namespace that it makes; 0 if not (in a container they may not exist);
 * -errno if it could not find out. */
int sys_may_map_ids(uint32_t first, uint32_t count);

enum sys_ids_obstacle {
	SYS_IDS_NONE,
	SYS_IDS_NO_NAMESPACE, /* errnum says why */
	SYS_IDS_NO_HELPER,    /* newgidmap(1) is not installed */
	SYS_IDS_REFUSED,      /* by newgidmap; `said` is its message */
};

struct sys_ids_failure {
	enum sys_ids_obstacle obstacle;
	int errnum;
	char said[160];
};

/* Makes a user namespace that maps our user and group and these groups to themselves. Only newgidmap(1), which is
 * setuid, may map other groups, and only if /etc/subgid allows it. Returns a descriptor, owned by the caller, or a
 * negative value with the failure. Takes some milliseconds. */
int sys_make_user_ns(const uint32_t *groups, size_t n, struct sys_ids_failure *ret);
