/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One transaction on its way: the decided operations and the places they happen between. Internal to applying.
 *
 * Each operation is one atomic step between the live path and its stage, a name of its own in a directory on the same file
 * system. Where the run's directory is on the project's file system the stage is before/<slot> itself: the step leaves the
 * before-image where it belongs. Where neither side is a directory, applying needs no slot: the stage is the entry of the
 * layer, and the step leaves the before-image there. Otherwise the stage is in a directory of ours in the root, filled by copying beforehand.
 */
#pragma once

#include "change/image.h"
#include "change/scan/returns.h"
#include "change/transfer.h"

#define APPLY_STAGE_PREFIX ".airlock-"
#define APPLY_NO_TIME INT64_MIN /* leave the mtime */

enum apply_step {
	APPLY_NONE,	/* the path is already as wanted */
	APPLY_REMOVE,	/* live → stage */
	APPLY_INSTALL,	/* stage → live, where nothing is */
	APPLY_EXCHANGE, /* stage ↔ live */
	APPLY_META,	/* xattrs of a directory that stays; its mode and mtime are in struct apply_dir */
};

struct apply_op {
	enum apply_step step;
	size_t root;
	size_t change;	 /* index in the set */
	bool from;	 /* the old name of a renamed change */
	bool foreign;	 /* undo: what is live is not the run's, so it has no place in the layer */
	bool full;	 /* forced: a directory goes with what somebody else has put into it */
	bool plain;	 /* its file system knows no flags of renameat2: apply_plain.c */
	bool links;	 /* plain, and there are hard links */
	bool in_layer;	 /* its stage is the layer's own entry, which is where the before-image stays */
	bool linked;	 /* a further name of a live file comes or goes; the layer keeps its own entry (apply_link.c) */
	bool dropped;	 /* while planning: not to be done */
	bool left;	 /* not done, because the live path is somebody else's by now */
	uint64_t slot;	 /* name in before/ */
	uint64_t staged; /* inode of what is to become live; 0: nothing is */
	struct change_stat old, want;
	struct change_stat came; /* what is live when all steps are done; its directory may be closed afterwards */
	int64_t caught_ns;	 /* ctime of what the step has put into the stage; 0: not looked at */
	char *path;
	char *link; /* the live file that it is to be another name of; NULL: none */
};

/* A live directory whose entries change, or that itself comes, goes or changes: what it is like afterwards. */
struct apply_dir {
	size_t root;
	char *path; /* "" is the root itself */
	bool exists_before, exists_after;
	bool open; /* its owner may not write in it: opened up meanwhile */
	uint32_t mode_before, mode_after;
	int64_t mtime_before, mtime_after;
	int64_t without_ns, with_ns; /* for the record: mtime without and with the run's changes */
	const struct apply_op *op;   /* while planning: the operation on the directory itself, if any */
	bool busy;		     /* while planning: other changes in it are applied */
	bool staged; /* while planning: a root in which nothing but our stage directory comes and goes */
};

/* The directory that was reached last. Paths come sorted, so mostly it is the next one's as well; and whatever is done to a
 * directory itself is done from its parent, which takes its place here. Kept through one pass over the operations only: the
 * live tree is anybody's. */
struct apply_nearby {
	char *dir; /* its path; NULL: none */
	int fd;
};

struct apply_root {
	char *path, *upper;
	uint64_t device, inode;
	bool copy; /* the run's directory is on another file system */
	bool made_up_inodes;
	bool plain, links; /* while staging: for each operation in it */
	int live_fd, upper_fd;
	int stage_fd; /* before/, or our directory in the root */
	struct apply_nearby live_near, layer_near;
};

struct apply_tx {
	char *run, *lock_dir;
	bool undo, force, recovering;
	struct apply_root *roots;
	size_t n_roots;
	int run_fd, before_fd;
	struct apply_op *ops; /* in the order in which they are done */
	size_t n_ops, cap_ops;
	struct apply_dir *dirs; /* sorted, parents first */
	size_t n_dirs, cap_dirs;
	size_t n_left;
	bool slots_are_free; /* before/ was empty when we began */
	bool no_links;	     /* live files get no further names */
	bool link_refused;   /* one could not get any */
	struct notes *notes;
	struct returns *known;		 /* borrowed */
	const struct apply_tx *unlocked; /* its dirs are open now, with the modes they had before; borrowed */
};
#define APPLY_TX_INIT                                                                                                  \
	{                                                                                                              \
		.run_fd = -EBADF, .before_fd = -EBADF                                                                  \
	}

/* ── apply_tx.c: the places ── */

void apply_tx_done(struct apply_tx *tx);
#define _cleanup_tx_ _cleanup_(apply_tx_done)
int apply_tx_add_root(struct apply_tx *tx, const struct apply_root *root); /* strings copied; -ENOMEM */
/* Opens run directory, before/ and roots, and verifies that each root is still the directory it was.
 * oldest_ns: when the device numbers were read; after a restart they may be others. */
int apply_tx_open(struct apply_tx *tx, const char *run_dir, int64_t oldest_ns, struct airlock_error *err);
struct apply_op *apply_tx_add_op(struct apply_tx *tx,
				 const struct apply_op *op); /* takes path and link; NULL: no memory */
struct apply_dir *apply_tx_add_dir(struct apply_tx *tx, const struct apply_dir *d); /* takes path; NULL: no memory */
/* A sentence for people, made inert: names in it may be anything. */
int apply_error(struct airlock_error *err, int errnum, const char *op, const struct apply_tx *tx, size_t root,
		const char *path);

