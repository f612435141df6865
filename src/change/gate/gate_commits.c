/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A commit can carry what the work tree does not show: a workflow that a push hands to a server, a file that the next
 * checkout writes. So the commits that a run made reachable are looked into, and a reference to one that adds or changes a
 * file which the gate would hold is held itself, and with it the run (gate_whole.c).
 *
 * A commit is compared with its parents. What it has like one of them came from there: from before the run, or from a new
 * commit that is looked into, too. Of a repository that the run has made only the commits that references name count, whole:
 * nobody has pushed from it yet, and the history of a clone can be long.
 */
#include "change/gate/gate_commits.h"

#include "base/array.h"
#include "base/path.h"

#include <stdio.h>
#include <string.h>

#define MAX_DEPTH 128
#define MAX_PATH 4096
#define MAX_PACKED_REFS ((size_t)64 << 20)

static const struct airlock_reason not_a_file = {AIRLOCK_REASON_MISLEADS, "git reference that is no regular file"};
static const struct airlock_reason not_to_a_ref = {AIRLOCK_REASON_MISLEADS, "git reference that leads to none"};
static const struct airlock_reason replaces = {AIRLOCK_REASON_MISLEADS, "git object in place of another"};
static const struct airlock_reason repository = {AIRLOCK_REASON_RUNS,
						 "a directory with commands in it that git takes for a repository"};

/* ── One file of a commit ── */

struct commit_look {
	struct gate_repo *repo;
	const struct gate_rules *rules;
	const struct git_oid *commit;	     /* NULL: the index */
	const struct airlock_reason *reason; /* the first that was found */
};

struct blobs {
	struct gate_repo *repo;
	const struct git_oid *before, *after; /* before NULL: there was none */
};

static int read_blob(struct gate_repo *repo, const struct git_oid *oid, struct buf *ret)
{
	int rc = oid ? git_object_read(&repo->objects, oid, GIT_BLOB, NULL, ret) : -ENOENT;
	return rc == 0 && ret->len > GATE_MAX_CONTENT ? -EFBIG : rc;
}

static int read_blob_before(void *context, struct buf *ret)
{
	const struct blobs *b = context;
	buf_reset(ret);
	return read_blob(b->repo, b->before, ret);
}

static int read_blob_after(void *context, struct buf *ret)
{
	const struct blobs *b = context;
	return read_blob(b->repo, b->after, ret);
}

static const struct airlock_reason *tell(struct commit_look *l, const char *path, const struct airlock_reason *reason)
{
	char hex[2 * GIT_SHA256 + 1];
	struct airlock_reason r = {AIRLOCK_REASON_STAGED, reason->what, reason->program, path, NULL, reason->code};
	if (l->commit) {
		git_oid_hex(l->commit, l->repo->objects.hash, hex);
		hex[10] = '\0';
		r.code = AIRLOCK_REASON_NEW_COMMIT;
		r.commit = hex;
	}
	return gate_keep_reason(l->repo->g, &r);
}

/* The work tree has the same file there after the run, and that passed: something moved, say. What is staged and waits in the
 * work tree is held with it anyway. */
static bool passed_in_tree(struct commit_look *l, const char *full, const struct git_entry *e)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	struct gate *g = l->repo->g;
	const struct change *c = change_set_find(g->set, l->repo->top_root, full);
	struct git_oid oid;
	if (!c || !gate_is_open(g, c) || (l->commit && c->verdict != CHANGE_APPLY) || c->after.type != CHANGE_FILE ||
	    c->kind == CHANGE_METADATA || gate_read_after(g, c, &text) < 0)
		return false;
	git_oid_of("blob", buf_str(&text), text.len, l->repo->objects.hash, &oid);
	return git_oid_compare(&oid, &e->oid) == 0 && !(e->mode & 0100) == !(c->after.mode & 0100);
}

/* path: below the top of the work tree. */
static void judge_file(struct commit_look *l, const char *path, const struct git_entry *e, const struct git_oid *before)
{
	struct gate *g = l->repo->g;
	_cleanup_free_ char *full = *l->repo->top ? path_join(l->repo->top, path) : strdup(path);
	struct blobs blobs = {l->repo, before, &e->oid};
	enum change_type type = e->mode == GIT_MODE_LINK ? CHANGE_SYMLINK : CHANGE_FILE;
	struct change c = {.root = l->repo->top_root,
			   .path = full,
			   .kind = before ? CHANGE_MODIFIED : CHANGE_ADDED,
			   .type = type,
			   .after = {.type = type, .mode = e->mode & 0100 ? 0755 : 0644}};
	const struct gate_content content = {&c, &blobs, read_blob_before, read_blob_after};
	if (!full) {
		g->failed = true;
		return;
	}
	g->content = &content;
	const struct airlock_reason *reason = gate_reason(g, l->rules, &c);
	g->content = NULL;
	if (reason && !passed_in_tree(l, full, e) && !gate_repo_has_own(l->repo, path, e->mode, &e->oid))
		l->reason = tell(l, path, reason);
}

