/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Git directories: those called .git, and those git would take for one wherever it is started in them.
 *
 * By its content git takes a directory for its own when it has HEAD, objects and refs, or HEAD and a file commondir that
 * names where the other two are. A directory with objects and refs alone can therefore be the common directory of
 * another: config and hooks count in it as well. Both are judged before and after the run, because a command can first
 * leave a config in a harmless directory and in a later run add what makes it a repository.
 */
#include "change/gate/gate.h"
#include "change/gate/gate_name.h"

#include "base/path.h"
#include "fs/beneath.h"
#include "fs/walk.h"

#include <fcntl.h>
#include <string.h>

static const struct airlock_reason own_files = {AIRLOCK_REASON_STEERS, "git's own files"};
static const struct airlock_reason awakened = {AIRLOCK_REASON_RUNS,
					       "makes a directory with commands in it a git repository"};

/* ── Repositories by content ── */

static bool has_entry(struct gate *g, size_t root, const char *dir, const char *name, bool after)
{
	_cleanup_free_ char *path = *dir ? path_join(dir, name) : strdup(name);
	if (!path) {
		g->failed = true;
		return true;
	}
	return (after ? gate_type_after : gate_type_before)(g, root, path) != CHANGE_NOTHING;
}

static bool has_shape(struct gate *g, size_t root, const char *dir, bool after)
{
	if (has_entry(g, root, dir, "objects", after) && has_entry(g, root, dir, "refs", after))
		return true;
	return has_entry(g, root, dir, "commondir", after) && has_entry(g, root, dir, "HEAD", after);
}

/* dir is the first n bytes of path. */
static const struct gate_shape *shape_of(struct gate *g, size_t root, const char *path, size_t n)
{
	struct gate_shape *s = &g->shape;
	if (s->known && s->root == root && s->dir.len == n && memcmp(buf_str(&s->dir), path, n) == 0)
		return s;
	buf_reset(&s->dir);
	buf_add(&s->dir, path, n);
	s->root = root;
	s->known = !s->dir.failed;
	s->before = has_shape(g, root, buf_str(&s->dir), false);
	s->after = has_shape(g, root, buf_str(&s->dir), true);
	return s;
}

bool gate_has_git_shape(struct gate *g, size_t root, const char *path, size_t n)
{
	const struct gate_shape *s = shape_of(g, root, path, n);
	return s->before || s->after;
}

/* Whether a configuration has something in it, live or after the run. A regular file that the run writes is judged itself;
 * one of which only the metadata changed is not. What is no regular file cannot be judged, and may become another. */
static bool is_loaded(struct gate *g, size_t root, const char *dir, const char *name)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	_cleanup_free_ char *path = *dir ? path_join(dir, name) : strdup(name);
	if (!path)
		return true;
	enum change_type before = gate_type_before(g, root, path), after = gate_type_after(g, root, path);
	if ((before != CHANGE_NOTHING && before != CHANGE_FILE) || (after != CHANGE_NOTHING && after != CHANGE_FILE))
		return true;
	int rc = gate_read_before(g, root, path, &text);
	return rc == 0 ? gate_config_reason(g, root, dir, &text) != NULL : rc != -ENOENT;
}

static bool is_sample(const char *name)
{
	size_t n = strlen(name), k = sizeof ".sample" - 1;
	return n > k && strcmp(name + n - k, ".sample") == 0;
}

/* True if there is a live hook. If the run deleted it, this is one too many, which only holds too much. */
static bool has_live_hooks(struct gate *g, size_t root, const char *dir)
{
	_cleanup_walk_ struct fs_walk w = FS_WALK_INIT;
	_cleanup_free_ char *hooks = *dir ? path_join(dir, "hooks") : strdup("hooks");
	int fd = hooks && g->roots[root].live >= 0 ? fs_open_beneath(g->roots[root].live, hooks, O_RDONLY | O_DIRECTORY)
						   : -ENOENT;
	if (fd < 0)
		return fd != -ENOENT && fd != -ENOTDIR;
	int event = fs_walk_start(&w, fd);
	while (event >= 0 && (event = fs_walk_next(&w)) > 0)
		if (event == FS_WALK_ENTRY && !is_sample(w.name))
			return true;
	return event < 0;
}

/* True if the live directory already holds what would run once it becomes a repository: commands, or the way to
 * another repository's. */
static bool is_armed(struct gate *g, size_t root, const char *dir)
{
	return has_entry(g, root, dir, "commondir", false) || is_loaded(g, root, dir, "config") ||
	       is_loaded(g, root, dir, "config.worktree") || has_live_hooks(g, root, dir);
}

