/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What airlock remembers: runs, projects and their files, backups, answers, caches; and cleaning it up.
 *
 *   struct airlock_log *log = NULL;
 *
 *   if (airlock_log_open(s, AIRLOCK_LOG_HERE, 20, &log, &err) < 0)
 *           return err.code;
 *   for (size_t i = 0; i < airlock_log_count(log); i++)
 *           printf("%s\n", airlock_log_at(log, i)->id);
 *   airlock_log_free(log);
 *
 * Every list is an object: …_count, …_at (NULL: there is no such one) and …_free; …_json is what the command prints with
 * --json, ends with a newline and is NULL when memory is short. What an object hands out lives as long as the object. Texts
 * are never NULL where nothing else is said; paths and commands are bytes, not for a terminal (airlock_text_inert). Times
 * are nanoseconds since 1970.
 */
#ifndef AIRLOCK_HISTORY_H
#define AIRLOCK_HISTORY_H

#include <stddef.h>
#include <stdint.h>

#include <airlock/changes.h>
#include <airlock/config.h>
#include <airlock/project.h>
#include <airlock/result.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/* ── Runs ── */

/* Who asks for what is run with these settings: "cli", "mcp: name of the client". Told in the history; copied. */
int airlock_settings_set_asked_by(struct airlock_settings *s, const char *who, struct airlock_error *err);

struct airlock_past_run {
	const char *id;
	const char *command;		   /* as one shell line */
	const char *project, *working_dir; /* "": not known */
	const char *asked_by;
	int64_t started_ns;
	enum airlock_status status;
	int exit_code; /* -1: it has none */
	enum airlock_changes_state changes_state;
	size_t change_count;
	const char *session; /* that it is a command of; NULL: of none */
	uint64_t step;	     /* that it has become; 0: none */
};

enum airlock_log_scope {
	AIRLOCK_LOG_NAMED, /* of the option "project", or without that option of all projects */
	AIRLOCK_LOG_HERE,  /* of the project the caller is in; of all projects where that has no runs */
};

/* Newest first, at most limit of them (-1: all). */
struct airlock_log;
int airlock_log_open(const struct airlock_settings *s, enum airlock_log_scope scope, int64_t limit,
		     struct airlock_log **ret, struct airlock_error *err);
size_t airlock_log_count(const struct airlock_log *l);
const struct airlock_past_run *airlock_log_at(const struct airlock_log *l, size_t i);
int airlock_log_is_of_all(const struct airlock_log *l); /* the runs of all projects */
const char *airlock_log_json(struct airlock_log *l);
void airlock_log_free(struct airlock_log *l);
/* Returns a descriptor that becomes readable when a run began or ended, somebody decided about changes, or a session changed; the
 * bytes have no meaning. The caller closes it. */
int airlock_log_watch(const struct airlock_settings *s, int *ret_fd, struct airlock_error *err);

/* Is the audit file as it was written? Then there is no fault. */
enum airlock_audit_fault_kind {
	AIRLOCK_AUDIT_NOT_WHOLE,    /* the line is not one that airlock writes */
	AIRLOCK_AUDIT_OUT_OF_PLACE, /* the line is missing, or not where it was */
	AIRLOCK_AUDIT_CHANGED,	    /* the line was changed after it was written */
	AIRLOCK_AUDIT_BEGINNING,    /* the first line does not begin the chain */
	AIRLOCK_AUDIT_MISSING,	    /* the line was written, and the end of the file is gone */
};
struct airlock_audit_fault {
	const char *file; /* its name in the audit directory */
	int64_t line;	  /* its number; the first has 1 */
	enum airlock_audit_fault_kind kind;
};
struct airlock_audit;
int airlock_audit_verify(const struct airlock_settings *s, struct airlock_audit **ret, struct airlock_error *err);
uint64_t airlock_audit_lines(const struct airlock_audit *a); /* how many were looked at */
size_t airlock_audit_count(const struct airlock_audit *a);
const struct airlock_audit_fault *airlock_audit_at(const struct airlock_audit *a, size_t i);
const char *airlock_audit_json(struct airlock_audit *a);
void airlock_audit_free(struct airlock_audit *a);

/* One run in full. run: an id, a unique prefix of one, or "last". */
struct airlock_history;
int airlock_history_open(const struct airlock_settings *s, const char *run, struct airlock_history **ret,
			 struct airlock_error *err);
const struct airlock_past_run *airlock_history_run(const struct airlock_history *h);
/* NULL: there is no record of any. */
const struct airlock_changes *airlock_history_changes(const struct airlock_history *h);
const struct airlock_error *airlock_history_error(const struct airlock_history *h); /* code 0: it had none */

/* As in result.h. NULL: nothing ran, or it is not over. */
const struct airlock_isolation *airlock_history_isolation(const struct airlock_history *h);
const struct airlock_usage *airlock_history_usage(const struct airlock_history *h);

