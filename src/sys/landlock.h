/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Landlock's interface as of today; linux/landlock.h on the build machine may be older. Each function returns ≥ 0 or
 * -errno. */
#pragma once

#include "sys/raw.h"

#include <stdint.h>

enum {
	SYS_LANDLOCK_EXECUTE = 1 << 0,
	SYS_LANDLOCK_WRITE_FILE = 1 << 1,
	SYS_LANDLOCK_READ_FILE = 1 << 2,
	SYS_LANDLOCK_READ_DIR = 1 << 3,
	SYS_LANDLOCK_REMOVE_DIR = 1 << 4,
	SYS_LANDLOCK_REMOVE_FILE = 1 << 5,
	SYS_LANDLOCK_MAKE_CHAR = 1 << 6,
	SYS_LANDLOCK_MAKE_DIR = 1 << 7,
	SYS_LANDLOCK_MAKE_REG = 1 << 8,
	SYS_LANDLOCK_MAKE_SOCK = 1 << 9,
	SYS_LANDLOCK_MAKE_FIFO = 1 << 10,
	SYS_LANDLOCK_MAKE_BLOCK = 1 << 11,
	SYS_LANDLOCK_MAKE_SYM = 1 << 12,
	SYS_LANDLOCK_REFER = 1 << 13,	  /* version 2 */
	SYS_LANDLOCK_TRUNCATE = 1 << 14,  /* version 3 */
	SYS_LANDLOCK_IOCTL_DEV = 1 << 15, /* version 5 */
	SYS_LANDLOCK_BIND_TCP = 1 << 0,	  /* version 4, of `net` */
	SYS_LANDLOCK_CONNECT_TCP = 1 << 1,
	SYS_LANDLOCK_SCOPE_ABSTRACT = 1 << 0, /* version 6, of `scoped` */
	SYS_LANDLOCK_SCOPE_SIGNAL = 1 << 1,
};

struct sys_landlock_ruleset {
	uint64_t fs, net, scoped;
};

struct sys_landlock_beneath {
	uint64_t access;
	int32_t dir_fd;
} __attribute__((packed));

/* The version of the interface, or -errno if there is none or it is disabled. */
static inline long sys_landlock_version(void)
{
	return raw_call3(__NR_landlock_create_ruleset, 0, 0, 1);
}

/* `size`: how much of the structure this version defines. */
static inline long sys_landlock_create(const struct sys_landlock_ruleset *r, unsigned long size)
{
	return raw_call3(__NR_landlock_create_ruleset, r, size, 0);
}

static inline long sys_landlock_add(int ruleset, const struct sys_landlock_beneath *rule)
{
	return raw_call4(__NR_landlock_add_rule, ruleset, 1, rule, 0);
}
