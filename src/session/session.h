/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A piece of work: commands that see what the ones before them did, and are decided about together.
 *
 *   <state>/sessions/<32 hex of sha256 of the project>/<name>/
 *     session     what this file describes, replaced as a whole (I4)
 *     lock        whoever changes the session holds it
 *     tmp/        /tmp of its commands
 *     home/       what its agents keep to themselves of the home
 *   <state>/layers/<id>/
 *     upper/overlayN, base    what was left of a session after some of it was decided, or several steps as one layer
 *
 *   _cleanup_session_ struct session s = SESSION_INIT;
 *   session_open(&s, &where, "work", SESSION_LOCK, err);
 *   …
 *   session_save(&s, err);
 *
 * A session that holds its changes is a stack of layers that nobody writes to any more. The layer of a command that changed
 * something is a step: runs/<run>/upper, with what the project had at these paths in runs/<run>/base. The next command sees the
 * project with all layers over it. In a session that applies its changes each command's go to the project at once, and there are
 * no layers.
 */
#pragma once

#include "change/change.h"
#include "settings/host.h"

#define SESSION_NAME_MAX 64
#define SESSION_COMMAND_MAX 4096 /* bytes that are kept of a step's command */
#define SESSION_DEEP 16 /* so many layers are merged into one before the next command: docs/design/sessions.md */

enum session_step_state {
	SESSION_STEP_HELD,
	SESSION_STEP_DECIDED,	/* applied or thrown away */
	SESSION_STEP_DISCARDED, /* nothing of it was applied, and nothing waits */
};

struct session_step {
	uint64_t number;
	enum session_step_state state;
	int exit_code;
	uint64_t count; /* of changes */
	char *run, *command;
};

struct session_layer {
	uint64_t first, last; /* the steps in it */
	char *dir;
	char *of;	    /* the apply or undo that left it; NULL: the layer of a step, or several as one */
	struct strs roots;  /* paths of the project */
	struct strs uppers; /* the layer of each */
	uint64_t bytes;	    /* in them, on the disk */
};

struct session {
	char *name, *project, *dir;
	bool holds; /* its changes; else they are applied */
	bool ended;
	int64_t created_ns, used_ns;
	uint64_t free_bytes; /* on the disk when it began: limits are shares of it */
	uint64_t
		turns; /* goes up when steps are taken away: a command that began before belongs no more to what is left */
	struct session_step *steps;
	size_t n_steps, cap_steps;
	struct session_layer *layers; /* the oldest first */
	size_t n_layers, cap_layers;
	char *whole;	  /* the run that has all layers as one; NULL: not made since the last step */
	uint64_t settled; /* checksum of its record of changes when that was last settled; 0: never */
	uint64_t held;	  /* changes of the whole that wait, counted when its record had this time; 0: not counted */
	int64_t held_stamp;
	char *deciding;	     /* another run of it of which something is being undone or done again; NULL: none */
	struct strs stale;   /* directories of such runs that are removed once the record does not name them any more */
	struct strs applies; /* runs in which its changes were applied, the oldest first */
	int lock_fd;
};
#define SESSION_INIT                                                                                                   \
	{                                                                                                              \
		.lock_fd = -EBADF                                                                                      \
	}
void session_done(struct session *s);
#define _cleanup_session_ _cleanup_(session_done)

/* Where a session is looked for. */
struct session_place {
	const struct host *host;
	const char *project; /* real path */
};

/* "[A-Za-z][A-Za-z0-9._-]{0,63}", and not "last". AIRLOCK_ERR_USAGE with the rule. */
int session_check_name(const char *name, struct airlock_error *err);
bool session_is_name(const char *name);

enum session_how { SESSION_LOOK, SESSION_LOCK };
/* AIRLOCK_ERR_NOT_FOUND: this project has none of that name; the hint names the project that has one. AIRLOCK_ERR_CORRUPT: its
 * record is damaged. With SESSION_LOCK nobody else changes it until it is closed. */