/* ── Trees ── */

/* The entries of a parent's tree, by name. */
struct commit_listing {
	struct buf text; /* the names are in it */
	struct git_entry *v;
	size_t n, cap;
};

static void listing_done(struct commit_listing *l)
{
	buf_done(&l->text);
	free(l->v);
}

static int compare_entries(const void *a, const void *b)
{
	const struct git_entry *x = a, *y = b;
	int order = memcmp(x->name, y->name, AL_MIN(x->name_len, y->name_len));
	return order ? order : x->name_len < y->name_len ? -1 : x->name_len > y->name_len;
}

static int list_tree(struct gate_repo *repo, const struct git_oid *tree, struct commit_listing *ret)
{
	size_t at = 0;
	int rc = git_object_read(&repo->objects, tree, GIT_TREE, NULL, &ret->text);
	while (rc == 0) {
		if (!ARRAY_ROOM(ret->v, ret->n, ret->cap, 32))
			return -ENOMEM;
		int more = git_tree_next(&ret->text, repo->objects.hash, &at, &ret->v[ret->n]);
		if (more <= 0) {
			rc = more;
			break;
		}
		ret->n++;
	}
	if (ret->n > 1)
		qsort(ret->v, ret->n, sizeof *ret->v, compare_entries);
	return rc;
}

/* A tree, and those of the commit's parents at the same path. */
struct tree_level {
	struct git_oid tree;
	struct oids parents;
};

static int compare_level(struct commit_look *l, const struct tree_level *level, struct buf *path, int depth);

/* ── A directory of a commit that git would take for a repository ── */

/* What a checkout would put there. Git looks for HEAD, objects and refs, or for HEAD and commondir; see gate_git.c. */
struct content {
	bool has_head, has_objects, has_refs, has_commondir, has_hooks;
	bool has_config;
	struct git_entry config;
};

static bool is_called(const struct git_entry *e, const char *name)
{
	return e->name_len == strlen(name) && strncasecmp(e->name, name, e->name_len) == 0;
}

static struct content content_of(const struct buf *tree, size_t hash)
{
	struct content c = {0};
	struct git_entry e;
	size_t at = 0;
	while (git_tree_next(tree, hash, &at, &e) == 1) {
		c.has_head |= is_called(&e, "HEAD");
		c.has_objects |= is_called(&e, "objects");
		c.has_refs |= is_called(&e, "refs");
		c.has_commondir |= is_called(&e, "commondir");
		c.has_hooks |= is_called(&e, "hooks");
		if (is_called(&e, "config") || is_called(&e, "config.worktree")) {
			c.has_config = true;
			c.config = e;
		}
	}
	return c;
}

static bool is_repository(const struct content *c)
{
	return c->has_head && ((c->has_objects && c->has_refs) || c->has_commondir);
}

static bool was_repository(const struct commit_look *l, const struct commit_listing *parents, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct content c = content_of(&parents[i].text, l->repo->objects.hash);
		if (is_repository(&c))
			return true;
	}
	return false;
}

/* A configuration that lies in the live tree at this place, or what is in the commit. */
static bool has_commands(struct commit_look *l, const struct content *c, const char *dir)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	struct gate_repo *repo = l->repo;
	_cleanup_free_ char *full = *repo->top && *dir ? path_join(repo->top, dir) : strdup(*dir ? dir : repo->top);
	_cleanup_free_ char *live = full ? path_join(full, "config") : NULL;
	_cleanup_free_ char *config = *dir ? path_join(dir, "config") : strdup("config");
	if (!full || !live || !config)
		return repo->g->failed = true;
	if (!c->has_config)
		return gate_type_before(repo->g, repo->top_root, *full ? live : "config") != CHANGE_NOTHING;
	if (gate_repo_has_own(repo, config, c->config.mode, &c->config.oid))
		return false;
	return c->config.mode == GIT_MODE_LINK || read_blob(repo, &c->config.oid, &text) < 0 ||
	       gate_config_reason(repo->g, repo->top_root, full, &text) != NULL;
}

