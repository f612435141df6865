/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Looking at the sandbox's processes through /proc, for limits the kernel does not enforce here and for killing a tree
 * that has no pid namespace. Freestanding. */
#pragma once

#include <stdint.h>

struct watch_totals {
	int64_t processes; /* threads count, as they do for RLIMIT_NPROC */
	int64_t memory;	   /* bytes of anonymous and shared memory */
};

/* Sums over every process in /proc but pid 1, or over the descendants of `ancestor` when it is not 0. Pages shared
 * after fork are counted once only when the cheap sum exceeds `limit`, because exact numbers are slow to get. */
struct watch_totals watch_measure(int ancestor, int64_t limit);

/* Signals every descendant of `ancestor`, itself excluded. */
void watch_signal_descendants(int ancestor, int sig);
