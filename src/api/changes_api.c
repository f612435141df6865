/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `airlock changes`, `diff`, `apply`, `discard`, `undo`, `recover`: an earlier run's changes. */
#include "session/decided.h"
#include "history/backups.h"
#include "change/values.h"
#include "run/copies.h"
#include "history/history.h"
#include "history/history_read.h"
#include "history/recovery.h"

#include "base/error.h"
#include "base/path.h"
#include "change/apply/apply.h"
#include "change/apply/lock.h"
#include "change/reason.h"
#include "fs/fs.h"

#include <string.h>

/* ── Looking ── */

/* The caller's settings and places are not needed any more; the set goes into the result. */
static int give(struct past_run *e, const struct change_outcome *outcome, struct airlock_changes **ret,
		struct airlock_error *err)
{
	struct change_set *set = e->set;
	e->set = NULL;
	return change_values_take(set, outcome, ret, err);
}

int airlock_changes_open(const struct airlock_settings *s, const char *run, struct airlock_changes **ret,
			 struct airlock_error *err)
{
	_cleanup_decided_ struct decided d = DECIDED_INIT;
	int rc = decided_open(&d, s, run, DECIDED_TO_LOOK, err);
	return rc < 0 ? rc : give(&d.run, &(struct change_outcome){0}, ret, err);
}

/* ── Doing ── */

static size_t count_selected(const struct change_set *set, const bool *selected)
{
	size_t n = 0;
	for (size_t i = 0; i < set->n; i++)
		n += selected[i];
	return n;
}

/* Selects what a person means who names a run or some of its paths: everything that is not applied yet or, for an
 * undo, everything that is. Conflicts are part of it; otherwise the rest of the run would be applied without them
 * (I3). */
static int select_changes(struct change_set *set, const char *const *paths, bool undo, bool **ret,
			  struct airlock_error *err)
{
	int rc = apply_select(set, paths, undo, ret, err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < set->n; i++) {
		enum change_state st = set->v[i].state;
		bool open = undo ? st == CHANGE_APPLIED : st == CHANGE_HELD || st == CHANGE_CONFLICT;
		(*ret)[i] = (*ret)[i] && open;
	}
	return 0;
}

static int carry_out(struct past_run *e, const bool *selected, bool undo, bool force, struct notes *notes,
		     struct airlock_error *err)
{
	struct apply_request request = {.set = e->set,
					.selected = selected,
					.undo = undo,
					.force = force,
					.run_dir = e->dir,
					.journal_dir = e->journal,
					.lock_dir = e->locks};
	int rc = backups_execute(&e->host, NULL, &request, notes, err);
	if (rc == AIRLOCK_ERR_CONFLICT) {
		if (!undo) /* what is applied stays applied: the record is right as it is */
			(void)change_set_save(e->set, e->record, NULL);
		base_hint(err, "`airlock changes %s` says which; name the other paths, or use --force", e->set->run);
	}
	return rc;
}

/* Locks out other applies and undos, then reads the record again: another process may have changed it since. */
static int lock_record(struct past_run *e, struct lock *lock, struct airlock_error *err)
{
	_cleanup_free_ const char **roots = calloc(e->set->n_roots + 1, sizeof *roots);
	_cleanup_free_ char *id = strdup(e->set->run);
	if (!roots || !id)
		return base_oom(err);
	for (size_t i = 0; i < e->set->n_roots; i++)
		roots[i] = e->set->roots[i].path;
	int rc = lock_roots(lock, e->locks, roots, e->set->n_roots, LOCK_WAIT_MS, err);
	return rc < 0 ? rc : past_run_load(e, id, err);
}

/* Decides what undo means, for all callers: put back what is applied; if nothing is applied, apply again exactly what
 * was undone, and nothing else that waits. */
static int select_undo(struct change_set *set, const char *const *paths, bool **ret,
		       enum airlock_changes_action *ret_action, struct airlock_error *err)
{
	int rc = select_changes(set, paths, true, ret, err);
	*ret_action = AIRLOCK_ACTION_UNDO;
	if (rc < 0 || count_selected(set, *ret) > 0)
		return rc;
	base_freep(ret);
	rc = select_changes(set, paths, false, ret, err);
	for (size_t i = 0; rc == 0 && i < set->n; i++) {
		(*ret)[i] = (*ret)[i] && set->v[i].undone;
		if ((*ret)[i])
			*ret_action = AIRLOCK_ACTION_REDO;
	}
	return rc;
}

