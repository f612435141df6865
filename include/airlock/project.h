/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Projects: which directories are nobody's project.
 *
 *   enum airlock_unclaimed why = AIRLOCK_CLAIMABLE;
 *   if (airlock_project_unclaimed(settings, "/home/me/.codex", &why, &err) < 0) …
 *   if (why != AIRLOCK_CLAIMABLE)
 *           printf("%s is %s\n", dir, airlock_unclaimed_words(why));
 */
#ifndef AIRLOCK_PROJECT_H
#define AIRLOCK_PROJECT_H

#include <stddef.h>

#include <airlock/airlock.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/* ── The project of a directory ── */

/* The project that a command started in `dir` would have: dir, or the nearest directory above it that is marked as one. A
 * relative dir starts at the current directory. AIRLOCK_ERR_INVALID: dir is nobody's project. The path is real, and the
 * caller's: airlock_free. */
int airlock_project_find(const struct airlock_settings *s, const char *dir, char **ret_dir, struct airlock_error *err);

/* ── Directories that are nobody's project ── */

/* Why airlock does not take a directory as the project by itself. A person who names it (-p, `airlock project add`) gets it. */
enum airlock_unclaimed {
	AIRLOCK_CLAIMABLE,		  /* nothing stands against it */
	AIRLOCK_UNCLAIMED_ROOT,		  /* / */
	AIRLOCK_UNCLAIMED_HOME,		  /* $HOME */
	AIRLOCK_UNCLAIMED_ABOVE_HOME,	  /* contains $HOME */
	AIRLOCK_UNCLAIMED_DOT_DIRECTORY,  /* ~/.x and everything below */
	AIRLOCK_UNCLAIMED_AGENT_SETTINGS, /* .claude, .codex, … anywhere, but not their worktrees */
	AIRLOCK_UNCLAIMED_TEMPORARY,	  /* /tmp, /var/tmp, /dev/shm */
	/* Below one of these, and not in $HOME. `airlock run` takes such a directory: people try things there. */
	AIRLOCK_UNCLAIMED_IN_TEMPORARY,
};

/* dir must exist. A directory that a person made a project with `airlock project add` is claimable. */
int airlock_project_unclaimed(const struct airlock_settings *s, const char *dir, enum airlock_unclaimed *ret,
			      struct airlock_error *err);
/* What the directory is, to follow "DIR is ": "the home directory". */
const char *airlock_unclaimed_words(enum airlock_unclaimed reason);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
