/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The process that waits for the answer to its system call (notify.h): its arguments and its view. Its other threads
 * may change its memory at any time: what is read here says what it asked for, and must not decide anything.
 * Freestanding. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* A string in its memory, at most PATH_MAX bytes with its end. 0 or -errno. */
long caller_read_string(int pid, uint64_t address, char *out);
/* Two of them; out has room for PATH_MAX bytes each. 0 or -errno. */
long caller_read_strings(int pid, const uint64_t address[2], char *out[2]);
/* Bytes in its memory; all of them, or -errno. */
long caller_read(int pid, uint64_t address, void *out, size_t len);
/* The directory to which its paths are relative, its own or one of its descriptors, as a path in /proc. Returns the length. */
#define CALLER_BASE_BYTES 64
size_t caller_base_path(int pid, int dir_fd, char *out);
/* The same, opened: O_PATH, or -errno. */
long caller_open_base(int pid, int dir_fd);
/* Its name (comm), not terminated. Returns the length, 0 if unknown. */
size_t caller_read_name(int pid, char *out, size_t size);
/* True if our mount namespace and our root are its own. */
int caller_shares_root(int pid);
/* True if it is in our mount namespace. In another one its paths mean other things. */
int caller_shares_mounts(int pid);
