/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which directories are the project: detection, symlinked roots, git directories; remembered and verified.
 *
 * A root is a directory the command may write to. The project is the first; the directories its symlinks lead to
 * follow, and the git directory of a worktree or submodule. The search for symlinks happens when the project is first
 * seen and on `airlock project scan`; each run only verifies what was found then: a link that leads elsewhere now is
 * no root any more until a person scans again, because a command could have re-pointed it (I10).
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"

struct project_root {
	char *path;    /* real path: absolute, normal, no symlink in it */
	char *because; /* "project", "symlink lib in the project", "git directory of this worktree" */
};

struct project {
	char *dir;		    /* real path */
	struct project_root *roots; /* roots[0] is the project; none lies inside another */
	size_t n_roots;
	struct strs notes; /* links left out and why, links that changed: sentences for a person */
};

struct project_query {
	const char *dir;  /* the project, real path as given by project_detect */
	const char *home; /* real path of $HOME, or NULL */
	const char *
		state_dir; /* where links are remembered: <state_dir>/projects/<hash>/links; must not lie in the project */
	const char *const *secrets; /* NULL-terminated absolute paths no link may lead to, into or above */
	bool rescan;		    /* search again and remember anew */
	/* Called now and then while searching, may be NULL. */
	void (*progress)(size_t entries_seen, void *data);
	void *progress_data;
};

/* The project directory: `wanted` when not NULL (any directory, also / and $HOME), else the nearest directory from cwd
 * upward with .git or .airlock.toml, else cwd. / and $HOME are never taken unless wanted: AIRLOCK_ERR_INVALID with a
 * hint that names -p. Missing: AIRLOCK_ERR_NOT_FOUND; not a directory: AIRLOCK_ERR_INVALID. Real path. */
int project_detect(const char *wanted, const char *cwd, const char *home, char **ret_dir, struct airlock_error *err);

int project_open(const struct project_query *q, struct project **ret, struct airlock_error *err);
void project_free(struct project *p);
