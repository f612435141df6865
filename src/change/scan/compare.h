/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whether an entry of the layer and the live one differ, and in what. Both are of the same type. */
#pragma once

#include "base/buf.h"

#include <stdint.h>
#include <sys/stat.h>

enum {
	DIFFERS_CONTENT = 1, /* bytes of a file, target of a symlink */
	DIFFERS_MODE = 2,
	DIFFERS_MTIME = 4,
	DIFFERS_XATTR = 8, /* user xattrs but overlay's, and ACLs */
	DIFFERS_OWNER = 16,
};

/* Memory for comparing, used again and again; zero to begin with. */
struct compare {
	char *chunks; /* two of them, side by side */
	bool owners;  /* they count: the layer keeps them exactly */
	struct buf names[2], values[2];
};
void compare_done(struct compare *c);

struct compare_side {
	int dirfd;
	const char *name;
	const struct stat *st;
};

struct comparison {
	unsigned differs; /* DIFFERS_…; not all of them once the kind of change is clear */
	int live_errno;	  /* the live entry could not be read: what cannot be told counts as different */
};

/* upper must be readable (upper_unlock). -errno: the upper could not be read. */
int compare_entries(struct compare *c, const struct compare_side *upper, const struct compare_side *live,
		    struct comparison *ret);

/* Whether two open files of this size have the same bytes: 1, 0, or -errno for the first. A failure of the second makes
 * them different and is told in *ret_errno. Holes cost nothing when both have them. */
int compare_files(struct compare *c, int a, int b, uint64_t size, int *ret_errno);

#define COMPARE_END_SIZE 4096

/* A number that is the same for files of the same bytes, holes or not, and hardly ever for others. Reads the whole file,
 * or only its two ends. 0 or -errno. */
int compare_fingerprint(struct compare *c, int fd, uint64_t size, bool whole, uint64_t *ret);
