/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The system calls of the first process, by name. Freestanding: no libc behind them. */
#pragma once

#include "sys/raw.h"

#include <linux/limits.h>
#include <stddef.h>
#include <stdint.h>

static inline long r_read(int fd, void *p, size_t n)
{
	return raw_call3(__NR_read, fd, p, n);
}

static inline long r_write(int fd, const void *p, size_t n)
{
	return raw_call3(__NR_write, fd, p, n);
}

static inline long r_open(const char *path, int flags)
{
	return raw_call4(__NR_openat, -100 /* AT_FDCWD */, path, flags, 0);
}

static inline long r_close(int fd)
{
	return raw_call1(__NR_close, fd);
}

static inline long r_close_from(unsigned first)
{
	return raw_call3(__NR_close_range, first, ~0u, 0);
}

static inline long r_dup3(int from, int to, int flags)
{
	return raw_call3(__NR_dup3, from, to, flags);
}

static inline long r_ioctl(int fd, unsigned long request, void *arg)
{
	return raw_call3(__NR_ioctl, fd, request, arg);
}

static inline long r_kill(int pid, int sig)
{
	return raw_call2(__NR_kill, pid, sig);
}

static inline long r_getpid(void)
{
	return raw_call0(__NR_getpid);
}

static inline long r_prctl(int op, unsigned long a)
{
	return raw_call5(__NR_prctl, op, a, 0, 0, 0);
}

__attribute__((noreturn)) static inline void r_exit(int status)
{
	for (;;)
		(void)raw_call1(__NR_exit_group, status);
}
