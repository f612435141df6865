/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "report.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ask.h"
#include "git_fold.h"
#include "json_read.h"
#include "output.h"
#include "review.h"

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

/* The one change that is held. */
static size_t find_held(const struct change_list *l)
{
	size_t i = 0;
	while (i + 1 < l->n && strcmp(l->v[i].state, "held") != 0)
		i++;
	return i;
}

/* Is the path of this line relative to the project? The library says the others with their root. */
static bool is_in_project(const char *text, size_t line)
{
	for (; line > 0 && text; line--) {
		text = strchr(text, '\n');
		text = text ? text + 1 : NULL;
	}
	return text && strlen(text) > 3 && text[3] != '/';
}

/* Can it be typed as it is, or between single quotes? */
static bool is_plain(const char *path, bool *ret_quotes)
{
	static const char safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./+@%,:=-";
	char *inert = airlock_text_inert(path, strlen(path));
	bool plain = inert && strcmp(inert, path) == 0 && !strchr(path, '\'') && path[0] != '-';
	airlock_free(inert);
	*ret_quotes = path[strspn(path, safe)] != '\0';
	return plain;
}

static void add_held_path(struct sentence *s, const char *run, const struct change_list *l, const char *text)
{
	size_t at = find_held(l);
	bool quotes = false;
	add(s, ": airlock apply %s", run);
	if (is_plain(l->v[at].path, &quotes) && is_in_project(text, at))
		add(s, quotes ? " '%s'" : " %s", l->v[at].path);
}

/* ── the sentence ── */

static void add_conflicts(struct sentence *s, const struct change_list *l, size_t count)
{
	size_t named = 0;
	for (size_t i = 0; i < l->n && named < CONFLICTS_MAX; i++) {
		const struct change_item *c = &l->v[i];
		if (strcmp(c->state, "conflict") != 0)
			continue;
		add(s, "%s%s", named ? ", " : "conflict: ", c->path);
		if (c->reason)
			add(s, " (%s)", c->reason);
		named++;
	}
	if (count > named)
		add(s, " and %zu more", count - named);
}

static void say_conflict(const char *run, const struct change_list *l, size_t count, bool for_agent)
{
	struct sentence s = {.len = 0};
	size_t applied = change_list_count(l, "applied");
	add_conflicts(&s, l, count);
	if (applied > 0)
		add(&s, "; %s applied", change_count(applied).text);
	else
		add(&s, "; nothing is applied");
	if (!for_agent)
		add(&s, ": airlock changes %s, airlock apply %s --force, airlock discard %s", run, run, run);
	output_say("%s", s.text);
}

/* A person at a terminal gets one short line; whoever reads it elsewhere gets what can be run. */
static void add_ways(struct sentence *s, const char *run)
{
	if (isatty(STDERR_FILENO))
		add(s, ": airlock review %s; or diff, apply, discard", run);
	else
		add(s, ": airlock diff %s, airlock apply %s, airlock discard %s", run, run, run);
}

static void say_states(const char *run, const struct change_list *l, const char *text, bool for_agent)
{
	struct sentence s = {.len = 0};
	size_t applied = change_list_count(l, "applied"), held = change_list_count(l, "held");
	const struct {
		size_t n;
		const char *word;
	} parts[] = {{applied, "applied"},
		     {change_list_count(l, "discarded"), "discarded"},
		     {change_list_count(l, "skipped"), "skipped"},
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
		; /* the lines that apply them are for a person, who finds them in airlock log */
	else if (held == 1 && applied > 0)
		add_held_path(&s, run, l, text);
	else if (held > 0)
		add_ways(&s, run);
	output_say("%s", s.text);
}

void report_headline(const char *run, const struct change_list *list, const char *text, bool for_agent)
{
	size_t conflicts = change_list_count(list, "conflict");
	if (conflicts > 0)
		say_conflict(run, list, conflicts, for_agent);
	else
		say_states(run, list, text, for_agent);
}

static void report_all(const char *run, const struct change_list *list, const char *text, bool for_agent)
{
	report_headline(run, list, text, for_agent);
	char *folded = git_fold(list, text);
	size_t left = output_lines(folded ? folded : text, REPORT_LINES);
	free(folded);
	if (left > 0)
		output_say("… and %zu more: airlock changes %s", left, run);
}

/* ── when to ask ── */

/* The mode may come from any file or option, so it is asked of the configuration. */
static bool has_mode_ask(const char *config, const char *profile)
{
	char key[256];
	bool found = false;
	(void)snprintf(key, sizeof key, "profiles.%s.changes", profile);
	const char *values = json_read_member(config, "values");
	for (const char *v = json_read_first(values); v && !found; v = json_read_next(v)) {
		char *name = json_read_string(json_read_member(v, "key")),
		     *value = json_read_string(json_read_member(v, "value"));
		const char *ignored = json_read_member(v, "ignored");
		found = name && value && strcmp(name, key) == 0 && strcmp(value, "ask") == 0 &&
			!(ignored && *ignored == 't');
		free(name);
		free(value);
	}
	return found;
}

/* A run that was killed or timed out is held, whoever would be there to ask. */
static bool should_ask(const struct invocation *inv, struct airlock_run *run, const struct change_list *list)
{
	char *config = NULL;
	struct airlock_error err = {0};
	if (airlock_run_status(run) != AIRLOCK_EXITED || change_list_count(list, "held") == 0 ||
	    !ask_is_possible(inv->settings) || airlock_config_show(inv->settings, true, &config, &err) < 0)
		return false;
	const char *isolation = json_read_member(airlock_run_result_json(run), "isolation");
	char *profile = json_read_string(json_read_member(isolation, "profile"));
	bool ask = profile && has_mode_ask(config, profile);
	free(profile);
	airlock_free(config);
	return ask;
}

/* Failures are told, not returned: the exit status belongs to the command that was run. */
static void ask_about(const struct invocation *inv, struct airlock_run *run)
{
	struct airlock_error err = {0};
	if (review(inv->settings, airlock_run_id(run), &err) < 0)
		output_error(&err);
}

static void tell_changes(const struct invocation *inv, struct airlock_run *run)
{
	struct change_list list = {0};
	struct airlock_error err = {0};
	const char *text = airlock_run_changes_text(run);
	int rc = change_list_parse(json_read_member(airlock_run_result_json(run), "changes"), &list, &err);
	if (rc == 0 && list.n == 0) /* there are some */
		rc = output_fail(&err, AIRLOCK_ERR_INTERNAL, NULL, "the changes cannot be listed: out of memory");
	if (rc < 0)
		output_error(&err);
	else if (should_ask(inv, run, &list))
		ask_about(inv, run);
	else
		report_all(airlock_run_id(run), &list, text, airlock_settings_is_agent(inv->settings));
	change_list_done(&list);
}

static void say_blocked(const char *what)
{
	char *line = NULL;
	if (asprintf(&line, "blocked: %s", what) >= 0)
		output_inert(line);
	free(line);
}

static void tell_denials(const struct airlock_run *run)
{
	size_t n = 0;
	for (; airlock_run_denial(run, n); n++)
		if (n < REPORT_LINES)
			say_blocked(airlock_run_denial(run, n));
	if (n > REPORT_LINES)
		output_say("blocked: %zu more: airlock show %s", n - REPORT_LINES, airlock_run_id(run));
}

void report_run(const struct invocation *inv, struct airlock_run *run)
{
	tell_denials(run);
	if (airlock_run_changes_count(run) > 0)
		tell_changes(inv, run);
	for (size_t i = 0; airlock_run_note(run, i); i++)
		output_inert(airlock_run_note(run, i));
}
