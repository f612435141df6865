/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a run leaves behind is harmless in the layer. The gate asks of each change what the live tree would do with it:
 * what would run, or lead a program astray, without anybody starting it, is held for a person. It is judged by the final
 * tree and not by who made the change or how: a rename, a link or two runs in a row come to the same. Deletions pass.
 */
#include "change/gate/gate.h"

#include "base/glob.h"
#include "change/gate/gate_name.h"
#include "change/gate/gate_repo.h"

#include <string.h>

const struct airlock_reason *gate_judge_rule(struct gate *g, const struct change *c, const struct sensitive_rule *rule)
{
	static gate_judge_content *const judges[] = {
		[SENSITIVE_GIT_CONFIG] = gate_judge_config,
		[SENSITIVE_GIT_MODULES] = gate_judge_modules,
		[SENSITIVE_GIT_ATTRIBUTES] = gate_judge_attributes,
		[SENSITIVE_GIT_TODO] = gate_judge_todo,
		[SENSITIVE_GIT_WORD] = gate_judge_word,
		[SENSITIVE_GIT_INDEX] = gate_judge_index,
		[SENSITIVE_GIT_POINTER] = gate_judge_pointer,
		[SENSITIVE_PACKAGE_JSON] = gate_judge_package,
		[SENSITIVE_PYTHON_START] = gate_judge_python_start,
		[SENSITIVE_PYTHON_ENV] = gate_judge_python_env,
		[SENSITIVE_PYTHON_BIN] = gate_judge_python_bin,
		[SENSITIVE_WORDS] = gate_judge_words,
		[SENSITIVE_VERSION] = gate_judge_version,
		[SENSITIVE_VARIABLES] = gate_judge_variables,
	};
	bool is_python = rule->how == SENSITIVE_PYTHON_START || rule->how == SENSITIVE_PYTHON_ENV ||
			 rule->how == SENSITIVE_PYTHON_BIN;
	bool has_content = c->after.type == CHANGE_FILE || is_python; /* Python's judges know what a link means */
	return judges[rule->how] && has_content ? judges[rule->how](g, c, rule) : &rule->reason;
}

/* ── One change ── */

/* On something that people may have looked at as data, if git says so. New programs are part of any project. */
static bool became_executable(const struct change *c)
{
	return c->before.type == CHANGE_FILE && c->after.type == CHANGE_FILE && !(c->before.mode & 0111) &&
	       (c->after.mode & 0111);
}

static const struct airlock_reason *judge_name(struct gate *g, const struct change *c, const char *folded)
{
	struct gate_name name = gate_find_name(g, c->root, c->path, folded, false);
	if (!name.rule)
		return NULL;
	const struct airlock_reason *reason = gate_judge_rule(g, c, name.rule);
	return reason && gate_was_obeyed(g, c, &name) ? NULL : reason;
}

static const struct airlock_reason *judge_by_place(struct gate *g, const struct change *c, const char *folded)
{
	const struct sensitive_rule *rule = gate_find_by_place(g, c, folded);
	return rule ? gate_judge_rule(g, c, rule) : NULL;
}

static const struct airlock_reason *judge_place(struct gate *g, const struct change *c)
{
	_cleanup_buf_ struct buf folded = BUF_INIT;
	gate_fold(c->path, &folded);
	if (folded.failed) {
		g->failed = true;
		return change_reason_of(AIRLOCK_REASON_UNREADABLE);
	}
	const char *path = buf_str(&folded);
	const struct airlock_reason *reason = c->after.type == CHANGE_SYMLINK ? gate_judge_link(g, c, path) : NULL;
	if (!reason)
		reason = judge_name(g, c, path);
	if (!reason)
		reason = judge_by_place(g, c, path);
	if (!reason)
		reason = gate_judge_git(g, c, path);
	if (!reason)
		reason = gate_judge_top(g, c, path);
	if (!reason)
		reason = gate_judge_alias(g, c, path);
	return !reason && gate_is_unknown(g, c, path) ? change_reason_of(AIRLOCK_REASON_UNKNOWN_NAME) : reason;
}