/* Which hosts it tried to reach, as in result.h. NULL beyond the last. */
const struct airlock_host *airlock_history_host(const struct airlock_history *h, size_t i);

/* What the sandbox refused it, as far as that was looked at. NULL beyond the last. */
struct airlock_past_denial {
	const char *text;
	const char *hint; /* what would allow it; NULL: nothing */
};
const struct airlock_past_denial *airlock_history_denial(const struct airlock_history *h, size_t i);
struct airlock_past_question {
	const char *text;   /* the last line is the question itself */
	const char *answer; /* "deny", "yes" (an option), or as airlock_answer_name says */
	const char *grant;  /* of a refused one: the command line with which a person grants it; else NULL */
};
const struct airlock_past_question *airlock_history_question(const struct airlock_history *h, size_t i);
const char *airlock_history_profile(const struct airlock_history *h); /* NULL: not known */
/* The configuration that was in force; long built-in lists are left out. */
const struct airlock_config_value *airlock_history_value(const struct airlock_history *h, size_t i);

const char *airlock_history_json(struct airlock_history *h);
void airlock_history_free(struct airlock_history *h);

/* The whole captured output, or that to stderr, written to a descriptor of the caller; waits for its reader. A reader that
 * is gone is no error, but SIGPIPE is for the caller to ignore, as with write(2). */
int airlock_history_output(const struct airlock_settings *s, const char *run, int want_stderr, int fd,
			   struct airlock_error *err);

/* ── Projects ── */

struct airlock_project_record {
	int64_t id;
	const char *path;
	int64_t file_count;	      /* files and directories that are recorded */
	int64_t added_ns, scanned_ns; /* 0: never */
};

struct airlock_projects;
int airlock_projects_open(const struct airlock_settings *s, struct airlock_projects **ret, struct airlock_error *err);
size_t airlock_projects_count(const struct airlock_projects *l);
const struct airlock_project_record *airlock_projects_at(const struct airlock_projects *l, size_t i);
const char *airlock_projects_json(struct airlock_projects *l);
void airlock_projects_free(struct airlock_projects *l);

/* One project. dir: NULL is the project found from here. */
struct airlock_project;
/* AIRLOCK_ERR_NOT_FOUND: it has no records. */
int airlock_project_open(const struct airlock_settings *s, const char *dir, struct airlock_project **ret,
			 struct airlock_error *err);
/* Searches the project's symlinks anew and records its files; what was no project yet becomes one. progress may be NULL;
 * otherwise it is called now and then from within, with the number of files seen. */
int airlock_project_scan(const struct airlock_settings *s, const char *dir, void (*progress)(size_t seen, void *data),
			 void *data, struct airlock_project **ret, struct airlock_error *err);
const struct airlock_project_record *airlock_project_record(const struct airlock_project *p);
struct airlock_project_root {
	const char *path;
	struct airlock_origin because; /* why commands may write there */
};
/* These give NULL beyond the last. */
const struct airlock_project_root *airlock_project_root(const struct airlock_project *p, size_t i);
const struct airlock_link *airlock_project_link_at(const struct airlock_project *p, size_t i);
const struct airlock_note *airlock_project_note(const struct airlock_project *p,
						size_t i); /* what could not be searched */
const char *airlock_project_json(struct airlock_project *p);
void airlock_project_free(struct airlock_project *p);

/* Its records go; its files, backups and runs stay. ret_dir: what it was. */
int airlock_project_remove(const struct airlock_settings *s, const char *dir, char **ret_dir,
			   struct airlock_error *err);

/* ── Records of a project's files, and backups of these ── */

struct airlock_record {
	int64_t id;
	const char *path; /* relative to the project; absolute in another of its roots */
	enum airlock_file_type type;
	const char *target; /* of a symlink; else NULL */
	int64_t size, mtime_ns;
	int is_text; /* -1: nobody has looked into it */
	int is_ignored, is_deleted;
	const char *backup; /* the newest; NULL: there is none */
	int64_t first_seen_ns, last_seen_ns;
};

enum airlock_records_flag {
	AIRLOCK_RECORDS_DELETED = 1, /* only those of files that are gone and can be brought back */
	AIRLOCK_RECORDS_LOOK = 2,    /* looks into files, which takes long, so that is_text is known of all */
};
struct airlock_records;
int airlock_records_open(const struct airlock_settings *s, const char *dir, unsigned flags,
			 struct airlock_records **ret, struct airlock_error *err);
size_t airlock_records_count(const struct airlock_records *l);
const struct airlock_record *airlock_records_at(const struct airlock_records *l, size_t i);
const char *airlock_records_json(struct airlock_records *l);
void airlock_records_free(struct airlock_records *l);

struct airlock_backup {
	int64_t file_id;
	const char *project;
	const char *path; /* as in the record */
	const char *date; /* "26-11-15" */
	const char *copy; /* where the backup is */
	const char *run;  /* that replaced the file on that day */
};