static int mark_undone(struct past_run *e, const bool *selected, size_t n, bool undone, struct notes *notes,
		       struct airlock_error *err)
{
	_cleanup_lock_ struct lock lock = LOCK_INIT;
	struct airlock_error why = {0};
	int rc = lock_record(e, &lock, &why);
	if (rc < 0 && e->set) { /* it is undone all the same */
		notes_add(notes, &(struct airlock_note){.code = undone ? AIRLOCK_NOTE_UNDO_NOT_RECORDED
								       : AIRLOCK_NOTE_REDO_NOT_RECORDED,
							.cause = why.message});
		return 0;
	}
	if (rc < 0)
		return base_pass(err, &why);
	/* Leave alone what someone else has decided differently by now. */
	for (size_t i = 0; rc == 0 && i < e->set->n && i < n; i++)
		if (selected[i] && (e->set->v[i].state == CHANGE_APPLIED) != undone)
			e->set->v[i].undone = undone;
	return rc < 0 ? rc : change_set_save(e->set, e->record, err);
}

/* The hint names the flag that overrules the refusal. Remove it if an agent asked: only a person may overrule. */
static int check_result(struct past_run *e, const bool *selected, bool undo, struct airlock_error *err)
{
	const struct gate_rules rules = {.home = e->host.home, .environ = &e->host.git_env, .selected = selected};
	int rc = undo ? gate_check_undo(e->set, &rules, e->dir, err) : gate_check_redo(e->set, &rules, err);
	if (rc < 0 && err && airlock_settings_is_agent(e->settings))
		err->hint[0] = '\0';
	return rc;
}

/* It is done all the same; whoever opens the session next tells it again. */
static void tell_session(struct decided *d, struct notes *notes)
{
	struct airlock_error why = {0};
	if (decided_settle(d, &why) < 0)
		NOTE(notes, SESSION_NOT_TOLD, .subject = d->session.name, .cause = why.message);
}

/* Carries out the action on the selected changes; there may be none. */
static int move_changes(struct decided *d, const bool *selected, enum airlock_changes_action action, bool force,
			struct airlock_changes **ret, struct airlock_error *err)
{
	struct past_run *e = &d->run;
	static const char *const events[] = {
		[AIRLOCK_ACTION_APPLY] = "apply", [AIRLOCK_ACTION_UNDO] = "undo", [AIRLOCK_ACTION_REDO] = "redo"};
	bool undo = action == AIRLOCK_ACTION_UNDO, decides = action == AIRLOCK_ACTION_APPLY;
	_cleanup_notes_ struct notes notes = NOTES_INIT;
	size_t n = e->set->n, count = count_selected(e->set, selected);
	int rc = count == 0 || decides || force ? 0 : check_result(e, selected, undo, err);
	if (rc == 0 && count > 0)
		rc = decided_begin(d, err);
	if (rc == 0 && count > 0)
		rc = carry_out(e, selected, undo, force, &notes, err);
	if (rc >= 0 && count > 0 && !decides)
		rc = mark_undone(e, selected, n, undo, &notes, err);
	if (rc >= 0 && count > 0)
		history_decided(&e->host, e->set, events[action], count, &notes);
	if (count > 0)
		tell_session(d, &notes);
	const struct change_outcome outcome = {.action = action, .done = selected, .notes = &notes};
	return rc < 0 ? rc : give(e, &outcome, ret, err);
}

/* Files that somebody edited since, merged with their version; all or none. */
static int merge_edits(struct decided *d, const bool *selected, struct airlock_error *err)
{
	if (!d->session.name || d->session.n_layers == 0)
		return 0; /* what a file was before is kept only by sessions */
	int left = session_merge_edits(&d->session, d->run.set, selected, err);
	if (left < 0)
		return left;
	int rc = change_set_save(d->run.set, d->run.record, err);
	if (rc < 0 || left == 0)
		return rc;
	base_error(err, AIRLOCK_ERR_CONFLICT, "merge", d->session.name,
		   "%d %s cannot be merged with what somebody else changed since; nothing is applied", left,
		   left == 1 ? "path" : "paths");
	return base_hint(err, "`airlock changes %s` says which; name the other paths, or use --force", d->session.name);
}

#define SHOWN_COMMAND 80 /* bytes */

/* All of it would be more than the person has seen: the command goes on writing. */
static int check_running(const struct decided *d, const char *const *paths, const char *verb, struct airlock_error *err)
{
	const char *name = d->session.name;
	_cleanup_free_ char *command = NULL;
	if (!name || (paths && *paths) || !session_is_running(&d->session, &d->run.host, &command))
		return 0;
	size_t len = command ? strlen(command) : 0, shown = AL_MIN(len, (size_t)SHOWN_COMMAND);
	while (shown < len && shown > 0 && ((unsigned char)command[shown] & 0xc0) == 0x80)
		shown--; /* not in the middle of a character */
	base_error(err, AIRLOCK_ERR_BUSY, "session", name,
		   "session %s is still running a command, so only named paths can be decided about: %.*s%s", name,
		   (int)shown, command ? command : "", shown < len ? "…" : "");
	return base_hint(
		err, "airlock %s %s PATH... for what is finished, or airlock session end %s, which ends the command",
		verb, name, name);
}

