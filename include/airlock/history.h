/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What airlock remembers: runs, projects and their files, backups.
 *
 *   char *text = NULL;
 *   if (airlock_log(settings, 20, 1, &text, &err) < 0) …
 *   airlock_free(text);
 *
 * Texts are the caller's: airlock_free. json: CONTRACT's object, ending with a newline; otherwise lines for a person.
 */
#ifndef AIRLOCK_HISTORY_H
#define AIRLOCK_HISTORY_H

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
/* Is the audit file as it was written? 0: yes; above 0: so many places are not, and the text says which. */
int airlock_log_verify(const struct airlock_settings *s, char **ret_text, struct airlock_error *err);

/* One run in full. run: an id, a unique prefix of one, or "last". */
int airlock_history_show(const struct airlock_settings *s, const char *run, int json, char **ret_text,
			 struct airlock_error *err);
/* The whole captured output, or that to stderr, written to a descriptor of the caller. */
int airlock_history_output(const struct airlock_settings *s, const char *run, int want_stderr, int fd,
			   struct airlock_error *err);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