struct change_slot apply_kept_name(const struct apply_op *op); /* where theirs is set aside */
/* The directory that holds path: a descriptor that is ours until the next call, or -errno. */
int apply_live_parent(const struct apply_tx *tx, size_t root, const char *path, const char **ret_name);
/* The layer's, made writable for us if need be: modes in the layer are in the record. */
int apply_layer_parent(const struct apply_tx *tx, size_t root, const char *path, const char **ret_name);
void apply_forget_nearby(struct apply_tx *tx); /* what follows reaches every directory anew */
/* Renames between two directories of ours, to a name that must be free (-EEXIST); also on file systems without rename
 * flags. */
int apply_move_own(struct transfer_place from, struct transfer_place to);
int apply_chmod_fd(int fd, uint32_t mode); /* also O_PATH */
int apply_set_mtime_fd(int fd, int64_t mtime_ns);
int apply_is_empty_dir(int dirfd, const char *name); /* 1, 0 or -errno */

/* ── ops.c: deciding ── */

/* lstat of a live path; nothing is there when a directory on the way is none. -errno. */
int ops_look_live(const struct apply_tx *tx, size_t root, const char *path, struct change_stat *ret);
/* Fills tx->ops and tx->dirs from the selection and what is live now. AIRLOCK_ERR_CONFLICT: reasons are in the set. */
int ops_plan(struct apply_tx *tx, struct change_set *set, const bool *selected, struct airlock_error *err);
int ops_plan_dirs(struct apply_tx *tx, struct change_set *set, struct airlock_error *err); /* apply_dirs.c */

/* ── apply_stage.c: everything that may need room, before the first step ── */

int stage_make_dirs(struct apply_tx *tx, struct airlock_error *err);  /* where the run's directory is elsewhere */
int stage_all(struct apply_tx *tx, struct airlock_error *err);	      /* sets each op's staged */
int stage_open_again(struct apply_tx *tx, struct airlock_error *err); /* recovery: what is there of them */
int stage_clear(struct apply_tx *tx, struct airlock_error *err);      /* removes the stage directories */

/* ── apply_link.c: files that get or lose a name ── */

/* Whether op gives the live file op->link another name: 1, and then op says so. 0: the layer's file is taken. -errno. */
int link_choose(struct apply_tx *tx, struct apply_op *op);
void link_note_split(const struct apply_tx *tx); /* after all are staged: which could not be linked */
/* Whether undo takes only a name away, which the layer need not keep. 1, 0 or -errno. */
int link_is_only_name(const struct apply_tx *tx, const struct apply_op *op, const struct change *c);
/* As the steps below; live: the new name. */
int link_forward(struct apply_tx *tx, const struct apply_op *op, struct transfer_place live);
int link_revert(const struct apply_op *op, struct transfer_place live);

/* ── apply_step.c: each decides by what is where, so each can be called again ── */

#define STEP_FOREIGN 1 /* the live path is somebody else's by now: nothing was done */

int step_forward(struct apply_tx *tx, struct apply_op *op); /* 0, -errno, STEP_FOREIGN */
int step_revert(struct apply_tx *tx, struct apply_op *op);  /* the same */
int step_unstage(struct apply_tx *tx, struct apply_op *op); /* not done: what was staged for it goes home */
int step_retire(struct apply_tx *tx, struct apply_op *op);  /* done: what it has left in the stage goes home */

/* ── apply_plain.c: the same where renames have no flags ── */

int plain_forward(const struct apply_tx *tx, struct apply_op *op, struct transfer_place live, int stage_dir);
int plain_revert(const struct apply_tx *tx, struct apply_op *op, struct transfer_place live, int stage_dir);
bool plain_is_waiting(const struct apply_op *op, int stage_dir); /* what is to become live is still in the stage */
/* Tries in our own directory what the file system can do. 0 or -errno. */
int plain_probe(int stage_dir, bool *ret_plain, bool *ret_links);

/* ── apply_dirs.c ── */

/* The mode of a directory that we have opened up ourselves is the one it had; else what is given. */
uint32_t dirs_mode(const struct apply_tx *tx, size_t root, const char *path, uint32_t mode);

/* again: also those that were finished already, or come and go with the transaction. */
int dirs_open(struct apply_tx *tx, bool again, struct airlock_error *err);
int dirs_finish(struct apply_tx *tx, bool forward, struct airlock_error *err);		    /* modes and mtimes */
int dirs_finish_staged_roots(struct apply_tx *tx, bool forward, struct airlock_error *err); /* after stage_clear */
int dirs_sync(struct apply_tx *tx, struct airlock_error *err);

/* ── apply_record.c ── */

/* Both write down what was brought back. */
int record_result(struct apply_tx *tx, struct change_set *set, struct airlock_error *err);
void record_reverted(struct apply_tx *tx, struct change_set *set);

/* ── undo.c ── */

/* AIRLOCK_ERR_CONFLICT with reasons where what is live is not what was applied. */
int undo_check(const struct apply_tx *tx, struct change_set *set, const bool *selected, struct airlock_error *err);

/* ── recover.c ── */

/* 1 when an unfinished journal is about one of these roots, which are locked. */
int recover_is_pending(const struct apply_tx *tx, const char *journal_dir, struct airlock_error *err);

/* ── apply.c ── */

/* All steps. The caller rolls back when one fails; *ret_errno is its -errno, or 0 when it was somebody else's change. */
int apply_forward(struct apply_tx *tx, int *ret_errno, struct airlock_error *err);
int apply_roll_back(struct apply_tx *tx, struct airlock_error *err); /* after "back" was written */
int apply_complete(struct apply_tx *tx, struct airlock_error *err);  /* after the last step, up to durable */
int apply_abandon(struct apply_tx *tx, struct airlock_error *err);   /* before the first step */
