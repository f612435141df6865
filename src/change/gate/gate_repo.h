/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A git repository in the roots, as it was before the run and as it will be: its objects, its references, the commits that
 * references reached before. See docs/design/gate-git.md. */
#pragma once

#include "change/gate/gate.h"
#include "git/objects.h"

#define REPO_MAX_REFS 1000000 /* references in all */
#define REPO_MAX_ALTERNATES 8
#define REPO_MAX_TIPS 400

struct oids {
	struct git_oid *v;
	size_t n, cap;
};
int oids_add(struct oids *l, const struct git_oid *oid); /* 0 or -ENOMEM */
void oids_sort(struct oids *l);
bool oids_has(const struct oids *sorted, const struct git_oid *oid);

struct gate_repo {
	struct gate *g;
	size_t root; /* where the git directory is: the common one, of worktrees */
	char *dir;   /* "" is the root itself */
	size_t top_root;
	char *top;			     /* of the work tree; of a repository without one, the git directory */
	bool is_new;			     /* the run has made it */
	bool is_reftable;		     /* references are in a format that is not read here */
	int alternates[REPO_MAX_ALTERNATES]; /* object directories elsewhere, O_PATH */
	size_t n_alternates;
	struct git_files files;
	struct git_objects objects;
	struct oids old;  /* what references named before the run, sorted */
	struct oids tips; /* some of them, branches first */
	int old_rc;	  /* 1: not read yet, 0, or why they could not be */
	struct oids own;  /* trees of commits that were reachable before, newest first */
	bool own_known;
	struct oids near; /* what the changed references named before: where a walk begins */
};

/* The repository with this git directory, opened at the first call. NULL: out of memory. */
struct gate_repo *gate_repo_get(struct gate *g, size_t root, const char *dir);
/* The repository in whose work tree a path lies, by the live tree. NULL: none. */
struct gate_repo *gate_repo_above(struct gate *g, size_t root, const char *path);
void gate_repos_close(struct gate *g);

/* True when path is one of git's own records of where it stands: HEAD, a reference, an index. ret_dir: the git directory
 * it belongs to, the caller's; ret_rest: the rest of c->path. Both may be NULL. */
bool gate_is_bookkeeping(struct gate *g, size_t root, const char *path, char **ret_dir, const char **ret_rest);
/* The same for what git has left half done: a merge, a rebase, a sequence of picks. */
bool gate_is_unfinished(struct gate *g, size_t root, const char *path, char **ret_dir, const char **ret_rest);

/* The same for files in which git keeps objects. */
bool gate_is_of_objects(struct gate *g, size_t root, const char *path, char **ret_dir, const char **ret_rest);

/* For struct git_files: what was there before the run; context is the repository. */
int gate_repo_open_before(void *context, const char *path);
int gate_repo_list_before(void *context, const char *dir, struct strs *ret);
/* A regular file as it will be, or -errno. */
int gate_repo_open_after(struct gate_repo *repo, const char *path);

/* Reads everything references named before the run into repo->old. 0 or -errno. */
int gate_repo_read_old(struct gate_repo *repo);
/* The objects named in the text of a reference, packed-refs or a reflog: rest says which of them it is. */
int gate_refs_parse(const struct gate_repo *repo, const char *rest, const struct buf *text, struct oids *ret);
/* Those in a file for which gate_is_unfinished is true: every word that is one. */
int gate_unfinished_parse(const struct gate_repo *repo, const struct buf *text, struct oids *ret);
/* True when packed-refs has a replacement of an object that it had not before. */
bool gate_packed_replaces(const struct buf *before, const struct buf *after);
/* False when the text of a reference leads to what is none itself, and so is not looked into. */
bool gate_ref_leads_to_ref(const struct buf *text);

/* A path below the repository's git directory, before and after the run; limit: bytes. As gate_read_before. */
int gate_repo_read(struct gate_repo *repo, const char *path, bool after, size_t limit, struct buf *ret);

/* The commit an object is, or a tag leads to, whose name oid becomes. 0, -EBADMSG when it is none, or as git_object_read. */
int gate_repo_read_commit(struct gate_repo *repo, struct git_oid *oid, struct git_commit *ret);

/* ── gate_own.c ── */

/* True when a commit that was reachable before the run has this very object at this path of its tree, or the live tree has
 * it there. */
bool gate_repo_has_own(struct gate_repo *repo, const char *path, uint32_t mode, const struct git_oid *blob);
/* True when what c is now was in a commit of its repository before the run: then it is the person's own. */
bool gate_is_own(struct gate *g, const struct change *c);

/* ── gate_index.c ── */

/* before: the object that was staged under the same name, or NULL. Ends with the first that does not return 0; -errno is an
 * error. */
typedef int gate_staged(void *context, const char *path, uint32_t mode, const struct git_oid *oid,
			const struct git_oid *before);
/* Tells each entry of an index that it had not before the run; hash: of the repository. 0, -EBADMSG or what tell said. */
int gate_index_each_new(struct gate *g, const struct change *c, size_t hash, gate_staged *tell, void *context);

/* ── gate_commits.c ── */

/* Holds references to commits that bring sensitive files. 0 or -ENOMEM. */
int gate_judge_commits(struct gate *g, const struct gate_rules *rules);

/* ── gate_objects.c ── */

/* Holds files of objects that give something known another content. 0 or -ENOMEM. */
int gate_judge_objects(struct gate *g);

/* ── gate_whole.c ── */

/* Holds all when something of a run that changed git's bookkeeping is held. 0 or -ENOMEM. */
int gate_hold_whole(struct gate *g);
