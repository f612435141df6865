/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a run changed, path by path, and what is done with it.
 *
 *   struct airlock_changes *changes = NULL;
 *
 *   if (airlock_changes_open(s, "last", &changes, &err) < 0)
 *           return err.code; // AIRLOCK_ERR_NOT_FOUND: there is no such run
 *   for (size_t i = 0; i < airlock_changes_count(changes); i++) {
 *           const struct airlock_change *c = airlock_changes_at(changes, i);
 *           printf("%s %s\n", airlock_change_kind_name(c->kind), c->path);
 *   }
 *   airlock_changes_free(changes);
 *
 * A run is named by its id, a unique prefix of one, or "last": the newest that has ended, of the project the caller is in if
 * it has any. Paths are NULL for all, or end with NULL; they are relative to the project, or absolute. Everything an object
 * hands out lives as long as the object. An object is used by one thread at a time.
 */
#ifndef AIRLOCK_CHANGES_H
#define AIRLOCK_CHANGES_H

#include <stddef.h>
#include <stdint.h>

#include <airlock/airlock.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

struct airlock_changes;

enum airlock_change_kind {
	AIRLOCK_KIND_ADDED,
	AIRLOCK_KIND_MODIFIED,
	AIRLOCK_KIND_DELETED,
	AIRLOCK_KIND_RENAMED,
	AIRLOCK_KIND_METADATA, /* mode or times only */
	AIRLOCK_KIND_TYPE,     /* a file where a directory was, and the like */
};

enum airlock_file_type { AIRLOCK_TYPE_FILE, AIRLOCK_TYPE_DIRECTORY, AIRLOCK_TYPE_SYMLINK, AIRLOCK_TYPE_OTHER };

/* Of one change. */
enum airlock_change_state {
	AIRLOCK_CHANGE_HELD,	  /* waits for a decision, outside the project */
	AIRLOCK_CHANGE_APPLIED,	  /* in the project; what was there before is kept */
	AIRLOCK_CHANGE_CONFLICT,  /* waits, and somebody else has changed the same path since */
	AIRLOCK_CHANGE_SKIPPED,	  /* can never be applied: a device, a socket */
	AIRLOCK_CHANGE_DISCARDED, /* thrown away */
};

/* Of all changes of a run. */
enum airlock_changes_state {
	AIRLOCK_CHANGES_NONE, /* nothing was changed, or nothing that could be applied */
	AIRLOCK_CHANGES_APPLIED,
	AIRLOCK_CHANGES_PARTIAL, /* some are applied, others wait */
	AIRLOCK_CHANGES_HELD,
	AIRLOCK_CHANGES_DISCARDED,
	AIRLOCK_CHANGES_DIRECT, /* the command wrote straight to the project, so nothing is known */
};

/* Why a change waits, cannot be applied, or is not applied exactly as the command left it. New ones come at the end. */
enum airlock_reason_code {
	AIRLOCK_REASON_NONE,

	/* Conflicts: somebody else changed the path since the run began, or since the change was applied. */
	AIRLOCK_REASON_ROOT_REPLACED,	/* the project directory is another one */
	AIRLOCK_REASON_PARENT_REPLACED, /* a directory above it is another one */
	AIRLOCK_REASON_PARENT_DELETED,	/* a directory above it is gone */
	AIRLOCK_REASON_EDITED,		/* its content or mode was changed */
	AIRLOCK_REASON_DELETED,		/* it is gone */
	AIRLOCK_REASON_CREATED,		/* it was not there before */
	AIRLOCK_REASON_REPLACED,	/* another file has its name */
	AIRLOCK_REASON_FILLED,		/* something was created in the directory that the run deletes */
	AIRLOCK_REASON_LOST,		/* it cannot be looked at any more */
	AIRLOCK_REASON_UNKNOWN_ENTRY,	/* applying: the directory has an entry that the run did not know */
	AIRLOCK_REASON_FOREIGN_ENTRY,	/* undoing: the directory has an entry that the run did not make */
	AIRLOCK_REASON_DIRECTORY_GONE,	/* its directory is gone */
	AIRLOCK_REASON_APPLY_RACED,	/* changed while it was being applied */
	AIRLOCK_REASON_UNDO_RACED,	/* changed while it was being undone */
	AIRLOCK_REASON_CHANGED_SINCE,	/* changed since it was applied */

