/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where a path of the command leads, according to the kernel, in the same mounts and with the same identity. Opens
 * everything with O_PATH only: no FIFO waits, no device notices. Freestanding. */
#pragma once

#include <linux/limits.h>
#include <stddef.h>

struct resolved {
	char path[PATH_MAX]; /* absolute, without symlinks; missing names as they were written */
	size_t len;
	size_t first_missing; /* length up to the first missing name; len if only one is missing, or none */
	unsigned type;	      /* S_IFMT bits; 0: it does not exist */
};

/* follow: also a symlink at the end. -errno if nothing can be said. */
long resolve_path(int base, const char *path, int follow, struct resolved *ret);
