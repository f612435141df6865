/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What airlock remembers: runs, projects and their files, backups.
 *
 *   char *text = NULL;
 *   size_t count = 0;
 *   if (airlock_log(s, 20, 1, &text, &count, &err) < 0)
 *           return err.code;
 *   airlock_free(text);
 *
 * Texts are the caller's: airlock_free. json: the object that the command prints with --json, ending with a newline;
 * otherwise lines for a person.
 */
#ifndef AIRLOCK_HISTORY_H
#define AIRLOCK_HISTORY_H

#include <stddef.h>
#include <stdint.h>

#include <airlock/airlock.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/* ── Runs ── */

/* Who asks for what is run with these settings: "cli", "mcp: name of the client". Told in the history; copied. */
int airlock_settings_set_asked_by(struct airlock_settings *s, const char *who, struct airlock_error *err);

/* Runs, newest first, at most limit of them (-1: all); of one project when the option "project" is set. ret_count: how
 * many there are in the text. */
int airlock_log(const struct airlock_settings *s, int64_t limit, int json, char **ret_text, size_t *ret_count,
		struct airlock_error *err);
/* The same for the project the caller is in. Where that has no runs: those of all projects, and *ret_is_all is 1. */
int airlock_log_here(const struct airlock_settings *s, int64_t limit, int json, char **ret_text, size_t *ret_count,
		     int *ret_is_all, struct airlock_error *err);
/* Is the audit file as it was written? 0: yes; above 0: so many places are not, and the text says which. */
int airlock_log_verify(const struct airlock_settings *s, char **ret_text, struct airlock_error *err);

/* One run in full. run: an id, a unique prefix of one, or "last". */
int airlock_history_show(const struct airlock_settings *s, const char *run, int json, char **ret_text,
			 struct airlock_error *err);
/* The whole captured output, or that to stderr, written to a descriptor of the caller; waits for its reader. A reader that
 * is gone is no error, but SIGPIPE is for the caller to ignore, as with write(2). */
int airlock_history_output(const struct airlock_settings *s, const char *run, int want_stderr, int fd,
			   struct airlock_error *err);

/* ── Projects, their files, and backups of these ── */

/* dir: NULL is the project found from here. add and scan search the project's symlinks anew and record its files; the text
 * lists its roots. progress may be NULL; otherwise it is called now and then from within, with the number of files seen. */
int airlock_project_add(const struct airlock_settings *s, const char *dir, void (*progress)(size_t seen, void *data),
			void *data, int json, char **ret_text, struct airlock_error *err);
int airlock_project_scan(const struct airlock_settings *s, const char *dir, void (*progress)(size_t seen, void *data),
			 void *data, int json, char **ret_text, struct airlock_error *err);
int airlock_project_list(const struct airlock_settings *s, int json, char **ret_text, struct airlock_error *err);
int airlock_project_show(const struct airlock_settings *s, const char *dir, int json, char **ret_text,
			 struct airlock_error *err);
/* Its records go; its files, backups and runs stay. ret_dir: what it was. */
int airlock_project_remove(const struct airlock_settings *s, const char *dir, char **ret_dir,
			   struct airlock_error *err);

/* The records of a project; deleted: those that can be brought back. */
int airlock_files(const struct airlock_settings *s, const char *dir, int deleted, int json, char **ret_text,
		  struct airlock_error *err);
/* Daily backups, newest first: of one file, or (path NULL) of all. */
int airlock_backups(const struct airlock_settings *s, const char *path, int json, char **ret_text,
		    struct airlock_error *err);
/* Puts the newest backup of a file, or that of a day ("26-11-15"), in its place, as a run that can be undone. ret_run: its
 * id; ret_text: what was changed. AIRLOCK_ERR_CONFLICT: somebody changes it right now. */
int airlock_restore(const struct airlock_settings *s, const char *path, const char *date, char **ret_run,
		    char **ret_text, struct airlock_error *err);

/* ── Cleaning up ── */

/* Removes what runs that crashed have left, backups and runs past their retention. Changes that are held stay, and so does
 * everything of a run that goes on. dry_run: only tells. ret_count: how many things. */
int airlock_gc(const struct airlock_settings *s, int dry_run, int json, char **ret_text, size_t *ret_count,
	       struct airlock_error *err);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
