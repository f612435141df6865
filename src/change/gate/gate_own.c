/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What was in a commit that references reached before the run began is the person's own: `git checkout` of a branch with a
 * workflow in it, and a rebase of such a branch, bring nothing new. The same content at the same path is looked for in the
 * trees of those commits, newest first, as far back as OWN_COMMITS; what is older is held. */
#include "change/gate/gate_repo.h"

#include "base/array.h"
#include "base/path.h"

#include <string.h>

#define OWN_COMMITS 512

/* ── The commits ── */

struct own_candidate {
	struct git_oid oid;
	struct git_commit *commit;
};

struct own_candidates {
	struct gate_repo *repo;
	struct own_candidate *v; /* waiting */
	size_t n, cap;
	struct oids seen; /* in order of arrival; few */
};

static bool was_seen(const struct own_candidates *l, const struct git_oid *oid)
{
	for (size_t i = 0; i < l->seen.n; i++)
		if (git_oid_compare(&l->seen.v[i], oid) == 0)
			return true;
	return false;
}

/* An object that cannot be read does not count as the person's own. */
static int add_candidate(struct own_candidates *l, struct git_oid oid)
{
	if (was_seen(l, &oid))
		return 0;
	struct git_commit *commit = malloc(sizeof *commit);
	if (!commit || oids_add(&l->seen, &oid) < 0 || !ARRAY_ROOM(l->v, l->n, l->cap, 16)) {
		free(commit);
		return -ENOMEM;
	}
	if (gate_repo_read_commit(l->repo, &oid, commit) < 0)
		free(commit);
	else
		l->v[l->n++] = (struct own_candidate){oid, commit};
	return 0;
}

static struct own_candidate take_newest(struct own_candidates *l)
{
	size_t newest = 0;
	for (size_t i = 1; i < l->n; i++)
		if (l->v[i].commit->time > l->v[newest].commit->time)
			newest = i;
	struct own_candidate c = l->v[newest];
	l->v[newest] = l->v[--l->n];
	return c;
}

static int collect(struct own_candidates *l)
{
	struct gate_repo *repo = l->repo;
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < repo->tips.n; i++)
		rc = add_candidate(l, repo->tips.v[i]);
	while (rc == 0 && l->n > 0 && repo->own.n < OWN_COMMITS) {
		struct own_candidate c = take_newest(l);
		rc = oids_add(&repo->own, &c.commit->tree);
		for (size_t i = 0; rc == 0 && i < c.commit->n_parents; i++)
			rc = add_candidate(l, c.commit->parents[i]);
		free(c.commit);
	}
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i].commit);
	return rc;
}

static void find_own_trees(struct gate_repo *repo)
{
	struct own_candidates l = {.repo = repo};
	if (repo->own_known)
		return;
	repo->own_known = true;
	if (gate_repo_read_old(repo) == 0 && collect(&l) < 0)
		repo->g->failed = true;
	free(l.v);
	free(l.seen.v);
}

/* ── A path in a tree ── */

static bool find_entry(struct gate_repo *repo, const struct git_oid *tree, const char *name, size_t len,
		       struct git_entry *ret)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	size_t at = 0;
	int rc = git_object_read(&repo->objects, tree, GIT_TREE, NULL, &text);
	while (rc == 0 && git_tree_next(&text, repo->objects.hash, &at, ret) == 1)
		if (ret->name_len == len && memcmp(ret->name, name, len) == 0)
			return true;
	return false;
}

/* first: the entry of the path's first component. */
static bool leads_to(struct gate_repo *repo, struct git_entry first, const char *path, uint32_t mode,
		     const struct git_oid *blob)
{
	struct git_entry e = first;
	for (const char *rest = strchr(path, '/'); rest; rest = strchr(rest, '/')) {
		size_t len = strcspn(++rest, "/");
		if (e.mode != GIT_MODE_TREE || !find_entry(repo, &e.oid, rest, len, &e))
			return false;
	}
	return e.mode == mode && git_oid_compare(&e.oid, blob) == 0;
}

static bool is_in_history(struct gate_repo *repo, const char *path, uint32_t mode, const struct git_oid *blob)
{
	struct git_oid last = {{0}};
	find_own_trees(repo);
	for (size_t i = 0; i < repo->own.n; i++) {
		struct git_entry first;
		if (!find_entry(repo, &repo->own.v[i], path, strcspn(path, "/"), &first) ||
		    git_oid_compare(&first.oid, &last) == 0)
			continue;
		last = first.oid;
		if (leads_to(repo, first, path, mode, blob))
			return true;
	}
	return false;
}

/* ── Whether it is the person's ── */

static uint32_t mode_of(const struct change_stat *st)
{
	return st->type == CHANGE_SYMLINK ? GIT_MODE_LINK : st->mode & 0100 ? 0100755u : 0100644u;
}

static bool is_live(struct gate_repo *repo, const char *path, uint32_t mode, const struct git_oid *blob)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	_cleanup_free_ char *full = *repo->top ? path_join(repo->top, path) : strdup(path);
	struct git_oid oid;
	if (!full || mode == GIT_MODE_LINK || gate_read_before(repo->g, repo->top_root, full, &text) < 0)
		return false;
	git_oid_of("blob", buf_str(&text), text.len, repo->objects.hash, &oid);
	return git_oid_compare(&oid, blob) == 0;
}

bool gate_repo_has_own(struct gate_repo *repo, const char *path, uint32_t mode, const struct git_oid *blob)
{
	return is_live(repo, path, mode, blob) || is_in_history(repo, path, mode, blob);
}

/* path below the top of the repository's work tree; NULL: it is not there. */
static const char *path_in_tree(const struct gate_repo *repo, const struct change *c)
{
	if (c->root != repo->top_root)
		return NULL;
	const char *rest = *repo->top ? path_rest(c->path, repo->top) : c->path;
	return rest && *rest ? rest : NULL;
}

bool gate_is_own(struct gate *g, const struct change *c)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	struct git_oid blob;
	struct gate_repo *repo = gate_repo_above(g, c->root, c->path);
	const char *path = repo ? path_in_tree(repo, c) : NULL;
	if (!path)
		return false;
	int rc = c->after.type == CHANGE_SYMLINK ? gate_read_link(g, c, &text)
		 : c->after.type == CHANGE_FILE	 ? gate_read_after(g, c, &text)
						 : -EINVAL;
	if (rc < 0)
		return false;
	git_oid_of("blob", buf_str(&text), text.len, repo->objects.hash, &blob);
	return is_in_history(repo, path, mode_of(&c->after), &blob);
}