static void judge_directory(struct commit_look *l, const struct buf *tree, const struct commit_listing *parents,
			    size_t n, const char *dir)
{
	struct content c = content_of(tree, l->repo->objects.hash);
	if (!is_repository(&c))
		return;
	bool is_new = !was_repository(l, parents, n);
	if ((is_new && (c.has_commondir || c.has_hooks)) || has_commands(l, &c, dir))
		l->reason = tell(l, *dir ? dir : ".", &repository);
}

/* Looks the name up in the parents' trees. True if one of them has the same object there. */
static bool find_in_parents(const struct commit_listing *parents, size_t n, const struct git_entry *e,
			    struct tree_level *below, struct git_oid *ret_blob, bool *ret_has_blob)
{
	for (size_t i = 0; i < n; i++) {
		const struct git_entry *p =
			parents[i].n ? bsearch(e, parents[i].v, parents[i].n, sizeof *e, compare_entries) : NULL;
		if (!p)
			continue;
		if (p->mode == e->mode && git_oid_compare(&p->oid, &e->oid) == 0)
			return true;
		if (p->mode == GIT_MODE_TREE)
			(void)oids_add(&below->parents, &p->oid);
		else if (p->mode != GIT_MODE_MODULE && !*ret_has_blob) {
			*ret_blob = p->oid;
			*ret_has_blob = true;
		}
	}
	return false;
}

static int look_at_entry(struct commit_look *l, const struct git_entry *e, const struct commit_listing *parents,
			 size_t n, struct buf *path, int depth)
{
	struct tree_level below = {.tree = e->oid};
	struct git_oid blob;
	bool has_blob = false;
	int rc = 0;
	if (!find_in_parents(parents, n, e, &below, &blob, &has_blob)) {
		size_t kept = path->len;
		if (kept)
			buf_addc(path, '/');
		buf_add(path, e->name, e->name_len);
		if (path->failed)
			rc = -ENOMEM;
		else if (path->len > MAX_PATH)
			rc = -EDQUOT;
		else if (e->mode == GIT_MODE_TREE)
			rc = compare_level(l, &below, path, depth + 1);
		else if (e->mode != GIT_MODE_MODULE)
			judge_file(l, path->data, e, has_blob ? &blob : NULL);
		path->len = kept;
		if (path->data)
			path->data[kept] = '\0';
	}
	free(below.parents.v);
	return rc;
}

/* A parent's tree that is not there (a partial clone) is as if it were empty: then everything is new. */
static int list_parents(struct commit_look *l, const struct tree_level *level, struct commit_listing *parents)
{
	for (size_t i = 0; i < level->parents.n; i++) {
		int rc = list_tree(l->repo, &level->parents.v[i], &parents[i]);
		if (rc == -EDQUOT || rc == -ENOMEM)
			return rc;
		parents[i].n = rc < 0 ? 0 : parents[i].n;
	}
	return 0;
}

static int compare_level(struct commit_look *l, const struct tree_level *level, struct buf *path, int depth)
{
	_cleanup_buf_ struct buf tree = BUF_INIT;
	struct git_entry e;
	size_t at = 0, n = level->parents.n;
	struct commit_listing *parents = calloc(n ? n : 1, sizeof *parents);
	int rc = !parents ? -ENOMEM : depth > MAX_DEPTH ? -EDQUOT : list_parents(l, level, parents);
	rc = rc < 0 ? rc : git_object_read(&l->repo->objects, &level->tree, GIT_TREE, NULL, &tree);
	if (rc == 0)
		judge_directory(l, &tree, parents, n, buf_str(path));
	while (rc == 0 && !l->reason && (rc = git_tree_next(&tree, l->repo->objects.hash, &at, &e)) == 1)
		rc = look_at_entry(l, &e, parents, n, path, depth);
	for (size_t i = 0; parents && i < n; i++)
		listing_done(&parents[i]);
	free(parents);
	return rc;
}

/* ── Commits ── */

static int look_at_commit(struct commit_look *l, const struct commit_walk *w, const struct walk_commit *c)
{
	_cleanup_buf_ struct buf path = BUF_INIT;
	struct tree_level level = {.tree = c->tree};
	int rc = 0;
	l->commit = &c->oid;
	for (size_t i = 0; rc == 0 && !l->repo->is_new && i < c->n_parents; i++) {
		const struct walk_commit *parent = &w->v[w->parents[c->parents + i]];
		if (parent->is_read && !parent->is_missing)
			rc = oids_add(&level.parents, &parent->tree);
	}
	rc = rc < 0 ? rc : compare_level(l, &level, &path, 0);
	free(level.parents.v);
	return rc;
}

