/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Examines the sandbox's processes through /proc, for limits that the kernel does not enforce here, and for killing a
 * tree without a pid namespace. Freestanding. */
#pragma once

#include <stdint.h>

struct watch_totals {
	int64_t processes; /* threads count, as they do for RLIMIT_NPROC */
	int64_t memory;	   /* bytes of anonymous and shared memory */
};

/* State kept between two looks. */
struct watch_history {
	int64_t machine_shared; /* shared memory of the whole machine at the last look; -1: cannot be read */
	int64_t own_shared;	/* the sandbox has at most this much, as far as looks can tell */
};

/* Before the command starts. */
void watch_begin(struct watch_history *h);

/* Sums over every process in /proc except pid 1, or over the descendants of `ancestor` if it is not 0. `limit` is the
 * memory limit, or negative: exact numbers are slow to get, so they are read only if a cheap sum exceeds it. */
struct watch_totals watch_measure(int ancestor, int64_t limit, struct watch_history *h);

/* Signals every descendant of `ancestor`, itself excluded. */
void watch_signal_descendants(int ancestor, int sig);

/* Signals every direct child of `parent` as soon as it is seen: a process that lives for a millisecond and leaves a
 * child is gone before a list of all processes is complete. */
void watch_signal_children(int parent, int sig);
