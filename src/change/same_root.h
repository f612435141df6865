/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whether a root is still the directory that a run began in, and what inode numbers say there.
 *
 *   if (!same_root(fd, &st, &(struct same_root_key){r->device, r->inode, set->started_ns})) …it was replaced…
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct same_root_key {
	uint64_t device, inode;
	int64_t read_ns; /* when both were read */
};

/* st is that of fd, which may be O_PATH. */
bool same_root(int fd, const struct stat *st, const struct same_root_key *key);
/* True on a FUSE file system whose inode numbers are made up by its library (sshfs, s3fs): they change when it is mounted again,
 * or when memory is short, and say nothing about which file it is. */
bool has_made_up_inodes(int fd);
