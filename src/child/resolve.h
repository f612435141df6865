/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where a path of the command leads: by asking the kernel, in the same mounts and with the same identity. Nothing is opened
 * but for its name (O_PATH): no fifo waits, no device notices. Freestanding. */
#pragma once

#include <linux/limits.h>
#include <stddef.h>

struct resolved {
	char path[PATH_MAX]; /* absolute, without symlinks; what is missing as it was written */
	size_t len;
	size_t first_missing; /* length up to the first name that is missing; len when one only, or when it exists */
	unsigned type;	      /* S_IFMT bits; 0: it does not exist */
};

/* follow: also a symlink at the end. -errno where nothing can be said. */
long resolve_path(int base, const char *path, int follow, struct resolved *ret);
