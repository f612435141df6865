/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/ids.h"

#include "sys/probe.h"
#include "sys/raw.h"

#include <linux/capability.h>
#include <stdio.h>
#include <string.h>

/* Whether one line of the map of our own namespace has all of these ids. The kernel wants no more than that. */
static bool has_ids(const char *map, uint32_t first, uint32_t count)
{
	char text[4096];
	if (sys_read_small(map, text, sizeof text) <= 0)
		return false;
	for (const char *line = text; *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : "") {
		unsigned long inside = 0, outside = 0, n = 0;
		if (sscanf(line, "%lu %lu %lu", &inside, &outside, &n) == 3 && first >= inside &&
		    (uint64_t)first + count <= (uint64_t)inside + n)
			return true;
	}
	return false;
}

static bool has_capabilities(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct caps[2] = {{0}};
	const uint32_t wanted = 1u << CAP_SETUID | 1u << CAP_SETGID | 1u << CAP_CHOWN;
	return raw_call2(__NR_capget, &head, caps) == 0 && (caps[0].effective & wanted) == wanted;
}

bool sys_may_map_ids(uint32_t first, uint32_t count)
{
	return has_capabilities() && has_ids("/proc/self/uid_map", first, count) &&
	       has_ids("/proc/self/gid_map", first, count);
}
