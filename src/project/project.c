/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Combines remembered or searched links, the git directory and the list of roots into a project. */
#include "project/project.h"

#include "base/path.h"
#include "fs/fs.h"
#include "project/git.h"
#include "project/link_search.h"
#include "project/link_memory.h"
#include "project/roots.h"

#include <assert.h>
#include <string.h>

struct opening {
	const struct project_query *q;
	struct roots_rules rules;
	bool rules_ready;
	struct links links; /* all links that lead out, with their answers */
	struct roots roots;
	struct notes notes;
};

static void opening_done(struct opening *o)
{
	roots_rules_done(&o->rules);
	links_done(&o->links);
	roots_done(&o->roots);
	notes_done(&o->notes);
}

/* The real path, as far as it exists: a secret that does not exist yet still has a location. NULL with errno if
 * unknown. */
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

/* Under both names: the given one and the real one. */
static int add_secret(struct strs *secrets, const char *path, struct airlock_error *err)
{
	char *real = resolve_longest(path);
	if (!real)
		return base_errno(err, AIRLOCK_ERR_IO, errno, "look at", path);
	strs_take(secrets, path_normalize(NULL, path));
	strs_take(secrets, real);
	return secrets->failed ? base_oom(err) : 0;
}

/* Only if there is something to judge: resolving every secret is most of the cost of a plain run here. */
static int prepare_rules(struct opening *o, struct airlock_error *err)
{
	if (o->rules_ready)
		return 0;
	_cleanup_strs_ struct strs secrets = STRS_INIT;
	if (o->q->list_secrets)
		o->q->list_secrets(o->q->secrets_data, &secrets);
	int rc = secrets.failed ? base_oom(err) : 0;
	for (size_t i = 0; rc == 0 && i < secrets.n; i++)
		rc = add_secret(&o->rules.secrets, secrets.v[i], err);
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
	NOTE(&o->notes, STATE_INSIDE, .subject = state);
	return false;
}

/* Keeps an answer about a link that leads elsewhere now: it applies again if the link leads back. */
static void keep_answers(struct links *links, const struct links *remembered)
{
	size_t found = links->n;
	for (size_t i = 0; i < remembered->n; i++) {
		const struct project_link *old = &remembered->v[i];
		if (old->state == AIRLOCK_LINK_UNANSWERED || links_find(links, old->path, old->target))
			continue;
		const struct project_link *turned = links_find_path(links, old->path);
		if (turned && turned < links->v + found)
			(void)links_add(links, old->path, old->target, old->state);
	}
}

/* Reads the answers again: a person may have given one while we searched. */
static int save(struct opening *o, struct airlock_error *err)
{
	_cleanup_links_ struct links all = LINKS_INIT, latest = LINKS_INIT;
	_cleanup_close_ int lock = memory_lock(o->q->state_dir, o->q->dir, err);
	if (lock < 0)
		return lock;
	(void)memory_load(o->q->state_dir, o->q->dir, &latest, NULL);
	for (size_t i = 0; i < o->links.n; i++) {
		const struct project_link *l = &o->links.v[i];
		const struct project_link *known = links_find(&latest, l->path, l->target);
		bool use = known && l->state != AIRLOCK_LINK_REFUSED;
		(void)links_add(&all, l->path, l->target, use ? known->state : l->state);
	}
	keep_answers(&all, &latest);
	return all.failed ? base_oom(err) : memory_save(o->q->state_dir, o->q->dir, &all, err);
}

static int search(struct opening *o, bool remember, struct airlock_error *err)
{
	_cleanup_links_ struct links remembered = LINKS_INIT;
	struct airlock_error why = {0};
	int rc = prepare_rules(o, err);
	if (rc < 0)
		return rc;
	if (remember) /* nothing, or nothing trustworthy: then nobody has answered */
		(void)memory_load(o->q->state_dir, o->q->dir, &remembered, NULL);
	rc = links_search(&o->rules, o->q, &remembered, &o->links, &o->notes, err);
	if (rc < 0 || !remember)
		return rc;
	if (save(o, &why) < 0)
		NOTE(&o->notes, LINKS_NOT_STORED, .cause = why.message);
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
		NOTE(&o->notes, LINKS_DAMAGED, .cause = why.message);
	else if (rc != AIRLOCK_ERR_NOT_FOUND)
		return base_pass(err, &why);
	return search(o, true, err);
}

/* A link widens the roots only inside the home directory: without a home, or if it is in the project, there is nothing
 * to find. */
static int find_links(struct opening *o, struct airlock_error *err)
{
	const struct project_query *q = o->q;
	if (!q->home || path_is_beneath(q->home, q->dir))
		return 0;
	bool remember = remembers(o);
	return remember && !q->rescan ? recall_or_search(o, err) : search(o, remember, err);
}

