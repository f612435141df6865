/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Capture by copy, for where no layer can be put over a root: the root is copied before the run, the command writes to the
 * real one, and what is different afterwards is the change set.
 *
 *   copy_measure(root, run_dir, &size, err)            what a copy would cost; changes nothing
 *   copy_take(root, to, &limits, &origins, err)        before the run, each root
 *   set->roots[i].copy = …; set->origins = &origins;
 *   change_scan(set, …), gate_judge(set, …)            after it: the live tree against the copy
 *   copy_adopt(set, run_dir, err)                      the set is now one that was applied: before/ has what was there
 *   apply_execute(undo)                                and whatever must not stay is undone like any other
 *
 * So there is nothing new to get right about putting back: no path of the live tree is touched but by a transaction.
 */
#pragma once

#include "change/change.h"

/* What an entry of a copy was made of. The copy itself can always be read by its owner; the mode is the true one. */
struct copy_origin {
	uint64_t inode; /* of the copy */
	uint64_t from_inode;
	int64_t from_ctime_ns;
	uint32_t mode; /* permission bits */
	uint32_t zero;
};

struct copy_origins {
	struct copy_origin *v; /* sorted by inode once all is copied */
	size_t n, cap;
	uint64_t bytes; /* that had to be copied: those shared with the original do not count */
	/* Which paths there were when a mirror was made: checksums of root number and path, sorted once all is copied. */
	uint64_t *paths;
	size_t n_paths, cap_paths;
	size_t unread;	    /* entries of others that a mirror lacks, because we may not read them */
	char unread_of[64]; /* the first of them, its end */
	size_t outside; /* files with another name that is not in the root: what the command writes there is not captured */
	char outside_of[64]; /* the first of them, its end */
};
#define COPY_ORIGINS_INIT                                                                                              \
	{                                                                                                              \
		0                                                                                                      \
	}
void copy_origins_done(struct copy_origins *o);
#define _cleanup_origins_ _cleanup_(copy_origins_done)

/* Both may be NULL and stand for nothing known. st is of the copy. */
bool copy_is_untouched(const struct copy_origins *o, const struct stat *st, const struct stat *now, int64_t started_ns);
void copy_true_mode(const struct copy_origins *o, struct stat *st);
const struct copy_origin *copy_find(const struct copy_origins *o, uint64_t inode);

struct copy_limits {
	uint64_t bytes, entries;
};
struct copy_size {
	uint64_t bytes; /* nothing where the file system can share them */
	uint64_t entries;
};

/* Adds up what a copy of root in run_dir, or in any directory of the same file system, would take. */
int copy_measure(const char *root, const char *state_dir, struct copy_size *total, struct airlock_error *err);

/* Copies root to the empty directory to. AIRLOCK_ERR_LIMIT: more than that, all roots together; the rest of the message is
 * the caller's. AIRLOCK_ERR_UNAVAILABLE: something in it cannot be copied. */
int copy_take(const char *root, const char *to, const struct copy_limits *limits, struct copy_origins *origins,
	      struct airlock_error *err);

/* The same as a mirror: modes as they are, not opened up, and the paths are remembered. number: of the root. */
int copy_take_mirror(const char *root, const char *to, size_t number, const struct copy_limits *limits,
		     struct copy_origins *origins, struct airlock_error *err);
/* The path was there when the mirror was made. */
bool copy_knew(const struct copy_origins *o, size_t root, const char *path);

int copy_save(const struct copy_origins *o, const char *file, struct airlock_error *err);
int copy_load(struct copy_origins *o, const char *file, struct airlock_error *err);

/* adopt.c: what was there before goes to before/, every change is CHANGE_APPLIED and can be undone. The copies stay whole,
 * so that this can be done again after a crash; the live tree stays as it is, but for the attributes of the roots
 * themselves, which are put back. */
int copy_adopt(struct change_set *set, const char *run_dir, struct airlock_error *err);
/* Once the copies are gone: what lies in before/ has the ctime that it keeps. */
void copy_settle_images(struct change_set *set, const char *run_dir);
