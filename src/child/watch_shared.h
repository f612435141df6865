/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How much shared memory belongs to the sandbox. Freestanding; for watch.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define WATCH_MEMORY_FILES 256

struct watch_shared {
	int64_t objects; /* bytes in memory files, System V segments and tmpfs, mapped or not */
	int64_t mapped; /* bytes of shared memory in the processes' address spaces, each page divided among those that map it */
	int hidden;			   /* some of it cannot be examined */
	uint64_t seen[WATCH_MEMORY_FILES]; /* inodes of memory files that are counted */
	size_t n_seen;
};

/* Adds the memory files that a process, or one of its threads, has open. `thread` may be any thread's number. */
void watch_shared_add_files(struct watch_shared *s, int thread);
/* Adds the tmpfs and the System V segments of the sandbox. */
void watch_shared_add_places(struct watch_shared *s);
/* The best estimate. `bound`: an upper limit, from the growth of the machine's shared memory. */
int64_t watch_shared_total(const struct watch_shared *s, int64_t bound);
