/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sessions: several commands as one piece of work. Each command sees what the ones before it did, and a person decides about all of
 * their changes together.
 *
 *   airlock_settings_set(s, "session", "work", "me", &err); // every run with these settings is a command of the session
 *   struct airlock_session *work = NULL;
 *   if (airlock_session_open(s, "work", &work, &err) < 0)
 *           return err.code; // AIRLOCK_ERR_NOT_FOUND: this project has none of that name
 *   for (size_t i = 0; i < airlock_session_step_count(work); i++)
 *           printf("%s\n", airlock_session_step_at(work, i)->command);
 *   airlock_session_free(work);
 *
 * The functions of changes.h take the name of a session wherever they take a run. A session belongs to a project: the one that the
 * settings name, or that the caller is in. Everything an object hands out lives as long as the object.
 */
#ifndef AIRLOCK_SESSION_H
#define AIRLOCK_SESSION_H

#include <stddef.h>
#include <stdint.h>

#include <airlock/airlock.h>
#include <airlock/changes.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

enum airlock_session_state {
	AIRLOCK_SESSION_OPEN,
	AIRLOCK_SESSION_ENDED, /* closed; what it holds stays, and the next command opens it again */
};
/* "open", "ended". Live for ever. */
const char *airlock_session_state_name(enum airlock_session_state state);

struct airlock_session_info {
	const char *name;
	const char *project;
	enum airlock_session_state state;
	int holds;	    /* its changes, until a person decides; else each command's are applied */
	size_t steps;	    /* commands that changed something */
	size_t held;	    /* changes that wait for a decision */
	size_t processes;   /* that its commands started and that still run */
	int64_t created_ns; /* since 1970 */
	int64_t last_used_ns;
};

/* A command that changed something. */
struct airlock_session_step {
	uint64_t number;
	const char *run;
	const char *command;
	int exit_code;
	size_t count;	/* of changes */
	int is_decided; /* applied or thrown away, in part at least: rewind cannot take it back */
};

/* A process that a command left in the background. */
struct airlock_session_process {
	int64_t pid; /* outside of the sandbox */
	const char *command;
	int64_t started_ns; /* since 1970 */
};

/* The bytes on the disk that a session has written, and its limits. */
struct airlock_session_usage {
	int64_t disk, disk_limit; /* all its layers, those of running commands too; limit -1: none */
	int64_t tmp, tmp_limit;	  /* its /tmp */
};

struct airlock_session;
struct airlock_sessions;

/* ── Looking ── */

/* Those of the project, or with all those of every project, by name. */
int airlock_sessions_open(const struct airlock_settings *s, int all, struct airlock_sessions **ret,
			  struct airlock_error *err);
size_t airlock_sessions_count(const struct airlock_sessions *l);
const struct airlock_session_info *airlock_sessions_at(const struct airlock_sessions *l, size_t i);
/* Those whose record cannot be read; they are not among the others. */
struct airlock_session_damage {
	const char *name;
	struct airlock_error error;
};
size_t airlock_sessions_damaged_count(const struct airlock_sessions *l);
const struct airlock_session_damage *airlock_sessions_damaged_at(const struct airlock_sessions *l, size_t i);
/* What `airlock session list --json` prints; ends with a newline. NULL: out of memory. */
const char *airlock_sessions_json(struct airlock_sessions *l);
void airlock_sessions_free(struct airlock_sessions *l);

/* AIRLOCK_ERR_NOT_FOUND: the project has none of that name; AIRLOCK_ERR_USAGE: that is no name of a session. */
int airlock_session_open(const struct airlock_settings *s, const char *name, struct airlock_session **ret,
			 struct airlock_error *err);
const struct airlock_session_info *airlock_session_info(const struct airlock_session *session);
size_t airlock_session_step_count(const struct airlock_session *session);
const struct airlock_session_step *airlock_session_step_at(const struct airlock_session *session, size_t i);
size_t airlock_session_process_count(const struct airlock_session *session);
const struct airlock_session_process *airlock_session_process_at(const struct airlock_session *session, size_t i);
const struct airlock_session_usage *airlock_session_usage(const struct airlock_session *session);
/* What its commands changed, taken together. */
const struct airlock_changes *airlock_session_changes(const struct airlock_session *session);
/* What `airlock session show --json` prints; ends with a newline. NULL: out of memory. */
const char *airlock_session_json(struct airlock_session *session);
void airlock_session_free(struct airlock_session *session);