int session_open(struct session *s, const struct session_place *at, const char *name, enum session_how how,
		 struct airlock_error *err);
/* A new one, locked. AIRLOCK_ERR_CONFLICT: there is one. */
int session_create(struct session *s, const struct session_place *at, const char *name, bool holds,
		   struct airlock_error *err);
/* Opens it, or makes it when there is none: then returns 1. */
int session_open_or_create(struct session *s, const struct session_place *at, const char *name, bool holds,
			   struct airlock_error *err);
int session_save(struct session *s, struct airlock_error *err);
/* The directory that is /tmp for the commands of a session; it need not exist. NULL: out of memory. */
char *session_tmp(const struct session_place *at, const char *name);
/* The directory of a session; it need not exist. NULL: out of memory. */
char *session_dir(const struct session_place *at, const char *name);
/* The directory for what agents of a session keep to themselves of the home (run/agent_home.h); it need not exist. NULL: out of
 * memory. */
char *session_home(const struct session_place *at, const char *name);
/* The size of its /tmp on the disk, in bytes. */
uint64_t session_tmp_bytes(const struct session *s);
/* Empties it. */
void session_clear_tmp(const struct session *s);
/* Records only that the session was used now. */
void session_touch(const struct session *s);

/* A name that no session of the project has. NULL: out of memory. */
char *session_new_name(const struct session_place *at);

/* Names of the project's sessions, sorted; or with project NULL "<key>/<name>" of all. */
int session_list(const struct session_place *at, struct strs *ret, struct airlock_error *err);
/* One of "<key>/<name>". */
int session_open_entry(struct session *s, const struct host *host, const char *entry, struct airlock_error *err);

/* Runs and layers that some session still needs, as paths. gc leaves them alone. */
int session_references(const struct host *host, struct strs *ret, struct airlock_error *err);

/* ── usage.c ── */

/* Bytes on the disk that anybody but root may still use; 0: unknown. */
uint64_t session_disk_free(const char *dir);
struct session_limits {
	int64_t disk, tmp; /* TEXT_NONE: none */
};
/* free_bytes: what was free when the session began. */
struct config;
struct session_limits session_limits_of(const struct config *c, uint64_t free_bytes);
/* Bytes in these directories, which are layers. */
uint64_t session_uppers_bytes(const struct strs *uppers);
/* Bytes in its layers that nobody writes to any more, as the record has them. */
uint64_t session_layers_bytes(const struct session *s);
/* Bytes in the layers of its commands that are running, and of the processes that they left; run: not of this one, or NULL. Nothing
 * where they cannot be read. */
uint64_t session_running_bytes(const struct host *host, const char *project, const char *name, const char *run);

/* ── session_sweep.c ── */

/* Removes a session that holds nothing, while its lock is held. Its runs stay in the history. */
int session_remove(const struct session *s, struct airlock_error *err);
/* Removes the sessions that hold nothing and were last used before this (ns since 1970). ret: their names. */
int session_sweep(const struct host *host, int64_t before_ns, bool dry_run, struct strs *ret,
		  struct airlock_error *err);

/* ── stack.c ── */

/* The layers of this root, the topmost first, onto ret. */
void session_lowers(const struct session *s, const char *root, struct strs *ret);
/* Merges layers until there are few enough for one more command. The session is locked; it is saved. */
int session_squash(struct session *s, const struct host *host, struct airlock_error *err);
/* A descriptor of the directory that the next layer of that root would lie on, or -errno. */
int session_view(const struct strs *lowers, const char *root, int user_ns);

/* ── step.c ── */

/* The state of the session when a command began. */
struct session_begun {
	uint64_t turns, last_step;
	bool had_layers; /* its layer lies on others of the session */
};

struct session_command {
	const char *run, *run_dir, *command;
	int exit_code;
};

/* The command is over and its layer was scanned. Adds it as a step; set->part says CHANGE_PART_APART, and the conflicts are marked,
 * where another command has changed the same path meanwhile. *ret_step: its number, 0: it changed nothing or stands apart. The
 * set's record is saved by this, so that what is on disk is whole at each moment. */
