/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the files of the diff share: words, content, hunks. */
#pragma once

#include "change/change.h"

#define DIFF_MAX_CONTENT ((size_t)32 << 20) /* longer files are only said to differ */

/* ── Writing: diff_text.c ── */

struct diff_out {
	struct buf *text;
	bool colour;
	bool inert; /* nothing in it acts on a terminal */
};

/* Appends prefix and path as one name, quoted like git does it when a byte of it needs that. */
void diff_add_name(struct buf *b, const char *prefix, const char *path);

/* A line of a header, bold; a line for people, which git and patch pass over. */
void diff_header(const struct diff_out *o, const char *fmt, ...) AL_PRINTF(2, 3);
void diff_comment(const struct diff_out *o, const char *fmt, ...) AL_PRINTF(2, 3);

/* Hunks as diff(1) prints them. */
void diff_hunks(const struct diff_out *o, const char *hunks, size_t len);

/* The one hunk of a file that is wholly new ('+') or gone ('-'). Nothing for an empty one. */
void diff_add_whole(struct buf *hunks, char sign, const struct buf *content);

/* ── Content: diff_source.c ── */

struct diff_trees;
/* The live tree, the layer, and run_dir/before (or the layer again) for what is applied. NULL: out of memory. */
struct diff_trees *diff_trees_open(const struct change_set *set, const char *run_dir);
void diff_trees_close(struct diff_trees *trees);
struct diff_source diff_trees_source(struct diff_trees *trees);

/* Reads what fd gives, at most DIFF_MAX_CONTENT (-EFBIG). Takes fd, which may be -errno and is then returned. */
int diff_read(int fd, struct buf *ret);

/* ── Hunks: diff_run.c ── */

/* The lines in which the two differ, as hunks; they do differ. AIRLOCK_ERR_TIMEOUT: they differ in too much.
 * AIRLOCK_ERR_UNAVAILABLE: there is no diff(1). */
int diff_run(const struct buf *before, const struct buf *after, struct buf *hunks, struct airlock_error *err);