	/* It waits for a reason outside of its content. */
	AIRLOCK_REASON_OTHER_CONFLICT,	 /* another change of the run is in conflict */
	AIRLOCK_REASON_WAITS_FOR_ENTRY,	 /* something in the directory stays */
	AIRLOCK_REASON_WAITS_FOR_PARENT, /* its directory waits */
	AIRLOCK_REASON_WAITS_FOR_OTHER,	 /* it belongs to something that waits */
	AIRLOCK_REASON_TIMED_OUT,	 /* the command timed out */
	AIRLOCK_REASON_KILLED,		 /* a signal ended the command */
	AIRLOCK_REASON_ENDED,		 /* airlock ended the command */
	AIRLOCK_REASON_NOT_RUN,		 /* the command could not be run */
	AIRLOCK_REASON_INTERRUPTED,	 /* airlock itself was interrupted during the run */
	AIRLOCK_REASON_NOT_APPLIED,	 /* applying failed */
	AIRLOCK_REASON_NO_BACKUP,	 /* its daily backup cannot be made */
	AIRLOCK_REASON_NOT_KEPT,	 /* it could not be recorded and is thrown away; what: the error */

	/* It waits because of what it is, or what it leads to. */
	AIRLOCK_REASON_RUNS,		/* what: runs outside the sandbox by itself, started by program */
	AIRLOCK_REASON_MISLEADS,	/* what: leads program to another file, server or version */
	AIRLOCK_REASON_STEERS,		/* what: program obeys it */
	AIRLOCK_REASON_UNKNOWN_NAME,	/* a dot-file that no table knows */
	AIRLOCK_REASON_UNKNOWN_SETTING, /* what: a setting of git that no table knows */
	AIRLOCK_REASON_HOLD_RULE,	/* a rule of the configuration holds it */
	AIRLOCK_REASON_LINK_OUT,	/* a symbolic link that leads out of the project */
	AIRLOCK_REASON_MADE_EXECUTABLE, /* git tracks it as data */
	AIRLOCK_REASON_SPECIAL_FILE,	/* whoever opens it may wait for ever */
	AIRLOCK_REASON_NAMED_PIPE,
	AIRLOCK_REASON_SOCKET,		 /* can never be applied */
	AIRLOCK_REASON_DEVICE,		 /* can never be applied */
	AIRLOCK_REASON_NEW_COMMIT,	 /* a reference to commit, which has path, held for cause */
	AIRLOCK_REASON_STAGED,		 /* an index in which path is staged, held for cause */
	AIRLOCK_REASON_MAKES_REPOSITORY, /* it makes a directory a repository, in which path counts for cause */
	AIRLOCK_REASON_APPLIED_WHOLE,	 /* sensitive only with path: git's files are applied as a whole */
	AIRLOCK_REASON_UNREADABLE,	 /* from here to LARGE_DIRECTORY: it cannot be judged */
	AIRLOCK_REASON_TOO_LARGE,
	AIRLOCK_REASON_INVALID_JSON,
	AIRLOCK_REASON_INVALID_SETTINGS,
	AIRLOCK_REASON_COMMIT_UNREADABLE,
	AIRLOCK_REASON_INDEX_UNREADABLE,
	AIRLOCK_REASON_HISTORY_TOO_LONG,
	AIRLOCK_REASON_UNKNOWN_REFS, /* git's references are in a format that airlock does not read */
	AIRLOCK_REASON_TOO_MANY_OBJECTS,
	AIRLOCK_REASON_UNKNOWN_OBJECTS,	 /* a file about objects in a format that airlock does not read */
	AIRLOCK_REASON_LARGE_REPOSITORY, /* it makes a directory a repository in which there is too much */
	AIRLOCK_REASON_LARGE_DIRECTORY,	 /* it leads to a directory in which there is too much */
	AIRLOCK_REASON_RECORDED,	 /* what: the sentence of a record that an earlier version wrote */

	/* It is applied, but not exactly as the command left it. */
	AIRLOCK_REASON_SETUID_DROPPED,
	AIRLOCK_REASON_SETGID_DROPPED,
	AIRLOCK_REASON_SETIDS_DROPPED,