static bool makes_repository(const char *rest)
{
	static const char *const names[] = {"head", "objects", "refs", "commondir"};
	for (size_t i = 0; i < AL_ARRAY_LEN(names); i++)
		if (names[i][0] == rest[0] && gate_first_is(rest, names[i]))
			return true;
	return false;
}

static bool awakens(struct gate *g, const struct change *c, size_t n, const char *rest)
{
	if (!makes_repository(rest))
		return false;
	const struct gate_shape *s = shape_of(g, c->root, c->path, n);
	if (s->before || !s->after)
		return false;
	_cleanup_free_ char *dir = strndup(c->path, n);
	return !dir || is_armed(g, c->root, dir);
}

/* ── Inside a git directory ── */

/* A symlink also stands for what could be below it. */
static const struct sensitive_rule *find_rule(const struct change *c, const char *rest)
{
	for (const struct sensitive_rule *r = sensitive_in_git; r->pattern; r++) {
		enum gate_match match = gate_may_match(r->pattern, rest) ? gate_name_match(r->pattern, rest) : GATE_NO;
		bool stands_for = c->after.type == CHANGE_SYMLINK && r->how != SENSITIVE_NEVER;
		if (match == GATE_MATCH || (match == GATE_ON_THE_WAY && stands_for))
			return r;
	}
	return NULL;
}

/* The rest behind worktrees/<name>/, each of which has its own HEAD, index and so on. */
static const char *in_worktree(const char *rest)
{
	const char *name = gate_first_is(rest, "worktrees") ? gate_rest(rest) : NULL;
	const char *inner = name ? gate_rest(name) : NULL;
	return inner ? inner : rest;
}

static const struct airlock_reason *judge_inside(struct gate *g, const struct change *c, const char *rest)
{
	const struct sensitive_rule *rule = find_rule(c, in_worktree(rest));
	if (!rule)
		return &own_files;
	return rule->how == SENSITIVE_NEVER ? NULL : gate_judge_rule(g, c, rule);
}

static const struct airlock_reason *judge_named(struct gate *g, const struct change *c, const char *rest, size_t at);

/* Submodule names may have slashes: the repository is the first directory below modules that looks like one. */
static const struct airlock_reason *judge_module(struct gate *g, const struct change *c, const char *rest, size_t at)
{
	for (const char *below; (below = gate_rest(rest)); rest = below) {
		size_t n = at + strcspn(c->path + at, "/");
		at = n + 1;
		if (shape_of(g, c->root, c->path, n)->after)
			return judge_named(g, c, below, at);
	}
	return &own_files;
}

/* In a git directory: rest is the end of the folded path behind it, at is where rest begins in the path itself. */
static const struct airlock_reason *judge_named(struct gate *g, const struct change *c, const char *rest, size_t at)
{
	const char *module = gate_first_is(rest, "modules") ? gate_rest(rest) : NULL;
	if (module)
		return judge_module(g, c, module, at + strcspn(c->path + at, "/") + 1);
	return judge_inside(g, c, rest);
}

/* ── Anywhere ── */

/* Must be cheap: it runs for every component of every change. */
static bool may_matter(const char *rest)
{
	static const char *const first[] = {"config",	 "config.worktree", "hooks",	 "info",	 "index",
					    "commondir", "gitdir",	    "worktrees", "rebase-merge", "sequencer"};
	for (size_t i = 0; i < AL_ARRAY_LEN(first); i++)
		if (first[i][0] == rest[0] && gate_first_is(rest, first[i]))
			return true;
	return false;
}

/* In the directory that is the first n bytes of the path, which has any name. */
static const struct airlock_reason *judge_unnamed(struct gate *g, const struct change *c, const char *rest, size_t n)
{
	if (awakens(g, c, n, rest))
		return &awakened;
	const struct sensitive_rule *rule = may_matter(rest) ? find_rule(c, in_worktree(rest)) : NULL;
	if (!rule || rule->how == SENSITIVE_NEVER || !shape_of(g, c->root, c->path, n)->after)
		return NULL;
	return gate_judge_rule(g, c, rule);
}

bool gate_is_in_git(const char *path)
{
	_cleanup_buf_ struct buf folded = BUF_INIT;
	gate_fold(path, &folded);
	for (const char *p = buf_str(&folded); p; p = gate_rest(p))
		if (gate_first_is(p, ".git"))
			return true;
	return folded.failed;
}

bool gate_is_repository(struct gate *g, size_t root)
{
	return g->roots[root].in_git || shape_of(g, root, "", 0)->before;
}

