/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The change set of a run: what its layer says differs from the live tree, as plain data.
 *
 *   change_scan(&base, &set, err)        the layer → every path whose final state differs (scan.c)
 *   gate_judge(set, rules, err)          sensitive ones are to be held (gate.c)
 *   conflict_check(&base, set, err)      what somebody else changed meanwhile (conflict.c)
 *   apply_…                              the live tree (apply.c)
 *   change_set_save / change_set_load    runs/<run>/changes
 *
 * Nothing here follows a symlink the sandbox could have made (I6): a path is walked beneath its root's fd, one
 * component at a time.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "base/notes.h"

#include <airlock/changes.h>

#include <stdint.h>
#include <sys/stat.h>

enum change_kind { CHANGE_ADDED, CHANGE_MODIFIED, CHANGE_DELETED, CHANGE_RENAMED, CHANGE_METADATA, CHANGE_TYPE };

enum change_type { CHANGE_NOTHING, CHANGE_FILE, CHANGE_DIRECTORY, CHANGE_SYMLINK, CHANGE_OTHER };

/* What the entry of one path is at one time. */
struct change_stat {
	enum change_type type : 16; /* CHANGE_NOTHING: not there, the rest is zero */
	uint16_t mode;		    /* permission bits with setuid, setgid, sticky */
	uint32_t links;
	uint64_t size, inode;
	int64_t mtime_ns, ctime_ns;
};

enum change_state {
	CHANGE_HELD,	  /* in the layer, waiting for a person; also every change before a decision */
	CHANGE_APPLIED,	  /* in the live tree; what was there before is kept with the run */
	CHANGE_CONFLICT,  /* somebody else changed the path since the run began */
	CHANGE_SKIPPED,	  /* never applied: a device, a socket */
	CHANGE_DISCARDED, /* thrown away */
};

enum change_verdict { CHANGE_APPLY, CHANGE_HOLD, CHANGE_SKIP };

/* A run may make hundreds of thousands: the small fields are together. */
struct change {
	char *path;    /* relative to the root, bytes; "" never */
	uint32_t root; /* index into the set's roots */
	enum change_kind kind : 8;
	enum change_type type : 8; /* of what is there now; of what was there for CHANGE_DELETED */
	enum change_verdict verdict : 8;
	enum change_state state : 8;
	char *from; /* CHANGE_RENAMED: the old path, same root; NULL otherwise */
	/* CHANGE_ADDED: the command made it as another name of this file, same root, which was there before and is as it
	 * was; NULL otherwise. The layer has a file of its own for it, whatever becomes of it. */
	char *link;
	struct change_stat before, after;
	struct airlock_owner owner_before, owner; /* if has_owner; before: the same when it was not there */
	bool opaque;				  /* a directory that replaces everything the old one had */
	bool setid_dropped;			  /* setuid and setgid of a file are not applied */
	/* Set only if the command changed the owner: to another than before, or, for a new entry, to another than the
	 * user who ran it. */
	bool has_owner;
	/* The layer's entry was copied from the live tree while the command ran: a directory from this very path, a file
	 * from here or, moved or linked by the command, from elsewhere. With before.type CHANGE_NOTHING, and for a file
	 * a live parent directory that was changed since the run began, somebody else has removed the original (I3). */
	bool copied_up;
	/* before was not seen by the scan but left by an undo or a roll back of ours, which gave it a later ctime than the
	 * run's start. Without this a later ctime is taken for somebody else's change. */
	bool settled;
	bool undone; /* was applied and undone: undoing once more applies it again */
	/* Why it is held, skipped or a conflict, or what was adjusted: reason.h. */
	uint32_t n_reasons;
	struct airlock_reason *reasons;
	/* Applied: what was there before is before/<slot>, for the old name of a rename before/<slot + 1>, or in the layer
	 * (change_find_image). 0: none. */
	uint64_t slot;
	/* ctime of the entry that waits to be live again: applied, the before-image; undone, what is in the layer. It tells
	 * whether somebody wrote to it there, through a descriptor from before. 0: not known. */
	int64_t image_ns;
	/* Of an index of git: checksums of what was staged in it before the run and is after it, 0: not known. `git status`
	 * writes the times it remembers of files into the index, and that is no change that anybody made. */
	uint64_t index_mark, index_mark_after;
};