static int apply_as(const struct airlock_settings *s, const char *run, const char *const *paths, bool force, bool merge,
		    struct airlock_changes **ret, struct airlock_error *err)
{
	_cleanup_decided_ struct decided d = DECIDED_INIT;
	_cleanup_free_ bool *selected = NULL;
	int rc = decided_open(&d, s, run, DECIDED_TO_APPLY, err);
	if (rc == 0)
		rc = check_running(&d, paths, "apply", err);
	if (rc == 0)
		rc = select_changes(d.run.set, paths, false, &selected, err);
	if (rc == 0 && merge)
		rc = merge_edits(&d, selected, err);
	if (rc == 0)
		rc = move_changes(&d, selected, AIRLOCK_ACTION_APPLY, force, ret, err);
	return rc;
}

int airlock_changes_apply(const struct airlock_settings *s, const char *run, const char *const *paths, int force,
			  struct airlock_changes **ret, struct airlock_error *err)
{
	return apply_as(s, run, paths, force, false, ret, err);
}

int airlock_changes_apply_merged(const struct airlock_settings *s, const char *run, const char *const *paths,
				 struct airlock_changes **ret, struct airlock_error *err)
{
	return apply_as(s, run, paths, false, true, ret, err);
}

/* Judges these paths again: other runs may have been applied since. */
static int select_sensitive(struct past_run *e, const char *const *paths, bool **ret, struct airlock_error *err)
{
	int rc = select_changes(e->set, paths, false, ret, err);
	struct gate_rules rules = {
		.home = e->host.home, .environ = &e->host.git_env, .selected = *ret, .only_tighten = true};
	if (rc == 0)
		rc = gate_judge(e->set, &rules, err);
	for (size_t i = 0; rc == 0 && i < e->set->n; i++)
		(*ret)[i] = (*ret)[i] && e->set->v[i].verdict == CHANGE_HOLD && !change_is_follower(&e->set->v[i]);
	return rc;
}

int airlock_changes_sensitive(const struct airlock_settings *s, const char *run, const char *const *paths,
			      struct airlock_changes **ret, struct airlock_error *err)
{
	_cleanup_decided_ struct decided d = DECIDED_INIT;
	_cleanup_free_ bool *only = NULL;
	int rc = decided_open(&d, s, run, DECIDED_TO_LOOK, err);
	if (rc == 0)
		rc = select_sensitive(&d.run, paths, &only, err);
	if (rc == 0)
		rc = give(&d.run, &(struct change_outcome){.only = only}, ret, err);
	return rc;
}

int past_run_sensitive(struct past_run *e, const char *const *paths, char **ret_lines, struct airlock_error *err)
{
	_cleanup_free_ bool *selected = NULL;
	struct buf out = BUF_INIT;
	int rc = select_sensitive(e, paths, &selected, err);
	for (size_t i = 0; rc == 0 && i < e->set->n; i++) {
		const struct change *c = &e->set->v[i];
		if (!selected[i])
			continue;
		text_add_escaped(&out, c->path, strlen(c->path));
		buf_adds(&out, "    ");
		change_reasons_add_text(&out, c->reasons, c->n_reasons);
		buf_addc(&out, '\n');
	}
	*ret_lines = rc == 0 ? buf_take(&out) : NULL;
	buf_done(&out);
	return rc < 0 ? rc : *ret_lines ? 0 : base_oom(err);
}

/* Reads the mode from the run's own record. An unreadable mode never counts as "apply": that would skip a question. */
static bool was_mode_apply(const struct past_run *e)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	struct json_value record;
	if (history_read_file(e->dir, &text, &record, NULL) < 0)
		return false;
	struct json_value policy = json_value_member(record, "policy");
	_cleanup_free_ char *mode = json_value_string(json_value_member(policy, "changes"));
	return mode && strcmp(mode, "apply") == 0;
}

int past_run_held_by_mode(const struct past_run *e, const char *const *paths, char **ret_lines,
			  struct airlock_error *err)
{
	_cleanup_free_ bool *selected = NULL;
	struct buf out = BUF_INIT;
	size_t n = 0;
	int rc = select_changes(e->set, paths, false, &selected, err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < e->set->n; i++) {
		selected[i] = selected[i] && e->set->v[i].verdict != CHANGE_HOLD;
		n += selected[i];
	}
	if (n > 0 && !was_mode_apply(e))
		change_set_text(e->set, selected, &out);
	*ret_lines = buf_take(&out);
	return *ret_lines ? 0 : base_oom(err);
}

