/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Directories that become the top of a repository by a change. A forge looks at workflows and bots' settings there and
 * nowhere else, so what lay in the directory before was applied without a question: now it counts.
 *
 * A directory is such a top when it has a .git that is a file, or one with a HEAD in it. Roots always count as one
 * (gate_find.c), so that only directories below them are looked at here. What the change set itself brings is judged by
 * itself. */
#include "change/gate/gate.h"
#include "change/gate/gate_name.h"

#include "base/path.h"
#include "fs/beneath.h"
#include "fs/walk.h"

#include <fcntl.h>
#include <string.h>

#define MAX_LISTED 10000 /* entries of directories that a row names */

static enum change_type type_of(struct gate *g, size_t root, const char *dir, const char *name, bool after)
{
	_cleanup_free_ char *path = path_join(dir, name);
	if (!path) {
		g->failed = true;
		return CHANGE_NOTHING;
	}
	return (after ? gate_type_after : gate_type_before)(g, root, path);
}

static bool is_top(struct gate *g, size_t root, const char *dir, bool after)
{
	enum change_type type = type_of(g, root, dir, ".git", after);
	return type == CHANGE_DIRECTORY ? type_of(g, root, dir, ".git/HEAD", after) != CHANGE_NOTHING
					: type != CHANGE_NOTHING;
}

/* Looking through the live directory for a name that only counts at the top. */
struct top_search {
	struct gate *g;
	size_t root;
	const char *dir;
	int listed;
	const struct airlock_reason *reason; /* what was found; the first */
};

static void look_at(struct top_search *s, const char *path)
{
	_cleanup_buf_ struct buf folded = BUF_INIT;
	const struct change *c = change_set_find(s->g->set, s->root, path);
	if (c && gate_is_open(s->g, c))
		return;
	const char *below = path_rest(path, s->dir);
	gate_fold(below, &folded);
	struct gate_rows_at it = gate_rows_at(&s->g->names, buf_str(&folded));
	for (const struct sensitive_rule *r; !s->reason && (r = gate_rows_next(&it));)
		if (r->where == SENSITIVE_AT_TOP && r->how != SENSITIVE_NEVER &&
		    gate_name_match(r->pattern, buf_str(&folded)) == GATE_MATCH) {
			s->reason = gate_keep_reason(s->g, &(struct airlock_reason){AIRLOCK_REASON_MAKES_REPOSITORY,
										    r->reason.what, r->reason.program,
										    path, NULL, r->reason.code});
		}
}

/* Whether some row goes through this directory, or ends in it. */
static bool may_hold_names(const struct top_search *s, const char *below)
{
	_cleanup_buf_ struct buf folded = BUF_INIT;
	gate_fold(below, &folded);
	struct gate_rows_at it = gate_rows_at(&s->g->names, buf_str(&folded));
	for (const struct sensitive_rule *r; (r = gate_rows_next(&it));)
		if (r->where == SENSITIVE_AT_TOP && gate_name_match(r->pattern, buf_str(&folded)) != GATE_NO)
			return true;
	return folded.failed;
}

static const struct airlock_reason *search(struct top_search *s)
{
	_cleanup_walk_ struct fs_walk w = FS_WALK_INIT;
	int live = s->g->roots[s->root].live;
	int event = live < 0 ? -ENOENT : fs_open_beneath(live, s->dir, O_RDONLY | O_DIRECTORY);
	if (event < 0) /* the change set itself makes it */
		return event == -ENOENT || event == -ENOTDIR ? NULL : change_reason_of(AIRLOCK_REASON_UNREADABLE);
	event = fs_walk_start(&w, event);
	while (event >= 0 && !s->reason && (event = fs_walk_next(&w)) > 0) {
		const char *below = fs_walk_path(&w);
		if (!below || s->listed++ > MAX_LISTED)
			return change_reason_of(AIRLOCK_REASON_LARGE_REPOSITORY);
		_cleanup_free_ char *path = path_join(s->dir, below);
		if (event == FS_WALK_DIR && may_hold_names(s, below) && fs_walk_enter(&w) < 0)
			return change_reason_of(AIRLOCK_REASON_UNREADABLE);
		if (event == FS_WALK_ENTRY && path)
			look_at(s, path);
	}
	return s->reason ? s->reason : event < 0 ? change_reason_of(AIRLOCK_REASON_UNREADABLE) : NULL;
}

/* dir: what is before the first .git of a path. Answers are kept for the next change, which is mostly in the same one. */
static const struct airlock_reason *judge_top(struct gate *g, size_t root, const char *dir)
{
	if (g->top.dir && g->top.root == root && strcmp(g->top.dir, dir) == 0)
		return g->top.reason;
	free(g->top.dir);
	g->top.dir = strdup(dir);
	g->top.root = root;
	g->failed |= !g->top.dir;
	struct top_search s = {.g = g, .root = root, .dir = dir};
	bool becomes = !is_top(g, root, dir, false) && is_top(g, root, dir, true);
	g->top.reason = becomes ? search(&s) : NULL;
	return g->top.reason;
}

const struct airlock_reason *gate_judge_top(struct gate *g, const struct change *c, const char *folded)
{
	const char *raw = c->path;
	for (const char *at = folded; at && raw; at = gate_rest(at), raw = gate_rest(raw)) {
		if (!gate_first_is(at, ".git"))
			continue;
		_cleanup_free_ char *dir = raw == c->path ? NULL : strndup(c->path, (size_t)(raw - c->path) - 1);
		return dir ? judge_top(g, c->root, dir) : NULL;
	}
	return NULL;
}
