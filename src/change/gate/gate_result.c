/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Undo brings back the person's own files, and redo what was decided before: neither is judged anew, path by path. But the
 * tree around them may be another by now. Something is brought together then that nobody has judged together:
 *
 *   a setting or link that comes back, and files that were put where it leads since the run began;
 *   a file that comes back, and a setting or link that leads to it since the run began;
 *   a directory that becomes a repository, and what was put into it since.
 *
 * "Since the run began" is told by ctime, which no command can set: what has an older one stood beside the files that come
 * back before, and what the same undo takes away does not count.
 */
#include "change/gate/gate.h"
#include "change/gate/gate_name.h"

#include "base/path.h"
#include "fs/beneath.h"
#include "fs/walk.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LOOKED_AT 20000

/* A pair that nobody has judged. */
struct meeting {
	char *path;
	const struct airlock_reason *reason;
};

struct result_view {
	struct gate *g;
	const char *home;
	int64_t started_ns;
	int looked_at;
	struct meeting found;
};

static bool is_in_set(struct gate *g, size_t root, const char *path)
{
	const struct change *c = change_set_find(g->set, root, path);
	return c && gate_is_open(g, c);
}

/* ── What comes back under a setting that is new ── */

static const struct airlock_reason *judge_under_new(struct result_view *r, const struct change *c)
{
	struct gate *g = r->g;
	const struct airlock_reason *reason = NULL;
	for (size_t i = 0; !reason && i < g->n_aliases; i++)
		if (g->aliases[i].since_ns > r->started_ns && gate_alias_covers(&g->aliases[i], c))
			reason = gate_judge_rule(g, c, g->aliases[i].rule);
	return reason;
}

/* ── A setting that comes back over what is new ── */

/* True if the entry was put there, or changed, since the run began, and does not go with the undo. */
static bool is_new_entry(struct result_view *r, size_t root, const char *path, const struct stat *st)
{
	return !S_ISDIR(st->st_mode) && change_stat_of(st).ctime_ns > r->started_ns && !is_in_set(r->g, root, path);
}

static void meet(struct result_view *r, const char *path, const struct airlock_reason *reason)
{
	r->found = (struct meeting){strdup(path), reason};
	r->g->failed |= !r->found.path;
}