	/* A command of a session changed it. */
	AIRLOCK_REASON_OTHER_COMMAND, /* another command of the session changed it at the same time */
	AIRLOCK_REASON_TAKEN_BACK,    /* the steps that the command was made on were taken back while it ran */
};

/* Only the arguments that the code names are set; the others are NULL. */
struct airlock_reason {
	enum airlock_reason_code code;
	const char *what; /* what it is to the program, in a few words: "CI workflow"; or the setting, or the error */
	const char *program; /* that obeys it; may be NULL */
	const char *path;    /* of another file */
	const char *commit;  /* the beginning of its name */
	enum airlock_reason_code cause;
};

struct airlock_owner {
	uint32_t uid, gid;
};

struct airlock_change {
	const char *path; /* relative to root; bytes, not for a terminal (airlock_text_inert) */
	const char *root; /* the directory it was captured in: the project, or another that could be written to */
	const char *from; /* RENAMED: the old path, in the same root; else NULL */
	enum airlock_change_kind kind;
	enum airlock_file_type type; /* of what is there now; DELETED: of what was there */
	enum airlock_change_state state;
	/* Why it is held, skipped or in conflict, or what was adjusted; the first is what keeps it from being applied first. */
	const struct airlock_reason *reasons;
	size_t n_reasons;
	uint64_t size; /* in bytes; 0 for a directory */
	unsigned mode; /* permission bits as they are in the project, or will be */
	/* Who owns it now, where the run changed that; owner_before is NULL when it was not there. Else both are NULL. */
	const struct airlock_owner *owner, *owner_before;
	int in_project;	  /* root is the first of the run's, the project itself */
	int is_sensitive; /* held because it can make other programs do things: a person decides about it */
	int is_undone;	  /* was applied and undone; undoing once more applies it again */
	int is_done;	  /* apply, discard or undo has just done this one */
};

/* The words of the JSON: "added", "file", "held", "partial". Live for ever. */
const char *airlock_change_kind_name(enum airlock_change_kind kind);
const char *airlock_file_type_name(enum airlock_file_type type);
const char *airlock_change_state_name(enum airlock_change_state state);
const char *airlock_changes_state_name(enum airlock_changes_state state);
const char *airlock_reason_name(enum airlock_reason_code code); /* "other-conflict"; NULL for NONE */
/* All reasons of a change as one English sentence, "" for none: bytes, not for a terminal. The caller's: airlock_free.
 * NULL: out of memory. */
char *airlock_change_reason_text(const struct airlock_change *c);
/* "M  src/a.c  (held: reason)" and a newline, safe to print. is_mixed: the state is told even where it is the usual one, because
 * others in the list have another. The caller's: airlock_free. NULL: out of memory. */
char *airlock_change_line(const struct airlock_change *c, int is_mixed);

/* ── Looking ── */

int airlock_changes_open(const struct airlock_settings *s, const char *run, struct airlock_changes **ret,
			 struct airlock_error *err);
/* Those that applying these paths would bring and that a person should confirm; none: count 0. */
int airlock_changes_sensitive(const struct airlock_settings *s, const char *run, const char *const *paths,
			      struct airlock_changes **ret, struct airlock_error *err);
/* What a run does with its changes: the "changes" setting. */
enum airlock_changes_mode {
	AIRLOCK_MODE_DIRECT,
	AIRLOCK_MODE_APPLY,
	AIRLOCK_MODE_ASK, /* they are held, and the caller asks a person about them */
	AIRLOCK_MODE_HOLD,
	AIRLOCK_MODE_DISCARD,
};
enum airlock_changes_mode airlock_run_changes_mode(const struct airlock_run *run);
/* Of a run that is over; the run's. NULL: out of memory. */
const struct airlock_changes *airlock_run_changes(struct airlock_run *run);
void airlock_changes_free(struct airlock_changes *c);

const char *airlock_changes_run(const struct airlock_changes *c); /* the whole id */
/* The name by which they are decided about: that of the session they belong to, else the id of the run. */
const char *airlock_changes_name(const struct airlock_changes *c);
enum airlock_changes_state airlock_changes_state(const struct airlock_changes *c);
size_t airlock_changes_count(const struct airlock_changes *c);
/* Parents come before their children. NULL: there is no such one. */
const struct airlock_change *airlock_changes_at(const struct airlock_changes *c, size_t i);
/* What `airlock changes --json` prints; ends with a newline. NULL: out of memory. */
const char *airlock_changes_json(struct airlock_changes *c);

