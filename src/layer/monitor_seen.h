/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A bounded set of numbers for monitor.c: the hashes of the paths that have been counted. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MONITOR_SEEN_MAX 65536

struct monitor_seen {
	uint64_t *slots; /* open addressing; 0 is free, 1 was used once */
	size_t n, used, cap;
};

/* 1: added, 0: already there, -ENOSPC: there are MONITOR_SEEN_MAX, -ENOMEM. */
int monitor_seen_add(struct monitor_seen *s, uint64_t key);
void monitor_seen_remove(struct monitor_seen *s, uint64_t key);
void monitor_seen_done(struct monitor_seen *s);
uint64_t monitor_seen_key(size_t root, const char *path);