/* Daily backups, newest first: of one file, or (path NULL) of all. */
struct airlock_backups;
int airlock_backups_open(const struct airlock_settings *s, const char *path, struct airlock_backups **ret,
			 struct airlock_error *err);
size_t airlock_backups_count(const struct airlock_backups *l);
const struct airlock_backup *airlock_backups_at(const struct airlock_backups *l, size_t i);
const char *airlock_backups_json(struct airlock_backups *l);
void airlock_backups_free(struct airlock_backups *l);

/* Puts the newest backup of a file, or that of a day ("26-11-15"), in its place, as a run that can be undone; ret: its
 * changes. AIRLOCK_ERR_CONFLICT: somebody changes it right now. */
int airlock_restore(const struct airlock_settings *s, const char *path, const char *date, struct airlock_changes **ret,
		    struct airlock_error *err);

/* ── Answers ── */

struct airlock_permission {
	int64_t id;
	const char *kind; /* the reason of the question: "unsandboxed" */
	const char *command, *working_dir, *project;
	enum airlock_answer answer; /* one that holds for a session, or for good */
	int64_t created_ns;
};

/* Remembered answers, newest first; those of sessions that are over are left out. */
struct airlock_permissions;
int airlock_permissions_open(const struct airlock_settings *s, struct airlock_permissions **ret,
			     struct airlock_error *err);
size_t airlock_permissions_count(const struct airlock_permissions *l);
const struct airlock_permission *airlock_permissions_at(const struct airlock_permissions *l, size_t i);
const char *airlock_permissions_json(struct airlock_permissions *l);
void airlock_permissions_free(struct airlock_permissions *l);
/* Forgets one, by its id as text. AIRLOCK_ERR_NOT_FOUND: there is none. */
int airlock_permissions_revoke(const struct airlock_settings *s, const char *id, struct airlock_error *err);
/* Forgets all. */
int airlock_permissions_clear(const struct airlock_settings *s, uint64_t *ret_count, struct airlock_error *err);

/* ── Caches ── */

struct airlock_cache {
	const char *project; /* NULL: all projects share it; "?": not known any more */
	const char *path;    /* "~/.cache/pip" */
	uint64_t bytes, entries;
};

/* The caches of the home that commands have written to, each in a layer of its project's, and what they take up. */
struct airlock_caches;
int airlock_caches_open(const struct airlock_settings *s, struct airlock_caches **ret, struct airlock_error *err);
size_t airlock_caches_count(const struct airlock_caches *l);
const struct airlock_cache *airlock_caches_at(const struct airlock_caches *l, size_t i);
const char *airlock_caches_json(struct airlock_caches *l);
void airlock_caches_free(struct airlock_caches *l);
/* Removes what is in those of the project at dir, its real path; NULL: of every project. AIRLOCK_ERR_BUSY: a run uses them. */
int airlock_caches_clear(const struct airlock_settings *s, const char *dir, uint64_t *ret_entries,
			 struct airlock_error *err);

/* ── Cleaning up ── */

enum airlock_garbage_kind {
	AIRLOCK_GARBAGE_LAYERS, /* of a run that crashed or was thrown away, or that no session needs any more */
	AIRLOCK_GARBAGE_RUN,
	AIRLOCK_GARBAGE_BACKUP,
	AIRLOCK_GARBAGE_CACHES,	 /* of a project that is gone */
	AIRLOCK_GARBAGE_SESSION, /* it holds nothing, and nobody used it for as long as runs are kept */
};
struct airlock_garbage {
	enum airlock_garbage_kind kind;
	const char *name; /* the run's id, the backup's file name, the project's path */
};
/* Removes what runs that crashed have left, backups and runs past their retention. Changes that are held stay, and so does
 * everything of a run that goes on. dry_run: removes nothing. ret: what was, or would be, removed. */
struct airlock_gc;
int airlock_gc_run(const struct airlock_settings *s, int dry_run, struct airlock_gc **ret, struct airlock_error *err);
size_t airlock_gc_count(const struct airlock_gc *g);
const struct airlock_garbage *airlock_gc_at(const struct airlock_gc *g, size_t i);
const char *airlock_gc_json(struct airlock_gc *g);
void airlock_gc_free(struct airlock_gc *g);

/* Finishes or reverts interrupted applies. Also done by every run. */
struct airlock_recovery;
int airlock_recover(const struct airlock_settings *s, struct airlock_recovery **ret, struct airlock_error *err);
size_t airlock_recovery_count(const struct airlock_recovery *r);			      /* how many there were */
const struct airlock_note *airlock_recovery_note(const struct airlock_recovery *r, size_t i); /* NULL beyond the last */
const char *airlock_recovery_json(struct airlock_recovery *r);
void airlock_recovery_free(struct airlock_recovery *r);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
