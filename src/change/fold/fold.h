/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The layers of several commands as one change set.
 *
 *   fold_layer(upper, oldest, FOLD_LINK, &below, err);       for every layer, from the oldest on
 *   fold_layer(upper, newest, FOLD_LINK, &below, err);
 *   change_scan(set, &notes, err);                           what differs from the project now
 *   fold_rebase(set, &bases, err);                           … and from what each path was when it was first touched
 *
 * A command of a session works on the layers of the commands before it. Merged into one layer they can be looked at, judged,
 * applied and undone like the layer of a single run.
 */
#pragma once

#include "change/change.h"

/* How files get into the merged layer. A link shares the file with the layer it is from: good for looking. What is applied
 * becomes a file of the project, and must be a copy. */
enum fold_files { FOLD_LINK, FOLD_COPY };

/* Puts a layer onto another: what is in `onto` afterwards, over the directories `below`, shows what the two would show one over the
 * other. */
int fold_layer(const char *onto, const char *layer, enum fold_files how, const struct strs *below,
	       struct airlock_error *err);
/* True if one of these directories has a directory at path. */
bool fold_has_dir(const struct strs *below, const char *path);

/* Writes those changes of a set that still wait as layers below dir/upper, one for each root, in the order of the roots. Files are
 * linked. Roots without such a change get an empty layer. Returns how many changes there were, or a code. */
int fold_rest(const struct change_set *set, const char *dir, struct airlock_error *err);

/* The path of the layer of a root below a run's directory, or the like. NULL: out of memory. */
char *fold_upper_path(const char *dir, size_t root);

/* ── What was there before ── */

/* One path of the project as it was when the work first touched it. */
struct fold_base {
	size_t root; /* index into the roots of the bases */
	char *path;
	struct change_stat stat;
	uint64_t slot;	 /* its content is dir/bases/<slot>; 0: not kept */
	const char *dir; /* borrowed from the bases */
	size_t place;	 /* in which order they were added */
};

struct fold_root {
	char *path;
	uint64_t device, inode;
};

struct fold_bases {
	struct fold_root *roots;
	size_t n_roots;
	struct fold_base *v; /* sorted by root and path, each path once, once fold_bases_sort was called */
	size_t n, cap;
	struct strs dirs;
	int64_t started_ns; /* when the last of the commands began */
};
#define FOLD_BASES_INIT                                                                                                \
	{                                                                                                              \
		0                                                                                                      \
	}
void fold_bases_done(struct fold_bases *b);
#define _cleanup_bases_ _cleanup_(fold_bases_done)

/* After the scan of a command's layer: looks at every path it changed in the project, and writes that with the text files'
 * content to dir/base. */
int fold_bases_write(const struct change_set *set, const char *dir, struct airlock_error *err);
/* Reads dir/base and adds it. Of a path that is there twice the first one counts: load the oldest layer first. */
int fold_bases_load(struct fold_bases *b, const char *dir, struct airlock_error *err);
void fold_bases_sort(struct fold_bases *b);
/* NULL: the work did not touch it. */
const struct fold_base *fold_bases_find(const struct fold_bases *b, const char *root, const char *path);
/* Writes all of them to dir/base, with their content. */
int fold_bases_save(const struct fold_bases *b, const char *dir, struct airlock_error *err);
/* Writes what the changes of the set that still wait found in the project to dir/base. b: where their content is. */
int fold_bases_keep(const struct fold_bases *b, const struct change_set *set, const char *dir,
		    struct airlock_error *err);
/* The kept content; -errno, -ENOENT: none was kept. */
int fold_base_open(const struct fold_base *b);

/* Turns a scan against the project of now into one against the bases: `before` is what the path was when it was first touched, so
 * that what somebody else changed since is a conflict when it is applied, and what comes to nothing is left out. */
int fold_rebase(struct change_set *set, const struct fold_bases *bases, struct airlock_error *err);
