/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Puts the pieces together: remembered or searched links, the git directory, the list of roots. */
#include "project/project.h"

#include "base/path.h"
#include "fs/fs.h"
#include "project/git.h"
#include "project/links.h"
#include "project/memory.h"
#include "project/roots.h"

#include <string.h>

struct opening {
	const struct project_query *q;
	struct roots_rules rules;
	bool rules_ready;
	struct links links; /* those that make roots */
	struct roots roots;
	struct strs notes;
};

static void opening_done(struct opening *o)
{
	roots_rules_done(&o->rules);
	links_done(&o->links);
	roots_done(&o->roots);
	strs_done(&o->notes);
}

/* The real path as far as there is one: a secret that does not exist yet has its place all the same. NULL and errno when
 * that cannot be known. */
static char *resolve_longest(const char *path)
{
	_cleanup_free_ char *normal = path_normalize(NULL, path);
	for (size_t cut = normal ? strlen(normal) : 0; cut > 0;) {
		char after = normal[cut];
		normal[cut] = '\0';
		_cleanup_free_ char *real = realpath(normal, NULL);
		normal[cut] = after;
		if (real)
			return path_normalize(real, after ? normal + cut + 1 : "");
		if (!base_is_absent(errno))
			return NULL;
		while (--cut > 0 && normal[cut] != '/')
			;
	}
	return TAKE_PTR(normal);
}

/* Under both names: the one it was given and the real one. */
static int add_secret(struct strs *secrets, const char *path, struct airlock_error *err)
{
	char *real = resolve_longest(path);
	if (!real)
		return base_errno(err, AIRLOCK_ERR_IO, errno, "look at", path);
	strs_take(secrets, path_normalize(NULL, path));
	strs_take(secrets, real);
	return secrets->failed ? base_oom(err) : 0;
}

/* Only when there is something to judge: resolving every secret is most of what a plain run would do here. */
static int prepare_rules(struct opening *o, struct airlock_error *err)
{
	if (o->rules_ready)
		return 0;
	int rc = 0;
	for (const char *const *s = o->q->secrets; rc == 0 && s && *s; s++)
		rc = add_secret(&o->rules.secrets, *s, err);
	if (rc == 0 && o->q->state_dir) /* whoever can write there decides what the next run may write */
		rc = add_secret(&o->rules.secrets, o->q->state_dir, err);
	o->rules_ready = rc == 0;
	return rc;
}

static bool remembers(struct opening *o)
{
	const char *state = o->q->state_dir;
	if (!state)
		return false;
	_cleanup_free_ char *real = resolve_longest(state);
	if (real && !path_is_beneath(real, o->q->dir))
		return true;
	strs_addf(&o->notes, "%s lies in the project: its symlinks are not remembered and searched on every run",
		  state);
	return false;
}

static int search(struct opening *o, bool remember, struct airlock_error *err)
{
	struct airlock_error why = {0};
	int rc = prepare_rules(o, err);
	if (rc == 0)
		rc = links_search(&o->rules, o->q, &o->links, &o->notes, err);
	if (rc < 0 || !remember)
		return rc;
	if (memory_save(o->q->state_dir, o->q->dir, &o->links, &why) < 0)
		strs_addf(&o->notes, "the project's symlinks cannot be remembered and are searched on every run: %s",
			  why.message);
	return 0;
}

static int verify(struct opening *o, const struct links *remembered, struct airlock_error *err)
{
	if (remembered->n == 0)
		return 0;
	int rc = prepare_rules(o, err);
	return rc < 0 ? rc : links_verify(&o->rules, remembered, &o->links, &o->notes, err);
}

static int recall_or_search(struct opening *o, struct airlock_error *err)
{
	_cleanup_links_ struct links remembered = LINKS_INIT;
	struct airlock_error why = {0};
	int rc = memory_load(o->q->state_dir, o->q->dir, &remembered, &why);
	if (rc == 0)
		return verify(o, &remembered, err);
	if (rc == AIRLOCK_ERR_CORRUPT)
		strs_addf(&o->notes, "what was known about the project's symlinks is unusable, searched again: %s",
			  why.message);
	else if (rc != AIRLOCK_ERR_NOT_FOUND) {
		if (err && err->code == 0)
			*err = why;
		return rc;
	}
	return search(o, true, err);
}

/* A link widens the roots inside the home directory only: without one, or when it is in the project already, there is
 * nothing to find. */
static int find_links(struct opening *o, struct airlock_error *err)
{
	const struct project_query *q = o->q;
	if (!q->home || path_is_beneath(q->home, q->dir))
		return 0;
	bool remember = remembers(o);
	return remember && !q->rescan ? recall_or_search(o, err) : search(o, remember, err);
}

static char *because_of(const struct link *l)
{
	struct buf b = BUF_INIT;
	buf_printf(&b, l->path[0] == '/' ? "symlink %s" : "symlink %s in the project", l->path);
	return buf_take(&b);
}

static int add_git_root(struct opening *o, struct airlock_error *err)
{
	if (!git_is_linked(o->q->dir))
		return 0;
	int rc = prepare_rules(o, err);
	return rc < 0 ? rc : git_add_root(&o->rules, &o->roots, &o->notes, err);
}

static int make_roots(struct opening *o, struct airlock_error *err)
{
	roots_add(&o->roots, o->q->dir, strdup("project"));
	for (size_t i = 0; i < o->links.n; i++)
		roots_add(&o->roots, o->links.v[i].target, because_of(&o->links.v[i]));
	int rc = add_git_root(o, err);
	if (rc < 0)
		return rc;
	roots_prune(&o->roots);
	return o->roots.failed || o->notes.failed ? base_oom(err) : 0;
}

static struct project *take_project(struct opening *o)
{
	struct project *p = calloc(1, sizeof *p);
	if (p)
		p->dir = strdup(o->q->dir);
	if (!p || !p->dir) {
		free(p);
		return NULL;
	}
	p->roots = TAKE_PTR(o->roots.v);
	p->n_roots = o->roots.n;
	o->roots = (struct roots)ROOTS_INIT;
	p->notes = o->notes;
	o->notes = (struct strs)STRS_INIT;
	return p;
}

int project_open(const struct project_query *q, struct project **ret, struct airlock_error *err)
{
	_cleanup_(opening_done) struct opening o = {.q = q, .rules = {.project = q->dir, .home = q->home}};
	int rc = find_links(&o, err);
	if (rc == 0)
		rc = make_roots(&o, err);
	if (rc < 0)
		return rc;
	struct project *p = take_project(&o);
	if (!p)
		return base_oom(err);
	*ret = p;
	return 0;
}

void project_free(struct project *p)
{
	if (!p)
		return;
	struct roots roots = {.v = p->roots, .n = p->n_roots};
	roots_done(&roots);
	strs_done(&p->notes);
	free(p->dir);
	free(p);
}
