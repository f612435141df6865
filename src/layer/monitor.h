/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Watching upper directories fill while the command runs: how many files differ so far, and which came last.
 *
 *   struct monitor *m = NULL;
 *   if (monitor_open(uppers, n, &m) == 0)            else there is simply no progress to show
 *           …poll monitor_fd(m) for reading…
 *   monitor_read(m);                                 whenever it is readable
 *   monitor_count(m); monitor_latest(m, paths, 3);
 *   monitor_close(m);
 *
 * For progress only: the scan after the run decides what changed. So everything here gives up gracefully: memory is bounded,
 * a lost event, a full table or a used-up quota of watches makes it count by walking instead. The command is alive and
 * hostile meanwhile: no symlink is followed, no call waits for it, the work of one call is bounded.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct monitor;

/* The directories are those of the roots, in their order. 0 or -errno: -EMFILE, -ENOSPC if the user's quota is used
 * up. */
int monitor_open(const char *const *uppers, size_t n, struct monitor **ret);
void monitor_close(struct monitor *m); /* NULL is fine */

int monitor_fd(const struct monitor *m);
void monitor_read(struct monitor *m);

/* Files, symlinks and deletions in the layers; directories do not count. */
uint64_t monitor_count(struct monitor *m);
/* False once it counts by walking, which happens now and then and has a limit. */
bool monitor_is_exact(const struct monitor *m);

struct monitor_path {
	size_t root;
	const char *path; /* relative to it; borrowed until the next monitor_read */
};
#define MONITOR_LATEST 8
/* The last paths that changed, newest first. Returns how many, at most max and MONITOR_LATEST. */
size_t monitor_latest(const struct monitor *m, struct monitor_path *ret, size_t max);