/* Everything below the live directory that a leads to. */
static void look_through(struct result_view *r, const struct gate_alias *a)
{
	_cleanup_walk_ struct fs_walk w = FS_WALK_INIT;
	struct gate *g = r->g;
	int event = fs_open_beneath(g->roots[a->root].live, a->path, O_RDONLY | O_DIRECTORY);
	if (event >= 0)
		event = fs_walk_start(&w, event);
	while (event >= 0 && !r->found.path && (event = fs_walk_next(&w)) > 0) {
		struct stat st;
		const char *below = fs_walk_path(&w);
		_cleanup_free_ char *path = !below ? NULL : *a->path ? path_join(a->path, below) : strdup(below);
		if (!path || ++r->looked_at > MAX_LOOKED_AT) {
			meet(r, a->path, change_reason_of(AIRLOCK_REASON_LARGE_DIRECTORY));
			return;
		}
		if (event == FS_WALK_DIR)
			(void)fs_walk_enter(&w);
		else if (event == FS_WALK_ENTRY && gate_alias_leads_to(a, path) &&
			 fstatat(fs_walk_dirfd(&w), w.name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			 is_new_entry(r, a->root, path, &st))
			meet(r, path, &a->rule->reason);
	}
}

static void look_where_it_leads(struct result_view *r, const struct gate_alias *a)
{
	struct stat st;
	if (r->g->roots[a->root].live < 0)
		return;
	if (a->rest)
		look_through(r, a);
	else if (gate_stat_before(r->g, a->root, a->path, &st) == 0 && is_new_entry(r, a->root, a->path, &st))
		meet(r, a->path, &a->rule->reason);
}

/* dir: of a git directory or a root, absolute; the work tree around it. */
static char *top_of(const char *dir)
{
	return strcmp(path_basename(dir), ".git") == 0 ? path_dirname(dir) : strdup(dir);
}

/* True for a configuration of git, by its place or because a configuration that is in force includes it. */
static bool is_configuration(struct gate *g, const struct change *c, const char *dir)
{
	const char *name = path_basename(c->path);
	bool is_named = strcmp(name, "config") == 0 || strcmp(name, "config.worktree") == 0;
	if (is_named && (strcmp(path_basename(dir), ".git") == 0 || g->roots[c->root].in_git ||
			 gate_has_git_shape(g, c->root, c->path, (size_t)(name - c->path) - (name > c->path))))
		return true;
	for (size_t i = 0; i < g->n_aliases; i++)
		if (g->aliases[i].rule->how == SENSITIVE_GIT_CONFIG && gate_alias_covers(&g->aliases[i], c))
			return true;
	return false;
}

static void follow_file(struct result_view *r, const struct change *c)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	struct gate *g = r->g;
	_cleanup_free_ char *full = path_join(g->set->roots[c->root].path, c->path),
			    *dir = full ? path_dirname(full) : NULL, *top = dir ? top_of(dir) : NULL;
	if (!top) {
		g->failed = true;
		return;
	}
	bool is_envrc = strcmp(path_basename(c->path), ".envrc") == 0;
	if (!is_envrc && !is_configuration(g, c, dir))
		return;
	if (gate_read_after(g, c, &text) < 0)
		meet(r, c->path, change_reason_of(AIRLOCK_REASON_UNREADABLE));
	else if (is_envrc)
		gate_follow_envrc(g, dir, &text);
	else
		gate_follow_text(g, r->home, top, dir, &text);
}

/* A link that comes back leads on from a name that programs obey, or from a place that a setting leads to. */
static void follow_link(struct result_view *r, const struct change *c, const char *folded)
{
	_cleanup_buf_ struct buf target = BUF_INIT;
	struct gate *g = r->g;
	_cleanup_free_ char *full = path_join(g->set->roots[c->root].path, c->path),
			    *dir = full ? path_dirname(full) : NULL;
	const struct sensitive_rule *rule = gate_find_name(g, c->root, c->path, folded, true).rule;
	if (!dir || gate_read_link(g, c, &target) < 0)
		return;
	_cleanup_free_ char *place = path_normalize(dir, buf_str(&target));
	size_t n = g->n_aliases;
	bool is_hook = strstr(c->path, ".git/hooks") != NULL;
	for (size_t i = 0; place && i < n; i++) {
		const struct gate_alias a = g->aliases[i]; /* the list moves when it grows */
		const char *below = a.root == c->root ? path_rest(a.path, c->path) : NULL;
		_cleanup_free_ char *there = !below ? NULL : *below ? path_join(place, below) : strdup(place);
		if (there)
			gate_lead_to(g, there, a.rest, a.rule);
	}
	if (place && (rule || is_hook)) {
		gate_lead_to(g, place, NULL, rule ? rule : &gate_hook_rule);
		gate_lead_to(g, place, "**", rule ? rule : &gate_hook_rule);
	}
}

/* ── All of it ── */

static void check_change(struct result_view *r, const struct change *c)
{
	_cleanup_buf_ struct buf folded = BUF_INIT;
	struct gate *g = r->g;
	gate_fold(c->path, &folded);
	g->failed |= folded.failed;
	if (folded.failed || (c->after.type != CHANGE_FILE && c->after.type != CHANGE_SYMLINK))
		return;
	const char *path = buf_str(&folded);
	const struct airlock_reason *reason = judge_under_new(r, c);
	if (!reason)
		reason = gate_judge_top(g, c, path);
	if (reason) {
		meet(r, c->path, reason);
		return;
	}
	size_t n = g->n_aliases;
	if (c->after.type == CHANGE_FILE)
		follow_file(r, c);
	else
		follow_link(r, c, path);
	for (size_t i = n; i < g->n_aliases && !r->found.path; i++)
		look_where_it_leads(r, &g->aliases[i]);
	gate_forget_aliases(g, n);
}