struct change_root {
	char *path;		/* the live directory, real path */
	char *upper;		/* its layer: runs/<run>/upper/overlayN */
	uint64_t device, inode; /* of the live directory when the run began */
	/* Captured by copy (copy.h), until adopted: the directory as it was before the run, while the live one has what the
	 * command made of it. NULL: the live directory is as it was, and the layer has what changed. Not in the record. */
	char *copy;
	/* The tree that the layer lies on where that is not the live directory alone: layers of earlier commands over it, seen as
	 * one. 0: the live directory. Not in the record. */
	int below_fd;
	/* The layer is a whole copy of the root, in which the command worked (mirror.c); until it is pruned. Not in the record. */
	bool mirror;
};

/* A live directory in which an apply changed entries: its mtime without and with the run's changes. */
struct change_dir {
	size_t root;
	char *path; /* "" is the root */
	int64_t without_ns, with_ns;
};

/* What a set is to its session. */
enum change_part {
	CHANGE_PART_STEP, /* what one of its commands changed: decided with the session */
	CHANGE_PART_APART, /* the same, but it changed what another command had changed meanwhile: no part of the session's view */
	CHANGE_PART_WHOLE, /* what all of its commands changed */
};

struct change_set {
	char *run;
	struct change_root *roots;
	size_t n_roots;
	char *session; /* the session it belongs to; NULL: none */
	enum change_part part;
	bool direct;	    /* nothing was captured: the command wrote straight to the roots */
	int64_t started_ns; /* the ctime clock when the run began: a live entry with a later ctime was changed by others */
	struct change *v; /* sorted by root, then path_compare: parents before children */
	size_t n, cap;
	struct change_dir *dirs; /* sorted alike; kept by apply for undo and redo */
	size_t n_dirs;
	/* Captured by copy: live directories of which only the time differs. That is no change, and adopting puts the time back.
	 * Not in the record. */
	struct change_dir *idle;
	size_t n_idle;
	int64_t mirrored_ns; /* the clock of the layer's file system when the mirrors were complete */
	const struct copy_origins
		*origins; /* with roots that have a copy or are mirrored: what was copied; borrowed, may be NULL */
};

/* The trees of a root as it was without the run and as the command left it; the second only where something changed,
 * unless it was captured by copy. */
const char *change_root_before(const struct change_root *root);
const char *change_root_after(const struct change_root *root);

struct change_set *change_set_new(const char *run);
void change_set_free(struct change_set *set);
void change_set_freep(struct change_set **set);
#define _cleanup_changes_ _cleanup_(change_set_freep)
/* Borrowed strings are copied. Remembers which directory path is now, so this belongs before the run. */
int change_set_add_root(struct change_set *set, const char *path, const char *upper, struct airlock_error *err);
/* Appends; the caller sorts once at the end. The returned change is valid until the next append. NULL: out of memory. */
struct change *change_set_add(struct change_set *set, size_t root, const char *path);
struct change *change_set_take(struct change_set *set, size_t root, char *path); /* takes path, also on failure */
void change_done(struct change *c); /* frees what it holds; for callers that took it out of a set */
/* A root as it was remembered. Takes both strings, also on failure. 0 or -ENOMEM. */
int change_set_take_root(struct change_set *set, char *path, char *upper, uint64_t device, uint64_t inode);
/* A directory that an apply changed. Takes path, also on failure. 0 or -ENOMEM. */
int change_set_take_dir(struct change_set *set, size_t root, char *path, int64_t without_ns, int64_t with_ns);
int change_set_take_idle(struct change_set *set, size_t root, char *path, int64_t without_ns,
			 int64_t with_ns); /* likewise */
void change_set_sort(struct change_set *set);
struct change *change_set_find(struct change_set *set, size_t root, const char *path); /* sorted set; NULL: none */

enum airlock_changes_state change_set_state(const struct change_set *set);
const char *change_set_state_name(const struct change_set *set);

const char *change_kind_name(enum change_kind kind);
const char *change_type_name(enum change_type type); /* "file", "directory", "symlink", "other" */
const char *change_state_name(enum change_state state);

enum change_type change_type_of(mode_t mode);
struct change_stat change_stat_of(const struct stat *st);
/* lstat of one component, asking the server of a network file system again; CHANGE_NOTHING when it is not there. -errno. */
int change_stat_fresh(int dirfd, const char *name, struct change_stat *ret);

/* As it will be in the live tree, and in bytes; a directory's size depends on the file system and tells nothing. */
unsigned change_mode(const struct change *c);
uint64_t change_size(const struct change *c);
/* The list for people, one line a path; only those with selected[i] (NULL: all). */
void change_set_text(const struct change_set *set, const bool *selected, struct buf *out);