static int look_at_tip(struct commit_look *l, struct git_oid oid)
{
	struct git_commit commit;
	int rc = gate_repo_read_commit(l->repo, &oid, &commit);
	const struct walk_commit c = {.oid = oid, .tree = commit.tree};
	return rc < 0 ? rc : look_at_commit(l, NULL, &c);
}

/* The parents of a new commit must have been read, old or not. */
static int read_parents(struct commit_walk *w)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < w->n; i++)
		for (size_t k = 0; rc == 0 && !w->v[i].is_old && k < w->v[i].n_parents; k++)
			rc = walk_read(w, w->parents[w->v[i].parents + k]);
	return rc;
}

static int look_at_all(struct commit_look *l, const struct oids *tips)
{
	struct commit_walk w;
	int rc = 0;
	if (l->repo->is_new) {
		for (size_t i = 0; rc == 0 && !l->reason && i < tips->n; i++)
			rc = look_at_tip(l, tips->v[i]);
		return rc;
	}
	rc = walk_new_commits(&w, l->repo, tips);
	rc = rc < 0 ? rc : read_parents(&w);
	for (size_t i = 0; rc == 0 && !l->reason && i < w.n; i++)
		if (w.v[i].is_read && !w.v[i].is_old && !w.v[i].is_missing)
			rc = look_at_commit(l, &w, &w.v[i]);
	walk_done(&w);
	return rc;
}

/* ── References ── */

static size_t limit_of(const char *rest)
{
	return strcmp(rest, "packed-refs") == 0 ? MAX_PACKED_REFS : GATE_MAX_CONTENT;
}

/* What a changed file names: a reference, or the state of something unfinished. */
struct named {
	const char *rest; /* below the git directory */
	bool is_unfinished;
};

static int parse_named(const struct gate_repo *repo, const struct named *what, const struct buf *text, struct oids *ret)
{
	return what->is_unfinished ? gate_unfinished_parse(repo, text, ret)
				   : gate_refs_parse(repo, what->rest, text, ret);
}

/* The objects that it names now and did not name before. -ELOOP: it leads to what is no reference. -EXDEV: it puts an object in
 * the place of another. */
static int find_tips(struct gate_repo *repo, const struct named *what, struct oids *ret)
{
	_cleanup_buf_ struct buf before = BUF_INIT, after = BUF_INIT;
	struct oids was = {0}, is = {0};
	int rc = gate_repo_read(repo, what->rest, false, limit_of(what->rest), &before);
	if (rc == 0 && parse_named(repo, what, &before, &was) == -ENOMEM)
		return -ENOMEM;
	oids_sort(&was);
	rc = gate_repo_read(repo, what->rest, true, limit_of(what->rest), &after);
	if (rc == 0 && !what->is_unfinished && !gate_ref_leads_to_ref(&after))
		rc = -ELOOP;
	if (rc == 0 && strcmp(what->rest, "packed-refs") == 0 && gate_packed_replaces(&before, &after))
		rc = -EXDEV;
	rc = rc < 0 ? rc : parse_named(repo, what, &after, &is);
	for (size_t i = 0; rc == 0 && i < is.n; i++)
		if (!oids_has(&was, &is.v[i]))
			rc = oids_add(ret, &is.v[i]);
	for (size_t i = 0; rc == 0 && !what->is_unfinished && i < was.n && repo->near.n < REPO_MAX_TIPS; i++)
		rc = oids_add(&repo->near, &was.v[i]);
	free(was.v);
	free(is.v);
	return rc;
}

static const struct airlock_reason *reason_of(int rc)
{
	return rc == -ELOOP   ? &not_to_a_ref
	       : rc == -EXDEV ? &replaces
			      : change_reason_of(rc == -EDQUOT || rc == -EFBIG ? AIRLOCK_REASON_HISTORY_TOO_LONG
						 : rc == -EOPNOTSUPP	       ? AIRLOCK_REASON_UNKNOWN_REFS
									       : AIRLOCK_REASON_COMMIT_UNREADABLE);
}

/* ── The index ── */

static bool is_part_of_repository(const char *path)
{
	const char *name = path_basename(path);
	return strchr(path, '/') && (strcasecmp(name, "HEAD") == 0 || strcasecmp(name, "commondir") == 0);
}

static bool is_in_tree(struct commit_look *l, const char *path, const struct git_entry *e)
{
	_cleanup_free_ char *full = *l->repo->top ? path_join(l->repo->top, path) : strdup(path);
	return full && passed_in_tree(l, full, e);
}