static int check(struct gate *g, const struct gate_rules *rules, int64_t started_ns, const char *verb,
		 struct airlock_error *err)
{
	_cleanup_free_ char *home = rules->home ? realpath(rules->home, NULL) : NULL;
	struct result_view r = {.g = g, .home = home, .started_ns = started_ns};
	gate_find_aliases(g);
	gate_follow_settings(g, home ? home : rules->home, rules->environ);
	gate_follow_home(g, home);
	for (size_t i = 0; i < g->set->n && !r.found.path; i++)
		if (gate_is_open(g, &g->set->v[i]))
			check_change(&r, &g->set->v[i]);
	if (!r.found.path) {
		const struct airlock_reason *reason = NULL;
		const struct change *c = gate_find_awakened(g, &reason);
		if (c)
			meet(&r, c->path, reason);
	}
	_cleanup_free_ char *path = r.found.path;
	if (g->failed)
		return base_oom(err);
	if (!path)
		return 0;
	change_reason_refuse(err, verb, path, r.found.reason);
	return base_hint(err, "it was not so when the run began: look at it; --force does it all the same");
}

static int add_reversed(struct change_set *to, const struct change *c)
{
	struct change *r = change_set_add(to, c->root, c->from ? c->from : c->path);
	if (!r)
		return -ENOMEM;
	r->before = c->from ? (struct change_stat){0} : c->after;
	r->after = c->before;
	r->type = c->before.type;
	r->slot = c->slot ? c->slot + (c->from != NULL) : 0;
	/* What the run moved away is gone from its new place. */
	if (c->from && !(r = change_set_add(to, c->root, c->path)))
		return -ENOMEM;
	if (c->from) {
		r->before = c->after;
		r->type = c->after.type;
		r->kind = CHANGE_DELETED;
	}
	return 0;
}

/* What undoing would do, as changes. */
static int reverse(const struct change_set *set, const bool *selected, struct change_set *reversed)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < set->n_roots; i++)
		rc = change_set_take_root(reversed, strdup(set->roots[i].path), strdup(set->roots[i].upper),
					  set->roots[i].device, set->roots[i].inode);
	for (size_t i = 0; rc == 0 && i < set->n; i++)
		if (set->v[i].state == CHANGE_APPLIED && (!selected || selected[i]))
			rc = add_reversed(reversed, &set->v[i]);
	change_set_sort(reversed);
	return rc;
}

static int open_before(const char *run_dir)
{
	_cleanup_free_ char *dir = path_join(run_dir, "before");
	int fd = dir ? open(dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
	return fd < 0 ? -EBADF : fd;
}

int gate_check_undo(const struct change_set *set, const struct gate_rules *rules, const char *run_dir,
		    struct airlock_error *err)
{
	_cleanup_changes_ struct change_set *reversed = change_set_new(set->run);
	struct gate g;
	if (!reversed || reverse(set, rules->selected, reversed) < 0)
		return base_oom(err);
	if (gate_open(&g, reversed, NULL, err) < 0)
		return AIRLOCK_ERR_INTERNAL;
	_cleanup_close_ int before = open_before(run_dir);
	g.is_undo = true;
	g.before_fd = before;
	int rc = check(&g, rules, set->started_ns, "undo", err);
	gate_close(&g);
	return rc;
}

int gate_check_redo(struct change_set *set, const struct gate_rules *rules, struct airlock_error *err)
{
	struct gate g;
	if (gate_open(&g, set, NULL, err) < 0)
		return AIRLOCK_ERR_INTERNAL;
	g.selected = rules->selected;
	int rc = check(&g, rules, set->started_ns, "redo", err);
	gate_close(&g);
	return rc;
}