const struct airlock_reason *gate_judge_git(struct gate *g, const struct change *c, const char *folded)
{
	bool named = g->roots[c->root].in_git; /* the directory rest is in */
	const struct airlock_reason *reason = NULL;
	const char *rest = folded;
	for (size_t at = 0; rest && !reason; rest = gate_rest(rest)) {
		reason = named ? judge_named(g, c, rest, at) : judge_unnamed(g, c, rest, at ? at - 1 : 0);
		named = gate_first_is(rest, ".git");
		at += strcspn(c->path + at, "/") + 1;
	}
	return reason;
}

/* ── Files that name a git directory ── */

/* The one line of such a file, without what git cuts off its end; NULL when it is not one. */
static const char *pointer_of(struct buf *text, const char *prefix)
{
	while (text->len > 0 && strchr("\r\n", text->data[text->len - 1]))
		text->data[--text->len] = '\0';
	const char *s = buf_str(text);
	size_t n = strlen(prefix);
	if (strlen(s) != text->len || strncmp(s, prefix, n) != 0)
		return NULL;
	return s + n + strspn(s + n, " \t");
}

/* The directory that is `levels` above path; NULL when path is not that deep or out of memory. "" is the root. */
static char *above(const char *path, int levels)
{
	size_t n = strlen(path);
	for (; levels > 0; levels--) {
		if (n == 0)
			return NULL;
		while (n > 0 && path[n - 1] != '/')
			n--;
		n -= n > 0;
	}
	return strndup(path, n);
}

/* Only git directories by name: what is in them has been judged whenever it changed. Any other repository in the tree may
 * have come with it, with a configuration nobody has looked at. */
static bool leads_to_git(struct gate *g, size_t root, const char *path)
{
	_cleanup_free_ char *full = path_join(g->set->roots[root].path, path);
	return full && gate_is_in_git(full) && !gate_has_symlink(g, root, path);
}

/* A worktree's own: <common>/worktrees/<name>/commondir leads to <common>. */
static bool is_own_common(const struct change *c, size_t root, const char *path)
{
	_cleanup_free_ char *worktrees = above(c->path, 2), *common = above(c->path, 3);
	return worktrees && common && root == c->root && strcmp(common, path) == 0 &&
	       strcmp(path_basename(worktrees), "worktrees") == 0;
}

static const struct airlock_reason *judge_pointer(struct gate *g, const struct change *c, const char *name,
						  const char *target, const struct sensitive_rule *rule)
{
	_cleanup_free_ char *dir = above(c->path, 1), *path = NULL;
	size_t root = 0;
	if (!dir || !gate_resolve(g, c->root, dir, target, &root, &path))
		return &rule->reason;
	bool fine = strcmp(name, ".git") == 0	     ? leads_to_git(g, root, path)
		    : strcmp(name, "commondir") == 0 ? is_own_common(c, root, path)
						     : true;
	return fine ? NULL : &rule->reason;
}

const struct airlock_reason *gate_judge_pointer(struct gate *g, const struct change *c,
						const struct sensitive_rule *rule)
{
	_cleanup_buf_ struct buf text = BUF_INIT, folded = BUF_INIT;
	gate_fold(path_basename(c->path), &folded);
	const char *name = buf_str(&folded);
	bool is_gitfile = strcmp(name, ".git") == 0;
	if (c->after.type != CHANGE_FILE)
		return &rule->reason;
	int rc = gate_read_after(g, c, &text);
	if (rc < 0)
		return change_reason_of(rc == -EFBIG ? AIRLOCK_REASON_TOO_LARGE : AIRLOCK_REASON_UNREADABLE);
	const char *target = pointer_of(&text, is_gitfile ? "gitdir:" : "");
	if (!target)
		return is_gitfile && strncmp(buf_str(&text), "gitdir:", 7) != 0 ? NULL : &rule->reason;
	return judge_pointer(g, c, name, target, rule);
}

/* ── Undo ── */

/* set has what the undo would do, as changes. */
const struct change *gate_find_awakened(struct gate *g, const struct airlock_reason **ret_reason)
{
	for (size_t i = 0; i < g->set->n; i++) {
		const struct change *c = &g->set->v[i];
		_cleanup_buf_ struct buf folded = BUF_INIT;
		if (!gate_is_open(g, c))
			continue;
		gate_fold(c->path, &folded);
		size_t at = 0;
		for (const char *rest = buf_str(&folded); rest && c->after.type != CHANGE_NOTHING;
		     rest = gate_rest(rest)) {
			if (awakens(g, c, at ? at - 1 : 0, rest)) {
				*ret_reason = &awakened;
				return c;
			}
			at += strcspn(c->path + at, "/") + 1;
		}
	}
	return NULL;
}
