/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a person should know beside a result: a value, which airlock_note_text puts into words.
 *
 *   const struct airlock_note *note;
 *   for (size_t i = 0; (note = airlock_run_note(run, i)); i++)
 *           if (note->code == AIRLOCK_NOTE_LINK_SPLIT)
 *                   puts(note->subject);
 */
#ifndef AIRLOCK_NOTE_H
#define AIRLOCK_NOTE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/* The comments name what subject, other and number are. cause is why, in words, wherever something failed. */
enum airlock_note_code {
	AIRLOCK_NOTE_NONE,
	/* The configuration. */
	AIRLOCK_NOTE_UNTRUSTED,	      /* subject: a file of the project; other: its settings that are ignored */
	AIRLOCK_NOTE_UNTRUSTED_ABOVE, /* subject: a file above the project; other: the settings; cause: the file below */
	AIRLOCK_NOTE_FOREIGN_FILE,    /* subject: a file above the project that belongs to another user */
	/* The project. */
	AIRLOCK_NOTE_LINK_REFUSED,	 /* subject: a symlink; other: where it leads, which is never writable */
	AIRLOCK_NOTE_LINKS_MANY,	 /* number: so many directories are the most that symlinks may lead to */
	AIRLOCK_NOTE_LINKS_LEFT_OUT,	 /* number: notes like these that are left out */
	AIRLOCK_NOTE_NOT_SEARCHED,	 /* subject: a directory */
	AIRLOCK_NOTE_MOUNT_NOT_SEARCHED, /* subject: a directory that is mounted from elsewhere */
	AIRLOCK_NOTE_LINKS_NOT_STORED,	 /* the project's symlinks are searched for on every run */
	AIRLOCK_NOTE_STATE_INSIDE,	 /* so they are: subject, airlock's own directory, is in the project */
	AIRLOCK_NOTE_LINKS_DAMAGED,	 /* the stored list was unusable, and was made again */
	AIRLOCK_NOTE_GIT_REFUSED,	 /* subject: the git directory, which is not made writable */
	AIRLOCK_NOTE_GIT_MISSING,	 /* the file .git leads to none */
	/* The plan. */
	AIRLOCK_NOTE_NOT_SHOWN,		/* subject: a path that cannot be looked at */
	AIRLOCK_NOTE_PARENT_UNREADABLE, /* subject: a path that cannot be mounted; other: the directory above it */
	AIRLOCK_NOTE_NO_MOUNT_POINT,	/* subject: a path that is not mounted; other: where it would have to be made */
	AIRLOCK_NOTE_MISSING,		/* subject: a path; other: who named it */
	AIRLOCK_NOTE_FOREIGN_PROJECT,	/* subject: the project's directory, which belongs to somebody else */
	AIRLOCK_NOTE_FOREIGN_HOME,	/* subject: the home directory, which is not root's */
	AIRLOCK_NOTE_COPIED,		/* cause: why changes are captured by copy */
	AIRLOCK_NOTE_PARTIAL_ISOLATION, /* subject: the backend; cause: why no other works */
	AIRLOCK_NOTE_FELL_BACK,		/* there will be no sandbox */
	/* The run. */
	AIRLOCK_NOTE_UNSANDBOXED,
	AIRLOCK_NOTE_KILLED,		 /* subject: "TERM", or NULL; number: the signal */
	AIRLOCK_NOTE_KILLED_MEMORY,	 /* the same; it exceeded its memory limit */
	AIRLOCK_NOTE_KILLED_FILE_SIZE,	 /* the same; it exceeded its file size limit */
	AIRLOCK_NOTE_KILLED_FULL,	 /* the same; a file system in memory was full */
	AIRLOCK_NOTE_FULL,		 /* subject: a file system in memory; number: its size in bytes; for a person,
					    other: the setting, and cause: the profile that has it */
	AIRLOCK_NOTE_OUTPUT_NOT_WRITTEN, /* subject: the run that has it all, or NULL */
	AIRLOCK_NOTE_OUTPUT_NOT_STORED,
	AIRLOCK_NOTE_ABSTRACT_SOCKETS, /* the command could reach sockets with abstract names */
	AIRLOCK_NOTE_EXPOSED,	       /* subject: a directory whose sockets the command could reach */
	AIRLOCK_NOTE_HIDDEN_AGAIN,     /* subject: a hidden path that was replaced outside */
	AIRLOCK_NOTE_ANSWER_LOST,      /* it could not be remembered */
	AIRLOCK_NOTE_LINK_UNANSWERED,  /* subject: a symlink and where it leads */
	AIRLOCK_NOTE_LINKS_UNANSWERED, /* subject: several */
	AIRLOCK_NOTE_NOT_OBSERVED,     /* so nobody knows what was refused */
	AIRLOCK_NOTE_REFUSED,	       /* subject: a system call that the filter refused; other: what would allow it */
	AIRLOCK_NOTE_REFUSED_MORE,     /* number: of calls that were not written down */
	AIRLOCK_NOTE_HOST_REFUSED,     /* subject: host and port; cause: by what; other: what would allow it */
	AIRLOCK_NOTE_AGENT_SIGNED_IN, /* subject: a file with credentials that the agent changed; it is in the home now */
	AIRLOCK_NOTE_AGENT_NOT_HOME, /* subject: a file of the agent that was changed outside meanwhile: the agent's stays with
					  other, the session */
	AIRLOCK_NOTE_AGENT_READ_ONLY,  /* subject: a directory of the agent that cannot have a layer */
	AIRLOCK_NOTE_AGENT_UPDATES,    /* subject: the agent's title; told once */
	AIRLOCK_NOTE_AGENT_BUSY,       /* subject: the session, in which another agent runs with the private files */
	AIRLOCK_NOTE_NO_GATE,	       /* subject: the backend, which cannot filter connections by host */
	AIRLOCK_NOTE_NOT_COPIED,       /* number: of entries that you may not read; subject: one of them */
	AIRLOCK_NOTE_OUTSIDE_NAMES,    /* number: of files with another name outside; subject: one of them */
	AIRLOCK_NOTE_CLOCK_BACK,       /* number: seconds */
	AIRLOCK_NOTE_CHANGES_UNREAD,   /* subject: the run's directory, which has all that the command wrote */
	AIRLOCK_NOTE_CHANGES_NOT_KEPT, /* the same, until `airlock gc` */
	/* The changes of the run. */
	AIRLOCK_NOTE_LEFT_OUT,		/* subject: a path that cannot be read; without cause it is a mount point */
	AIRLOCK_NOTE_CONTENT_LEFT_OUT,	/* the same, and what is in it is left out */
	AIRLOCK_NOTE_SOME_LEFT_OUT,	/* the same, and some of what is in it is left out */
	AIRLOCK_NOTE_CHANGES_LEFT_OUT,	/* the same, and what the command changed in it is left out */
	AIRLOCK_NOTE_TAKEN_AS_CHANGED,	/* the same, and it is taken as changed */
	AIRLOCK_NOTE_ALL_TAKEN_CHANGED, /* the same, with what else the command touched beside it */
	AIRLOCK_NOTE_UNREAD_MORE,	/* number: of more such paths */
	AIRLOCK_NOTE_ACL_LOST,		/* subject: a path */
	/* Applying, undoing, recovering. */
	AIRLOCK_NOTE_WAITING,		 /* number: of changes that wait for others */
	AIRLOCK_NOTE_LINK_SPLIT,	 /* subject: a path whose other names keep the old content */
	AIRLOCK_NOTE_LINK_NOT_MADE,	 /* subject: a path; other: the name it shares no more; number: of more such */
	AIRLOCK_NOTE_KEPT_ASIDE,	 /* subject: a path; other: the name of what was there, in before/ */
	AIRLOCK_NOTE_MODES_NOT_RESTORED, /* of directories */
	AIRLOCK_NOTE_CHANGED_MEANWHILE,	 /* subject: a path that stays as it is */
	AIRLOCK_NOTE_INTERRUPTED,	 /* the apply; the next start finishes it */
	AIRLOCK_NOTE_APPLY_FINISHED,	 /* subject: the run whose apply was interrupted */
	AIRLOCK_NOTE_APPLY_REVERTED,	 /* subject: that run */
	AIRLOCK_NOTE_UNDO_FINISHED,	 /* subject: the run whose undo was interrupted */
	AIRLOCK_NOTE_UNDO_REVERTED,	 /* subject: that run */
	AIRLOCK_NOTE_NOT_RECOVERED,	 /* subject: the journal of an interrupted apply */
	AIRLOCK_NOTE_RECOVERY_TROUBLE,	 /* only cause */
	AIRLOCK_NOTE_TAKEN_OUT,		 /* subject: an interrupted run, whose changes are held now */
	AIRLOCK_NOTE_NOT_TAKEN_OUT,	 /* subject: an interrupted run, whose changes are still in the project */
	AIRLOCK_NOTE_NOT_TAKEN_BACK,	 /* what was applied */
	AIRLOCK_NOTE_UNDO_NOT_RECORDED,	 /* it was undone */
	AIRLOCK_NOTE_REDO_NOT_RECORDED,	 /* it was done again */
	/* The history. */
	AIRLOCK_NOTE_RECORDS_STALE,  /* those of the files */
	AIRLOCK_NOTE_HISTORY_GAP,    /* this run is missing in the history */
	AIRLOCK_NOTE_HISTORY_BEHIND, /* it cannot be brought up to date */
	/* Sessions. */
	AIRLOCK_NOTE_STEP_NOT_TOLD,	  /* subject: the session, which does not know of this step */
	AIRLOCK_NOTE_BACKGROUND,	  /* number: of processes of the session that go on; subject: what they are */
	AIRLOCK_NOTE_SESSION_OWN_SANDBOX, /* subject: the session, whose namespaces are not what this command needs */
	AIRLOCK_NOTE_SESSION_OWN_NETWORK, /* subject: the session, of which another command has the network */
	AIRLOCK_NOTE_SESSION_DISK, /* subject: the session, which has written more than number bytes, so the command was
					     killed; for a person, other: the setting; cause: its processes were ended, or NULL */
	AIRLOCK_NOTE_SESSION_TMP,  /* the same; its /tmp has more than number bytes */
	AIRLOCK_NOTE_SESSION_PIDS, /* subject: the session, of which --pids counts this command alone */
	AIRLOCK_NOTE_SESSION_NOT_TOLD, /* subject: the session, which does not know of this decision yet */
	/* Runs whose airlock was killed. */
	AIRLOCK_NOTE_CUT_SHORT,	   /* subject: the run, whose changes are held now; other: its session, or NULL */
	AIRLOCK_NOTE_CUT_NOT_READ, /* subject: the run, whose changes cannot be read now */
};

struct airlock_note {
	enum airlock_note_code code;
	const char *subject, *other, *cause; /* bytes; NULL where the code has none */
	int64_t number;
};

const char *airlock_note_name(enum airlock_note_code code); /* "link-split", as in the result; NULL for others */
/* One line, safe to print. The caller's: airlock_free. NULL: out of memory. */
char *airlock_note_text(const struct airlock_note *note);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