/* A remembered no is not an open question: neither --yes nor an answer about other links changes it. */
static bool is_granted(const struct project_query *q, const struct project_link *l)
{
	if (l->state != AIRLOCK_LINK_UNANSWERED)
		return false;
	for (size_t i = 0; i < q->n_grants; i++)
		if (strcmp(q->grants[i].path, l->path) == 0 && strcmp(q->grants[i].target, l->target) == 0)
			return true;
	return q->grant_all;
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
	roots_add(&o->roots, o->q->dir, RULE_ORIGIN(PROJECT));
	for (size_t i = 0; i < o->links.n; i++) {
		struct project_link *l = &o->links.v[i];
		l->granted = is_granted(o->q, l);
		if (l->granted || l->state == AIRLOCK_LINK_ALLOWED)
			roots_add(&o->roots, l->target,
				  l->granted ? RULE_ORIGIN(LINK_GRANTED, l->path) : RULE_ORIGIN(LINK_ALLOWED, l->path));
	}
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
	p->links = TAKE_PTR(o->links.v);
	p->n_links = o->links.n;
	o->links = (struct links)LINKS_INIT;
	p->notes = o->notes;
	o->notes = (struct notes)NOTES_INIT;
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

void project_link_done(struct project_link *l)
{
	free(l->path);
	free(l->target);
	free(l->before);
	free(l->secret);
	*l = (struct project_link){0};
}

void project_free(struct project *p)
{
	if (!p)
		return;
	struct roots roots = {.v = p->roots, .n = p->n_roots};
	struct links links = {.v = p->links, .n = p->n_links};
	roots_done(&roots);
	links_done(&links);
	notes_done(&p->notes);
	free(p->dir);
	free(p);
}

/* ── Answers ── */

static void set_answer(struct links *all, const struct project_link *l, enum airlock_link_state answer)
{
	bool found = false;
	for (size_t i = 0; i < all->n; i++) {
		struct project_link *known = &all->v[i];
		if (strcmp(known->path, l->path) != 0)
			continue;
		bool same = strcmp(known->target, l->target) == 0;
		found |= same;
		if (same || (answer == AIRLOCK_LINK_DENIED && known->state == AIRLOCK_LINK_ALLOWED))
			known->state = answer;
	}
	if (!found)
		(void)links_add(all, l->path, l->target, answer);
}

int project_find_answer(const struct project_query *q, const char *path, struct project_link *ret)
{
	_cleanup_links_ struct links all = LINKS_INIT, one = LINKS_INIT;
	if (!q->state_dir || memory_load(q->state_dir, q->dir, &all, NULL) < 0)
		return 0;
	const struct project_link *known = links_find_path(&all, path);
	if (!known || !links_add(&one, known->path, known->target, known->state))
		return 0;
	*ret = one.v[0];
	one.n = 0;
	return 1;
}

static int cannot_remember(const struct opening *o, struct airlock_error *err)
{
	base_error(err, AIRLOCK_ERR_UNAVAILABLE, "remember", o->q->dir,
		   "answers about the links of %s cannot be remembered: airlock's state directory lies in the project",
		   o->q->dir);
	return base_hint(err, "point XDG_STATE_HOME to a directory outside of the project");
}

int project_answer(const struct project_query *q, const struct project_link *links, size_t n,
		   enum airlock_link_state answer, struct airlock_error *err)
{
	_cleanup_(opening_done) struct opening o = {.q = q};
	_cleanup_links_ struct links all = LINKS_INIT;
	struct airlock_error why = {0};
	if (!remembers(&o))
		return cannot_remember(&o, err);
	_cleanup_close_ int lock = memory_lock(q->state_dir, q->dir, err);
	if (lock < 0)
		return lock;
	int rc = memory_load(q->state_dir, q->dir, &all, &why);
	if (rc < 0)
		return base_pass(err, &why);
	for (size_t i = 0; i < n; i++)
		set_answer(&all, &links[i], answer);
	return all.failed ? base_oom(err) : memory_save(q->state_dir, q->dir, &all, err);
}

int project_forget_links(const char *state_dir, const char *dir, struct airlock_error *err)
{
	return memory_forget(state_dir, dir, err);
}

static bool lies_in_project(const struct project *p, const char *path)
{
	for (size_t i = 0; i < p->n_roots; i++)
		if (path_is_beneath(path, p->roots[i].path))
			return true;
	return false;
}

int project_look_at_link(const struct project_query *q, const struct project *p, const char *path,
			 struct project_link *ret, struct airlock_error *err)
{
	_cleanup_(opening_done) struct opening o = {.q = q, .rules = {.project = q->dir, .home = q->home}};
	_cleanup_free_ char *whole = path_normalize(q->dir, path);
	if (!whole)
		return base_oom(err);
	if (!lies_in_project(p, whole))
		return base_error(err, AIRLOCK_ERR_INVALID, "link", path, "%s does not lie in the project %s", path,
				  p->dir);
	int rc = prepare_rules(&o, err);
	if (rc == 0)
		rc = links_look(&o.rules, path, &o.links, err);
	if (rc < 0)
		return rc;
	assert(o.links.v); /* links_look succeeded */
	*ret = o.links.v[0];
	o.links.n = 0;
	return 0;
}