/* What is staged is in the next commit, whatever the work tree shows. A sparse index has whole directories as entries. */
static int look_at_staged(void *context, const char *path, uint32_t mode, const struct git_oid *oid,
			  const struct git_oid *before)
{
	struct commit_look *l = context;
	int rc = 0;
	if (mode == GIT_MODE_TREE) {
		_cleanup_buf_ struct buf dir = BUF_INIT;
		struct tree_level level = {.tree = *oid};
		buf_add(&dir, path, strlen(path) - (*path && path[strlen(path) - 1] == '/'));
		rc = dir.failed ? -ENOMEM : before ? oids_add(&level.parents, before) : 0;
		rc = rc < 0 ? rc : compare_level(l, &level, &dir, 0);
		free(level.parents.v);
	} else if (mode != GIT_MODE_MODULE) {
		const struct git_entry e = {.name = path, .name_len = strlen(path), .mode = mode, .oid = *oid};
		judge_file(l, path, &e, before);
		/* The commit holds a part of a repository. Nobody can say which live files would complete it, so hold
		 * it. */
		if (!l->reason && is_part_of_repository(path) && !is_in_tree(l, path, &e) &&
		    !gate_repo_has_own(l->repo, path, mode, oid))
			l->reason = tell(l, path, &repository);
	}
	return rc < 0 ? rc : l->reason != NULL;
}

static int judge_index(struct gate *g, const struct gate_rules *rules, struct change *c, struct gate_repo *repo)
{
	struct commit_look l = {.repo = repo, .rules = rules};
	int rc = gate_index_each_new(g, c, repo->objects.hash, look_at_staged, &l);
	if (rc == -ENOMEM)
		return rc;
	const struct airlock_reason *reason = l.reason;
	if (!reason && rc < 0)
		reason = change_reason_of(AIRLOCK_REASON_INDEX_UNREADABLE);
	return reason ? gate_hold(c, reason) : 0;
}

static bool is_index(const char *rest)
{
	const char *name = path_basename(rest);
	return strcmp(name, "index") == 0 || strncmp(name, "sharedindex.", 12) == 0;
}

static int judge_named(struct gate *g, const struct gate_rules *rules, struct change *c, struct gate_repo *repo,
		       const struct named *what)
{
	struct commit_look l = {.repo = repo, .rules = rules};
	struct oids tips = {0};
	int rc = repo->is_reftable ? -EOPNOTSUPP : find_tips(repo, what, &tips);
	if (rc == 0 && tips.n > 0)
		rc = look_at_all(&l, &tips);
	free(tips.v);
	if (rc == -ENOMEM)
		return rc;
	const struct airlock_reason *reason = rc < 0 ? reason_of(rc) : l.reason;
	return reason ? gate_hold(c, reason) : 0;
}

/* The path of the reference below the common git directory: a worktree's HEAD is worktrees/<name>/HEAD. */
static const char *below_common(const struct change *c, const char *dir, const char *rest)
{
	const char *below = *dir ? path_rest(c->path, dir) : c->path;
	return below ? below : rest;
}

static int judge_bookkeeping(struct gate *g, const struct gate_rules *rules, struct change *c)
{
	_cleanup_free_ char *dir = NULL;
	const char *rest = NULL;
	bool is_bookkeeping = gate_is_bookkeeping(g, c->root, c->path, &dir, &rest);
	if (!is_bookkeeping && !gate_is_unfinished(g, c->root, c->path, &dir, &rest))
		return 0;
	if (!rest || !dir)
		return -ENOMEM; /* out of memory: hold, since nothing was judged */
	if (is_bookkeeping && is_index(rest))
		gate_mark_index(g, c);
	if (c->after.type != CHANGE_FILE)
		return gate_hold(c, &not_a_file);
	struct gate_repo *repo = gate_repo_get(g, c->root, dir);
	if (repo && is_bookkeeping && is_index(rest))
		return judge_index(g, rules, c, repo);
	const struct named what = {below_common(c, dir, rest), !is_bookkeeping};
	return repo ? judge_named(g, rules, c, repo, &what) : -ENOMEM;
}

int gate_judge_commits(struct gate *g, const struct gate_rules *rules)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < g->set->n; i++) {
		struct change *c = &g->set->v[i];
		if (gate_is_open(g, c) && c->after.type != CHANGE_NOTHING && c->after.type != CHANGE_DIRECTORY &&
		    c->kind != CHANGE_METADATA)
			rc = judge_bookkeeping(g, rules, c);
	}
	return rc;
}
