/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run_report.h"

#include <airlock/result.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ask.h"
#include "git_fold.h"
#include "output.h"
#include "review.h"
#include "words/change_lines.h"

#define CONFLICTS_MAX 3

/* One sentence that grows. What does not fit is left out: the list below it is complete. */
struct sentence {
	char text[2048];
	size_t len;
};

static void __attribute__((format(printf, 2, 3))) add(struct sentence *s, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(s->text + s->len, sizeof s->text - s->len, fmt, ap);
	va_end(ap);
	s->len += n < 0 ? 0 : (size_t)n;
	if (s->len >= sizeof s->text)
		s->len = sizeof s->text - 1;
}

/* ── what to type next ── */

static const struct airlock_change *find_held(const struct airlock_changes *changes)
{
	for (size_t i = 0; i < airlock_changes_count(changes); i++)
		if (airlock_changes_at(changes, i)->state == AIRLOCK_CHANGE_HELD)
			return airlock_changes_at(changes, i);
	return NULL;
}

/* True if it can be typed as it is, or in single quotes. */
static bool is_plain(const char *path, bool *ret_quotes)
{
	static const char safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./+@%,:=-";
	char *inert = airlock_text_inert(path, strlen(path));
	bool plain = inert && strcmp(inert, path) == 0 && !strchr(path, '\'') && path[0] != '-';
	airlock_free(inert);
	*ret_quotes = path[strspn(path, safe)] != '\0';
	return plain;
}

/* The one change that is held. */
static void add_held_path(struct sentence *s, const struct airlock_changes *changes)
{
	const struct airlock_change *held = find_held(changes);
	bool quotes = false;
	add(s, ": airlock apply %s", airlock_changes_name(changes));
	if (held && held->in_project && is_plain(held->path, &quotes))
		add(s, quotes ? " '%s'" : " %s", held->path);
}

/* ── the sentence ── */

static void add_conflicts(struct sentence *s, const struct airlock_changes *changes, size_t count)
{
	size_t named = 0;
	for (size_t i = 0; i < airlock_changes_count(changes) && named < CONFLICTS_MAX; i++) {
		const struct airlock_change *c = airlock_changes_at(changes, i);
		if (c->state != AIRLOCK_CHANGE_CONFLICT)
			continue;
		char *why = change_reason(c);
		add(s, "%s%s (%s)", named ? ", " : "conflict: ", c->path, why ? why : "");
		airlock_free(why);
		named++;
	}
	if (count > named)
		add(s, " and %zu more", count - named);
}

static void say_conflict(const struct airlock_changes *changes, size_t count, bool for_agent)
{
	const char *run = airlock_changes_name(changes);
	struct sentence s = {.len = 0};
	size_t applied = change_list_count(changes, AIRLOCK_CHANGE_APPLIED);
	add_conflicts(&s, changes, count);
	if (applied > 0)
		add(&s, "; %s applied", change_count(applied).text);
	else
		add(&s, "; nothing is applied");
	if (!for_agent)
		add(&s, ": airlock changes %s, airlock apply %s --force, airlock discard %s", run, run, run);
	output_say("%s", s.text);
}

/* A person at a terminal gets one short line; other readers get commands to run. */
static void add_ways(struct sentence *s, const char *run)
{
	if (isatty(STDERR_FILENO))
		add(s, ": airlock review %s; or diff, apply, discard", run);
	else
		add(s, ": airlock diff %s, airlock apply %s, airlock discard %s", run, run, run);
}

