/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which directories are the project: detection, symlinked roots, git directories; remembered and verified.
 *
 * A root is a directory the command may write to. The project is the first; the directories follow that its symlinks lead
 * to and a person has allowed, and the git directory of a worktree or submodule. The search for symlinks happens when the
 * project is first seen, on `airlock project scan` and `links`; each run only verifies what was found then. An answer is
 * about a link and its target: one that leads elsewhere now is a new link that nobody has answered, because a command, or
 * whoever wrote the repository, could have turned it (I10).
 */
#pragma once

#include "airlock/project.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/notes.h"
#include "base/rule_origin.h"

struct project_root {
	char *path;		       /* real path: absolute, normal, no symlink in it */
	struct airlock_origin because; /* its name is that of one of the project's links */
};

/* A symlink that leads out. See struct airlock_link. */
struct project_link {
	char *path;
	char *target;
	char *before; /* or NULL */
	char *secret; /* refused because of it; or NULL */
	enum airlock_link_state state;
	enum airlock_link_reason reason;
	bool granted; /* nobody has answered it, but it is a root for this run */
};
void project_link_done(struct project_link *l);

struct project {
	char *dir;		    /* real path */
	struct project_root *roots; /* roots[0] is the project; none lies inside another */
	size_t n_roots;
	struct project_link *links; /* a link in another root comes after the link that made it a root */
	size_t n_links;
	/* Refused links and why, directories not searched: sentences for a person, with paths as raw bytes. */
	struct notes notes;
};

struct project_query {
	const char *dir;  /* the project, real path as given by project_detect */
	const char *home; /* real path of $HOME, or NULL: then no link makes a root */
	/* Links are stored in <state_dir>/projects/<hash>/links. If it is NULL or in the project, nothing is stored
	 * and every call searches. */
	const char *state_dir;
	/* Adds absolute paths that no link may lead to, into or above, besides state_dir. They need not exist and may contain symlinks. NULL:
	 * there are none. Called only if there is a link to judge: there are hundreds of them. */
	void (*list_secrets)(const void *data, struct strs *ret);
	const void *secrets_data;
	bool rescan; /* search again and store the result; answers stay */
	/* Roots for this run: all links that nobody has answered, or these if they still lead there (NULL: none). */
	bool grant_all;
	const struct project_link *grants;
	size_t n_grants;
	/* Called about every 4096 entries while searching, may be NULL. */
	void (*progress)(size_t entries_seen, void *data);
	void *progress_data;
};

/* The project directory: `wanted` when not NULL (any directory, also / and $HOME), else the nearest directory from cwd
 * upward with .git or .airlock.toml, else cwd. Unless wanted, directories that are nobody's project (unclaimed.h) are never
 * taken: a marker there does not count, and cwd being one is AIRLOCK_ERR_INVALID with a hint that names -p. Missing (also cwd, when it is
 * needed and NULL): AIRLOCK_ERR_NOT_FOUND; not a directory or empty: AIRLOCK_ERR_INVALID. home may be a symlink or NULL.
 * Real path, owned by the caller. */
int project_detect(const char *wanted, const char *cwd, const char *home, char **ret_dir, struct airlock_error *err);

/* The same, but a directory added with `airlock project add` counts as marked too. */
int project_detect_known(const char *wanted, const char *cwd, const char *home, const char *state_dir, char **ret_dir,
			 struct airlock_error *err);

/* A mark beside the stored links, so that a run need not open the database. */
bool project_is_known(const char *state_dir, const char *dir);
int project_set_known(const char *state_dir, const char *dir, bool known, struct airlock_error *err);

/* Links and directories that cannot be used become notes. Fails if the stored links cannot be read (a damaged file is
 * searched again), and out of memory or descriptors. */
int project_open(const struct project_query *q, struct project **ret, struct airlock_error *err);
void project_free(struct project *p);

/* Stores a person's answer (allowed or denied) to each of these links. A no revokes every yes to the same link,
 * whatever its target was. AIRLOCK_ERR_UNAVAILABLE: nothing is stored for this project. */
int project_answer(const struct project_query *q, const struct project_link *links, size_t n,
		   enum airlock_link_state answer, struct airlock_error *err);
/* 1: the link at path is stored, with a target it had; owned by the caller. */
int project_find_answer(const struct project_query *q, const char *path, struct project_link *ret);
/* Forgets the links and their answers. */
int project_forget_links(const char *state_dir, const char *dir, struct airlock_error *err);

/* Where the link at path (relative to the project, or absolute) leads, unanswered; owned by the caller. The link must lie in
 * one of p's roots. See links_look for the errors. */
int project_look_at_link(const struct project_query *q, const struct project *p, const char *path,
			 struct project_link *ret, struct airlock_error *err);