/* A directory runs nothing by itself; what is in it is a change of its own. */
static const struct airlock_reason *judge(struct gate *g, const struct change *c)
{
	if (c->after.type == CHANGE_NOTHING)
		return NULL;
	bool is_program_now = became_executable(c);
	if ((c->kind == CHANGE_METADATA && !is_program_now) || c->after.type == CHANGE_DIRECTORY)
		return NULL;
	const struct airlock_reason *reason = judge_place(g, c);
	return !reason && is_program_now && gate_is_tracked_data(g, c)
		       ? change_reason_of(AIRLOCK_REASON_MADE_EXECUTABLE)
		       : reason;
}

/* ── The configuration ── */

static bool is_allowed(const struct gate_rules *rules, const char *path)
{
	for (size_t i = 0; rules && rules->allow && i < rules->allow->n; i++)
		if (gate_pattern_match(rules->allow->v[i], path, 0))
			return true;
	return false;
}

/* More generous than the other way: in doubt it is held. Deletions are, too: somebody wants to look at these paths. */
static bool is_held(const struct gate_rules *rules, const struct change *c)
{
	for (size_t i = 0; rules && rules->hold && i < rules->hold->n; i++)
		if (gate_pattern_covers(rules->hold->v[i], c->path, GLOB_ANY_CASE) ||
		    (c->from && gate_pattern_covers(rules->hold->v[i], c->from, GLOB_ANY_CASE)))
			return true;
	return false;
}

/* ── All of them ── */

bool gate_is_open(const struct gate *g, const struct change *c)
{
	bool is_meant = !g->selected || g->content || g->selected[c - g->set->v];
	return is_meant && c->verdict != CHANGE_SKIP && (c->state == CHANGE_HELD || c->state == CHANGE_CONFLICT);
}

/* Judging once more changes nothing. */
int gate_hold(struct change *c, const struct airlock_reason *reason)
{
	bool is_held = c->verdict == CHANGE_HOLD && change_reason_code(c, REASON_CONTENT);
	c->verdict = CHANGE_HOLD;
	return is_held ? 0 : change_reason_set(c, reason);
}

const struct airlock_reason *gate_reason(struct gate *g, const struct gate_rules *rules, const struct change *c)
{
	if (c->after.type == CHANGE_OTHER) /* whatever the rules allow: it is no file that somebody could look at */
		return change_reason_of(AIRLOCK_REASON_SPECIAL_FILE);
	if (is_allowed(rules, c->path))
		return NULL;
	if (is_held(rules, c))
		return change_reason_of(AIRLOCK_REASON_HOLD_RULE);
	const struct airlock_reason *reason = judge(g, c);
	return reason && !g->content && gate_is_own(g, c) ? NULL : reason;
}

static int judge_change(struct gate *g, const struct gate_rules *rules, struct change *c)
{
	if (change_is_follower(c)) /* held only because of others: judged anew */
		c->verdict = CHANGE_APPLY;
	if (rules && rules->only_tighten && c->verdict == CHANGE_HOLD)
		return 0;
	const struct airlock_reason *reason = gate_reason(g, rules, c);
	if (reason)
		return gate_hold(c, reason);
	change_reason_drop(c, REASON_CONTENT);
	c->verdict = CHANGE_APPLY;
	return 0;
}

int gate_judge(struct change_set *set, const struct gate_rules *rules, struct airlock_error *err)
{
	struct gate g;
	int rc = 0;
	if (set->n == 0)
		return 0;
	_cleanup_free_ char *home = rules && rules->home ? realpath(rules->home, NULL) : NULL;
	if (gate_open(&g, set, home, err) < 0)
		return AIRLOCK_ERR_INTERNAL;
	g.selected = rules ? rules->selected : NULL;
	gate_find_aliases(&g);
	gate_follow_settings(&g, home ? home : rules ? rules->home : NULL, rules ? rules->environ : NULL);
	gate_follow_home(&g, home);
	for (size_t i = 0; rc == 0 && i < set->n; i++)
		if (gate_is_open(&g, &set->v[i]))
			rc = judge_change(&g, rules, &set->v[i]);
	rc = rc < 0 ? rc : gate_judge_objects(&g);
	rc = rc < 0 ? rc : gate_judge_commits(&g, rules);
	rc = rc < 0 ? rc : gate_hold_whole(&g);
	if (g.failed || rc < 0)
		rc = base_oom(err);
	gate_close(&g);
	return rc;
}