/* The session that the settings name for their runs (the option, or AIRLOCK_SESSION); NULL: none. Lives as long as the settings. */
const char *airlock_settings_session(const struct airlock_settings *s);

/* Git-style unified diff from what one session shows to what another does. The text is the caller's: airlock_free. */
int airlock_session_diff(const struct airlock_settings *s, const char *name, const char *other, int colour,
			 char **ret_text, struct airlock_error *err);

/* Could a session be called that? "[A-Za-z][A-Za-z0-9._-]{0,63}", and not "last". */
int airlock_session_is_name(const char *name);
/* Does the project have a session of that name? Never fails: a name that cannot be one is none. */
int airlock_session_exists(const struct airlock_settings *s, const char *name);

/* ── Doing ── */

/* name NULL: one is made up. The setting "changes" says whether it holds its changes ("hold", "ask") or applies them.
 * *ret_name is the caller's: airlock_free. AIRLOCK_ERR_CONFLICT: the project has one of that name. */
int airlock_session_new(const struct airlock_settings *s, const char *name, char **ret_name, struct airlock_error *err);
/* Drops the held steps after this one; 0 drops all of them. AIRLOCK_ERR_CONFLICT: one of them was applied or thrown away. */
int airlock_session_rewind(const struct airlock_settings *s, const char *name, uint64_t step,
			   struct airlock_error *err);
/* A second session that goes on from where this one is. AIRLOCK_ERR_CONFLICT: the project has one of that name. */
int airlock_session_fork(const struct airlock_settings *s, const char *name, const char *new_name,
			 struct airlock_error *err);
/* What one session changed becomes a step of another. Paths that both changed are merged as text. AIRLOCK_ERR_CONFLICT: some cannot
 * be, nothing was merged, and *ret_conflicts has their paths, one a line, the caller's to airlock_free. *ret_step: 0: there was nothing
 * to merge. */
int airlock_session_merge(const struct airlock_settings *s, const char *name, const char *into, uint64_t *ret_step,
			  char **ret_conflicts, struct airlock_error *err);
/* Ends all its processes, those of a command that is running too, closes it and empties its /tmp. What the session holds stays. */
int airlock_session_end(const struct airlock_settings *s, const char *name, struct airlock_error *err);
/* Ends all its processes and forgets it; its runs stay in the history. AIRLOCK_ERR_CONFLICT: it holds changes. */
int airlock_session_remove(const struct airlock_settings *s, const char *name, struct airlock_error *err);

/* From now on, the processes of sessions that runs of this program bring to life end with the program, however it ends. For servers.
 * Otherwise they end with airlock_session_end, after [session] idle_timeout, or when the user logs out. */
int airlock_sessions_end_with_program(struct airlock_error *err);

/* A command in a workspace needs empty directories there to mount the system's on. Each makes and removes them, unless somebody holds
 * them: then they stay, and airlock/files.h does not list them. For servers that run many commands in one workspace. Released, they are
 * removed, unless a command still runs there. Those of a program that was killed go with the next command, or hold and release. */
struct airlock_workspace_hold;
int airlock_job_hold_workspace(const struct airlock_job *job, struct airlock_workspace_hold **ret,
			       struct airlock_error *err);
void airlock_workspace_release(struct airlock_workspace_hold *hold);
/* Before airlock_run_start: commands of a session share the mounts, too, from the second on. They are made anew when the next command
 * would have others. hold is borrowed until the run was started. */
void airlock_job_use_hold(struct airlock_job *job, struct airlock_workspace_hold *hold);

/* The number of processes of its session that were still running when the run ended. */
size_t airlock_run_background(const struct airlock_run *run);
/* Of a run that is over: the session it is a command of, or NULL; and the step that it has become, 0: it changed nothing, or what it
 * changed stands apart. */
const char *airlock_run_session(const struct airlock_run *run);
uint64_t airlock_run_step(const struct airlock_run *run);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
