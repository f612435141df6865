/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The process that waits for an answer to a system call it made (notify.h): what it said, and from where. Its memory
 * may be changed by its other threads at any time: what is read here says what it asked for, and must decide nothing.
 * Freestanding. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* A string in its memory, at most PATH_MAX bytes with the end. 0 or -errno. */
long caller_read_string(int pid, uint64_t address, char *out);
/* Bytes in its memory; all of them, or -errno. */
long caller_read(int pid, uint64_t address, void *out, size_t len);
/* The directory its paths are relative to: its own, or one of its descriptors. O_PATH, or -errno. */
long caller_open_base(int pid, int dir_fd);
/* Its name (comm), not terminated. Returns the length, 0 when it is not known. */
size_t caller_read_name(int pid, char *out, size_t size);
/* Are our mount namespace and our root its own? */
int caller_shares_root(int pid);
/* Is it in our mount namespace? In another one its paths mean other things. */
int caller_shares_mounts(int pid);