static void say_states(const struct airlock_changes *changes, bool for_agent)
{
	struct sentence s = {.len = 0};
	size_t applied = change_list_count(changes, AIRLOCK_CHANGE_APPLIED),
	       held = change_list_count(changes, AIRLOCK_CHANGE_HELD);
	const struct {
		size_t n;
		const char *word;
	} parts[] = {{applied, "applied"},
		     {change_list_count(changes, AIRLOCK_CHANGE_DISCARDED), "discarded"},
		     {change_list_count(changes, AIRLOCK_CHANGE_SKIPPED), "skipped"},
		     {held, for_agent ? "held for a person to decide"
			    : applied ? "held for you"
				      : "held"}};
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		if (parts[i].n > 0 && s.len == 0)
			add(&s, "%s %s", change_count(parts[i].n).text, parts[i].word);
		else if (parts[i].n > 0)
			add(&s, ", %zu %s", parts[i].n, parts[i].word);
	}
	if (for_agent)
		; /* the commands that apply them are for a person, who finds them in airlock log */
	else if (held == 1 && applied > 0)
		add_held_path(&s, changes);
	else if (held > 0)
		add_ways(&s, airlock_changes_name(changes));
	output_say("%s", s.text);
}

void report_headline(const struct airlock_changes *changes, bool for_agent)
{
	size_t conflicts = change_list_count(changes, AIRLOCK_CHANGE_CONFLICT);
	if (conflicts > 0)
		say_conflict(changes, conflicts, for_agent);
	else
		say_states(changes, for_agent);
}

static void report_all(const struct airlock_changes *changes, bool for_agent)
{
	report_headline(changes, for_agent);
	char *lines = git_fold(changes);
	size_t left = lines ? output_lines(lines, REPORT_LINES) : airlock_changes_count(changes);
	free(lines);
	if (left > 0)
		output_say("… and %zu more: airlock changes %s", left, airlock_changes_name(changes));
}

/* ── when to ask ── */

/* A run that was killed or timed out is held, even if someone could be asked. */
static bool should_ask(const struct invocation *inv, const struct airlock_run *run,
		       const struct airlock_changes *changes)
{
	return airlock_run_status(run) == AIRLOCK_EXITED && airlock_run_changes_mode(run) == AIRLOCK_MODE_ASK &&
	       change_list_count(changes, AIRLOCK_CHANGE_HELD) > 0 && ask_is_possible(inv->settings);
}

/* Reports failures but does not return them: the exit status belongs to the command. */
static void ask_about(const struct invocation *inv, struct airlock_run *run)
{
	struct airlock_error err = {0};
	if (review(inv->settings, airlock_run_id(run), &err) < 0)
		output_error(&err);
}

static void tell_changes(const struct invocation *inv, struct airlock_run *run, bool for_agent)
{
	const struct airlock_changes *changes = airlock_run_changes(run);
	if (!changes)
		output_say("the changes cannot be listed: out of memory");
	else if (airlock_changes_count(changes) == 0)
		return;
	else if (should_ask(inv, run, changes))
		ask_about(inv, run);
	else
		report_all(changes, for_agent);
}

/* An agent is told what was refused, not which option would allow it: it cannot set one, a person can. */
static void say_blocked(const struct airlock_denial *d, bool for_agent)
{
	char *what = airlock_denial_text(d), *hint = airlock_denial_hint(d);
	bool is_hopeless = d->rule == AIRLOCK_DENIAL_CALL && !d->remedy;
	if (!what || !hint || for_agent)
		output_say("blocked: %s", what ? what : "");
	else if (d->remedy)
		output_say("blocked: %s; to allow: %s", what, hint);
	else
		output_say("blocked: %s%s", what, is_hopeless ? "; no profile allows it" : "");
	airlock_free(what);
	airlock_free(hint);
}

static void tell_denials(const struct airlock_run *run, bool for_agent)
{
	size_t n = airlock_run_denial_count(run);
	for (size_t i = 0; i < n && i < REPORT_LINES; i++)
		say_blocked(airlock_run_denial(run, i), for_agent);
	if (n > REPORT_LINES)
		output_say("blocked: %zu more: airlock show %s", n - REPORT_LINES, airlock_run_id(run));
}

void report_run(const struct invocation *inv, struct airlock_run *run, bool for_agent)
{
	tell_denials(run, for_agent);
	tell_changes(inv, run, for_agent);
	for (size_t i = 0; airlock_run_note(run, i); i++)
		output_note(airlock_run_note(run, i));
}