/* Git-style unified diff; colour also makes the content inert on a terminal. The text is the caller's: airlock_free. */
int airlock_changes_diff(const struct airlock_settings *s, const char *run, const char *const *paths, int colour,
			 char **ret_text, struct airlock_error *err);

/* Where the content of a change is looked at. BEFORE and AFTER are what the diff compares; of a change that waits BEFORE is what the
 * project has now. */
enum airlock_side {
	AIRLOCK_SIDE_BEFORE,
	AIRLOCK_SIDE_AFTER,
	AIRLOCK_SIDE_PROJECT, /* what the project has there now, whatever the run knew: the other version of a conflict */
};
/* The content of a changed file, or the target of a changed symlink. path: relative to the project, or absolute. *ret_fd is at the
 * beginning and the caller's to close. AIRLOCK_ERR_NOT_FOUND: the run did not change this path, or there is nothing on that side;
 * AIRLOCK_ERR_INVALID: it is no file. */
int airlock_changes_content(const struct airlock_settings *s, const char *run, const char *path, enum airlock_side side,
			    int *ret_fd, struct airlock_error *err);

/* ── Deciding ── */

/* Each gives the changes of the run as they are afterwards; is_done marks what the call has done, and notes tell what
 * a person should know. */

enum airlock_changes_action {
	AIRLOCK_ACTION_NONE,
	AIRLOCK_ACTION_APPLY,
	AIRLOCK_ACTION_DISCARD,
	AIRLOCK_ACTION_UNDO,
	AIRLOCK_ACTION_REDO
};

/* Held changes into the project. force takes the run's version after saving what is there now.
 * AIRLOCK_ERR_CONFLICT: somebody else changed one of them since, and nothing was done; AIRLOCK_ERR_BUSY: another airlock is
 * at work in this project. */
int airlock_changes_apply(const struct airlock_settings *s, const char *run, const char *const *paths, int force,
			  struct airlock_changes **ret, struct airlock_error *err);
/* The same for a session; a file that somebody else edited since is merged with their version where both changed different places.
 * AIRLOCK_ERR_CONFLICT: some cannot be merged, and nothing was done. */
int airlock_changes_apply_merged(const struct airlock_settings *s, const char *run, const char *const *paths,
				 struct airlock_changes **ret, struct airlock_error *err);
/* Held changes thrown away. */
int airlock_changes_discard(const struct airlock_settings *s, const char *run, const char *const *paths,
			    struct airlock_changes **ret, struct airlock_error *err);
/* Puts back what apply replaced; of paths of which nothing is applied, applies again what was undone. run NULL: the last
 * applied one in this project. */
int airlock_changes_undo(const struct airlock_settings *s, const char *run, const char *const *paths, int force,
			 struct airlock_changes **ret, struct airlock_error *err);
/* What that would do: AIRLOCK_ACTION_UNDO, or AIRLOCK_ACTION_REDO where nothing of these paths is applied any more. */
int airlock_changes_undo_action(const struct airlock_settings *s, const char *run, const char *const *paths,
				enum airlock_changes_action *ret, struct airlock_error *err);

enum airlock_changes_action airlock_changes_action(const struct airlock_changes *c); /* NONE: only looked at */
size_t airlock_changes_done_count(const struct airlock_changes *c);
const struct airlock_note *airlock_changes_note(const struct airlock_changes *c, size_t i); /* NULL beyond the last */

/* The sensitive ones as a question, with the reason "sensitive-changes". With settings of an agent also about changes that
 * the mode held ("held-changes"): a person decides about those. *ret is NULL when there is nothing to confirm. Whoever gets
 * a yes goes on with airlock_changes_apply. */
struct airlock_asked;
int airlock_changes_question(const struct airlock_settings *s, const char *run, const char *const *paths,
			     struct airlock_asked **ret, struct airlock_error *err);
const struct airlock_question *airlock_asked_question(const struct airlock_asked *asked);
void airlock_asked_free(struct airlock_asked *asked);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