int session_add_step(const struct session_place *at, const char *name, const struct session_begun *begun,
		     const struct session_command *command, struct change_set *set, uint64_t *ret_step,
		     struct airlock_error *err);

/* The same in a session that applies its changes: nothing is held, the step is only told. */
int session_note_step(const struct session_place *at, const char *name, const struct session_command *command,
		      size_t count, uint64_t *ret_step, struct airlock_error *err);

/* ── cut_step.c ── */

/* Commands whose airlock was killed (history/cut_run.h): what they changed becomes a step, or stands apart. name: only of that session
 * of at's project; NULL: of all. Adds their number to *count. One that cannot be read now becomes a note. */
int session_hold_cut(const struct session_place *at, const char *name, size_t *count, struct notes *notes,
		     struct airlock_error *err);

/* ── checkpoint.c ── */

/* What the commands of the session that are running have changed so far, as steps that the next checkpoint replaces. for_good: to be
 * applied. The session is locked; it is saved. */
int session_checkpoint(struct session *s, const struct host *host, bool for_good, struct airlock_error *err);
/* True if one of its commands is running. *ret_command (may be NULL): which, the caller's; NULL: out of memory. */
bool session_is_running(const struct session *s, const struct host *host, char **ret_command);
/* The command has ended and changed nothing in the end. */
int session_end_checkpoints(const struct session_place *at, const char *name, const struct session_begun *begun,
			    const char *run, struct airlock_error *err);

/* ── whole.c ── */

/* All layers as one run, which can be looked at and, with for_good, applied. *ret_run is its id, the caller's; NULL: nothing is held.
 * The session is locked; it is saved. */
struct gate_rules;
int session_whole(struct session *s, const struct host *host, const struct gate_rules *rules, bool for_good,
		  char **ret_run, struct airlock_error *err);
/* How many changes wait, without making the whole. False: nobody has counted them since they changed. */
bool session_known_held(const struct session *s, const struct host *host, uint64_t *ret);
/* They were counted in the whole of now. The session is locked; it is saved, and counts as used when it was used before. */
int session_remember_held(struct session *s, const struct host *host, uint64_t held, struct airlock_error *err);
/* Before something is decided about a run of the session. Killed after that, whoever opens the session next settles it. */
int session_begin_deciding(struct session *s, const char *run, struct airlock_error *err);
/* Settles what a killed process had decided, or was about to. */
int session_finish_deciding(struct session *s, const struct host *host, struct airlock_error *err);
/* After some of the changes of that run were applied, thrown away or undone: what still waits becomes the session's only old layer. */
int session_settle(struct session *s, const struct host *host, const char *run, struct airlock_error *err);

/* ── moves.c ── */

/* Drops the held steps after this one. AIRLOCK_ERR_CONFLICT: one of them is decided. */
int session_rewind(struct session *s, uint64_t step, struct airlock_error *err);
/* Goes on from where this one is, under another name. */
int session_fork(const struct session *s, const struct session_place *at, const char *name, struct airlock_error *err);

/* ── session_merge.c ── */

struct session_merge {
	struct session *from, *into;	  /* both locked */
	const struct change_set *changes; /* the whole of from */
	const struct change_set *others;  /* the whole of into */
	const char *command;		  /* what the step is called */
	int user_ns;			  /* for the view, or negative */
	struct strs conflicts;		  /* filled: paths that cannot be merged */
	uint64_t step;			  /* filled: 0: there was nothing to merge */
};
/* Adds the changes of one session as a step to another. AIRLOCK_ERR_CONFLICT: nothing was done. */
int session_merge(struct session_merge *m, const struct host *host, struct airlock_error *err);

/* Of a whole run that is to be applied: where somebody has edited a file of the project since, their version and the session's are
 * merged in the layer, all of them or none. Marks as conflicts what cannot be. Returns how many of these there are, or a code. */
int session_merge_edits(const struct session *s, struct change_set *set, const bool *selected,
			struct airlock_error *err);