int airlock_changes_discard(const struct airlock_settings *s, const char *run, const char *const *paths,
			    struct airlock_changes **ret, struct airlock_error *err)
{
	_cleanup_decided_ struct decided d = DECIDED_INIT;
	struct past_run *e = &d.run;
	_cleanup_free_ bool *selected = NULL;
	_cleanup_notes_ struct notes notes = NOTES_INIT;
	_cleanup_lock_ struct lock lock = LOCK_INIT;
	int rc = decided_open(&d, s, run, DECIDED_TO_APPLY, err);
	if (rc == 0)
		rc = check_running(&d, paths, "discard", err);
	if (rc == 0 && e->set->n > 0)
		rc = lock_record(e, &lock, err);
	if (rc == 0)
		rc = select_changes(e->set, paths, false, &selected, err);
	size_t count = rc == 0 ? count_selected(e->set, selected) : 0;
	if (rc == 0 && count > 0)
		rc = decided_begin(&d, err);
	for (size_t i = 0; rc == 0 && count > 0 && i < e->set->n; i++)
		if (selected[i])
			e->set->v[i].state = CHANGE_DISCARDED;
	if (rc == 0 && count > 0)
		rc = change_set_save(e->set, e->record, err);
	if (rc == 0 && count > 0) {
		history_decided(&e->host, e->set, "discard", count, &notes);
		tell_session(&d, &notes);
	}
	const struct change_outcome outcome = {.action = AIRLOCK_ACTION_DISCARD, .done = selected, .notes = &notes};
	return rc < 0 ? rc : give(e, &outcome, ret, err);
}

/* ── Undo ── */

static bool has_applied(const struct change_set *set)
{
	for (size_t i = 0; i < set->n; i++)
		if (set->v[i].state == CHANGE_APPLIED)
			return true;
	return false;
}

static bool has_undone(const struct change_set *set)
{
	for (size_t i = 0; i < set->n; i++)
		if (set->v[i].state == CHANGE_HELD && set->v[i].undone)
			return true;
	return false;
}

/* Compare with every root: in runs of earlier versions the project was not always the first one. */
static bool has_root(const struct change_set *set, const char *path)
{
	for (size_t i = 0; i < set->n_roots; i++)
		if (strcmp(set->roots[i].path, path) == 0)
			return true;
	return false;
}

/* The newest run whose changes are in the project the caller is in. */
static int find_last_applied(struct past_run *e, struct airlock_error *err)
{
	_cleanup_strs_ struct strs runs = STRS_INIT;
	_cleanup_free_ char *project = NULL;
	int rc = past_run_project(e, &project, err);
	if (rc < 0)
		return rc;
	const char *undone = NULL;
	rc = past_run_list(e, &runs, err);
	if (rc < 0)
		return rc;
	for (size_t i = runs.n; i > 0; i--) {
		struct airlock_error why = {0};
		rc = past_run_load(e, runs.v[i - 1], &why);
		if (past_run_is_unknown(rc)) /* it may be the one that is meant */
			return base_pass(err, &why);
		if (rc < 0 || !has_root(e->set, project))
			continue;
		if (has_applied(e->set))
			return 0;
		undone = undone || !has_undone(e->set) ? undone : runs.v[i - 1];
	}
	rc = base_error(err, AIRLOCK_ERR_NOT_FOUND, "undo", project, "nothing was applied in %s that could be undone",
			project);
	if (undone)
		base_hint(err, "`airlock undo %s` applies again what was undone", undone);
	return rc;
}

int airlock_changes_undo_action(const struct airlock_settings *s, const char *run, const char *const *paths,
				enum airlock_changes_action *ret, struct airlock_error *err)
{
	_cleanup_decided_ struct decided d = DECIDED_INIT;
	_cleanup_free_ bool *selected = NULL;
	int rc = decided_open(&d, s, run, DECIDED_TO_UNDO, err);
	return rc < 0 ? rc : select_undo(d.run.set, paths, &selected, ret, err);
}

int airlock_changes_undo(const struct airlock_settings *s, const char *run, const char *const *paths, int force,
			 struct airlock_changes **ret, struct airlock_error *err)
{
	_cleanup_decided_ struct decided d = DECIDED_INIT;
	_cleanup_free_ bool *selected = NULL;
	enum airlock_changes_action action = AIRLOCK_ACTION_UNDO;
	int rc = run ? decided_open(&d, s, run, DECIDED_TO_UNDO, err) : decided_init(&d.run, s, err);
	if (rc == 0 && !run)
		rc = find_last_applied(&d.run, err);
	if (rc == 0 && !run)
		rc = decided_join(&d, err);
	if (rc == 0)
		rc = select_undo(d.run.set, paths, &selected, &action, err);
	if (rc == 0)
		rc = move_changes(&d, selected, action, force, ret, err);
	return rc;
}