/* Our own line format with escaped bytes; atomic replacement. AIRLOCK_ERR_CORRUPT for a damaged file. */
int change_set_save(const struct change_set *set, const char *file, struct airlock_error *err);
/* The first time, into a file that may have been made in advance (fs_prepare_file), which is taken; -1: it was not. */
int change_set_save_first(const struct change_set *set, const char *file, int prepared, struct airlock_error *err);
int change_set_load(const char *file, struct change_set **ret, struct airlock_error *err);

/* ── Finding out: scan.c, renames.c ── */

/* Walks every root's upper layer against its live tree, or its live tree against its copy. The sandbox is dead and waited for. Notes (may be NULL): paths of
 * the live tree that could not be looked at, as sentences; they are taken as changed. AIRLOCK_ERR_CONFLICT: a root is gone
 * or another directory than when it was added. Of a root itself, which has no path, nothing is reported. */
int change_scan(struct change_set *set, struct notes *notes, struct airlock_error *err);

/* mirror.c: takes what the command has not touched out of a mirrored root's layer, so that it is one like any other. */
int mirror_prune(struct change_set *set, struct airlock_error *err);

/* ── Deciding: gate.c, conflict.c ── */

struct gate_rules {
	const struct strs *hold;  /* patterns from the configuration: also held */
	const struct strs *allow; /* never held */
	const char *home;	  /* the home directory: what lies in it is read by programs; NULL: not known */
	const struct strs
		*environ;     /* "NAME=value": XDG_CONFIG_HOME and GIT_* of the person's environment; NULL: none */
	const bool *selected; /* what is to be applied, per change; NULL: all that waits */
	bool only_tighten;    /* what is held stays held: for judging again, without the configuration of then */
};
/* Sets verdict and reason of each change from its final content; reads the layer and the live tree, changes nothing. */
int gate_judge(struct change_set *set, const struct gate_rules *rules, struct airlock_error *err);

/* AIRLOCK_ERR_CONFLICT when undoing, or doing again, would bring something to life that was not judged together with what lies
 * in the live tree by now. Of the rules home, environ and selected count. run_dir: where the before-images are. */
int gate_check_undo(const struct change_set *set, const struct gate_rules *rules, const char *run_dir,
		    struct airlock_error *err);
int gate_check_redo(struct change_set *set, const struct gate_rules *rules, struct airlock_error *err);

/* A checksum of the entries of a git index without the times of files; 0 when it is no index. */
uint64_t gate_index_mark(int fd);

int conflict_mark(struct change *c, enum airlock_reason_code code); /* 0 or -ENOMEM */
void conflict_forget(struct change *c);				    /* it is held, or applied, like any other */

/* Marks CHANGE_CONFLICT with the reason where the live path is not what the run saw. Returns how many, or a code. tx may
 * be NULL: it knows what our own transactions took away and brought back, and which directories we have opened up. */
struct apply_tx;
int conflict_check(struct change_set *set, const struct apply_tx *tx, struct airlock_error *err);

/* ── Showing: diff.c ── */

/* Where the content of a file, or the target of a symlink, is before and after the run. Each returns a descriptor at its
 * beginning, the caller's, or -errno; -ENOENT: it is not there any more. Asked only for what c says there is. */
struct diff_source {
	int (*open_before)(void *context, const struct change *c);
	int (*open_after)(void *context, const struct change *c);
	void *context;
};

struct diff_options {
	bool colour;			  /* for a terminal: includes inert */
	bool inert;			  /* control characters in the content are shown, not sent */
	const char *run_dir;		  /* of an applied run: what was there before is in run_dir/before */
	const struct diff_source *source; /* NULL: the live tree, the layer and run_dir */
};
/* Git-style unified diff of the changes at or beneath the paths (relative to the first root, or absolute in any; none: all),
 * for `git apply` and, text only, `patch -p1`. Paths of further roots follow a line "# in ROOT". Uses diff(1):
 * AIRLOCK_ERR_UNAVAILABLE without it. AIRLOCK_ERR_NOT_FOUND: a path without a change. */
int diff_write(const struct change_set *set, const char *const *paths, const struct diff_options *options,
	       struct buf *out, struct airlock_error *err);

/* One side of a change as a descriptor at its beginning, the caller's, as the diff reads it; a symlink gives its target. -errno;
 * -ENOENT: there is nothing on that side. */
int diff_open_side(const struct change_set *set, const char *run_dir, const struct change *c, enum airlock_side side);

/* Three versions of a text as one, with diff3(1). 1: ret is the merged text; 0: both changed the same place, ret means nothing. */
int diff_merge(const struct buf *ours, const struct buf *base, const struct buf *theirs, struct buf *ret,
	       struct airlock_error *err);
