/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the files of the scan share; only for src/change/scan*.c and renames.c. */
#pragma once

#include "change/change.h"
#include "change/scan/compare.h"
#include "change/scan/copy.h"
#include "fs/walk.h"
#include "layer/upper.h"

/* What is known of the live tree at one place. */
enum scan_live {
	SCAN_ABSENT,
	SCAN_PRESENT,
	SCAN_HIDDEN, /* a directory above it may not be searched: nobody can tell */
};

/* A directory of the upper that is being walked, beside the live one. */
struct scan_level {
	bool entries_changed; /* some direct entry is reported */
	enum scan_live live;
	int live_fd; /* O_PATH; -EBADF when there is none, or when deeper levels needed the descriptor */
	struct stat live_st, upper_st;
	struct upper_dir marks;
	bool original;	  /* mirrored: a copy of the live directory at this very path */
	bool opaque;	  /* this directory or one above it hides the live tree's content */
	bool unlocked;	  /* upper_st's mode must be put back */
	unsigned differs; /* of the directory itself, present on both sides */
};

/* A file that the command only gave another name. */
struct scan_link {
	uint64_t inode; /* in the layer */
	char *path;
};

struct scan {
	struct change_set *set;
	struct notes *notes;
	size_t n_notes;
	struct airlock_error *err;
	struct compare compare;

	size_t root;   /* the one being scanned */
	size_t first;  /* where its changes begin in the set */
	bool in_place; /* captured by copy: live is the copy, and upper the whole tree that the command worked on */
	bool mirror;   /* upper is a whole copy of live, made before the run, in which the command worked */
	struct scan_link
		*links; /* files of the layer with several names that are as they were; of the root being scanned */
	size_t n_links, cap_links;
	int live_root;
	struct fs_walk upper;
	struct scan_level *levels; /* one for each of the walk's */
	size_t depth, cap;
};

/* ── scan.c ── */

/* Appends a change at path; before and after are NULL for nothing. Sets everything but `opaque` and `copied_up`.
 * NULL: out of memory, already told. */
struct change *scan_report(struct scan *s, const char *path, enum change_kind kind, const struct stat *before,
			   const struct stat *after);
/* Whether the command gave it to somebody else; where owners count. */
bool scan_changes_owner(const struct scan *s, const struct change *c);
/* Sets setid_dropped and reason from before, after and kind. 0 or a code. */
int scan_judge_setid(struct scan *s, struct change *c);
/* Notes the first paths that could not be read, and what follows from it; then they are counted. path NULL: out of memory. */
void scan_note(struct scan *s, const char *path, int errnum, enum airlock_note_code consequence);
/* The error of a call on the layer's own entry; path relative to the root, may be NULL. Returns its code. */
int scan_fail(struct scan *s, int errnum, const char *op, const char *path);

/* Whether a failure on the live side is our own lack of memory or descriptors, which must not be taken for the live tree's
 * state; and the error for it. */
bool scan_is_shortage(int rc);
int scan_shortage(struct scan *s, int rc, const char *path);

#define SCAN_NOTES_MAX 50

/* ── scan_acls.c ── */

/* The entry the walk is at, which differs from the live one: notes when the ACL's entries of others are gone. */
void scan_note_acl(struct scan *s, const char *path);
/* The same for directories that the command moved; after the renames are found. 0 or a code. */
int scan_note_moved_acls(struct scan *s);

/* ── scan_levels.c ── */

struct scan_level *scan_top(const struct scan *s);
int scan_push(struct scan *s, const struct scan_level *l); /* takes live_fd, also on failure. 0 or -ENOMEM */
/* Takes the top level off; the caller deals with what it says. The one below can look at the live tree again. */
struct scan_level scan_pop(struct scan *s);
void scan_levels_done(struct scan *s);
/* A copy may have been given permissions that the original did not have. */
void scan_true_mode(const struct scan *s, struct stat *st);
/* lstat of name in the live directory of the top level. */
enum scan_live scan_look_live(struct scan *s, const char *name, struct stat *ret);

/* ── mirror.c ── */

/* True if the copy is as it was made. */
bool mirror_is_untouched(const struct change_set *set, const struct stat *copy);
/* The directory at path is the copy of what was at path. live: NULL when nothing is there now. */
bool mirror_is_original(const struct change_set *set, size_t root, const char *path, const struct stat *copy,
			const struct stat *live);

/* ── scan_deleted.c ── */

/* Reports the live entry name of the top level, at path, as deleted, and everything in it. 0 or a code. */
int scan_delete(struct scan *s, const char *name, const char *path, const struct stat *live);
/* Everything in a live directory that something else has replaced. */
int scan_delete_content(struct scan *s, const char *name, const char *path);
/* The entries of the top level's live directory that its upper one, being opaque, no longer has. */
int scan_delete_hidden(struct scan *s);

/* ── scan_links.c ── */

/* The unchanged file at path has several names in the layer. 0 or a code. */
int scan_remember_link(struct scan *s, const char *path, const struct stat *upper);
/* Writes down which new files are other names of unchanged ones; forgets them all. 0 or a code. */
int scan_find_links(struct scan *s);

/* ── renames.c ── */

/* Turns pairs of a deleted and an added file with the same content into renames. 0 or a code. */
int scan_find_renames(struct scan *s);
