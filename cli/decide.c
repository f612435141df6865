/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decide.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer_wait.h"
#include "ask.h"
#include "change_list.h"
#include "output.h"
#include "run_report.h"
#include "words/change_lines.h"

const char *const *decide_paths(const struct invocation *inv)
{
	return inv->more[0] ? inv->more : NULL;
}

int decide_print_json(struct airlock_changes *changes, struct airlock_error *err)
{
	const char *json = airlock_changes_json(changes);
	if (!json)
		return output_fail(err, AIRLOCK_ERR_INTERNAL, NULL, "out of memory");
	(void)fputs(json, stdout);
	return 0;
}

/* Prints as few lines as a run's own report, out of one for each change; the lines after them are notes. */
static void print_lines(const char *text, size_t changes, const char *run)
{
	for (size_t i = 0; *text; i++) {
		size_t len = strcspn(text, "\n");
		len += text[len] == '\n';
		if (i < REPORT_LINES || i >= changes)
			(void)printf("%.*s", (int)len, text);
		text += len;
	}
	if (changes > REPORT_LINES)
		(void)printf("… and %zu more: airlock changes %s\n", changes - REPORT_LINES, run);
}

int decide_tell(const struct invocation *inv, struct airlock_changes *changes, struct airlock_error *err)
{
	static const struct {
		const char *did, *nothing;
	} words[] = {[AIRLOCK_ACTION_APPLY] = {"applied", "nothing to apply"},
		     [AIRLOCK_ACTION_DISCARD] = {"discarded", "nothing to discard"},
		     [AIRLOCK_ACTION_UNDO] = {"undid", "nothing to undo"},
		     [AIRLOCK_ACTION_REDO] = {"applied again", "nothing to undo"}};
	enum airlock_changes_action action = airlock_changes_action(changes);
	size_t count = airlock_changes_done_count(changes);
	const char *run = airlock_changes_name(changes);
	const char *what = strcmp(run, airlock_changes_run(changes)) == 0 ? "run" : "session";
	int rc = inv->json ? decide_print_json(changes, err) : 0;
	char *text = rc < 0 || inv->json ? NULL : change_lines_done(changes);
	if (rc >= 0 && !inv->json && !text)
		rc = output_fail(err, AIRLOCK_ERR_INTERNAL, NULL, "out of memory");
	else if (text && count > 0) {
		print_lines(text, count, run);
		(void)printf("%s %s of %s %s\n", words[action].did, change_count(count).text, what, run);
	} else if (text) {
		(void)printf("%s\n", words[action].nothing);
	}
	free(text);
	return rc < 0 ? rc : count > 0 ? 0 : 1;
}

static int ask_about(const struct airlock_settings *s, const char *run, const char *const *paths,
		     struct airlock_error *err)
{
	struct airlock_asked *asked = NULL;
	int rc = airlock_changes_question(s, run, paths, &asked, err);
	if (rc < 0 || !asked)
		return rc < 0 ? rc : 1;
	const struct ask ask = {.text = airlock_asked_question(asked)->text,
				.keys = "[A]pply  [N]o",
				.word = "apply",
				.said_yes = "apply",
				.said_no = "no"};
	rc = ask_terminal(&ask, err);
	airlock_asked_free(asked);
	if (rc != 0)
		return rc;
	(void)output_fail(err, AIRLOCK_ERR_DENIED, "apply", "nothing is applied: you said no");
	return output_hint(err, "name the paths you want to apply");
}

/* On stderr. */
static void list_sensitive(const struct airlock_changes *changes)
{
	output_say("sensitive, because other programs would run or obey them:");
	for (size_t i = 0; i < airlock_changes_count(changes); i++) {
		const struct airlock_change *c = airlock_changes_at(changes, i);
		char *why = change_reason(c);
		output_say("  %s    %s", c->path, why ? why : "");
		airlock_free(why);
	}
}

/* An agent may apply only what needs no confirmation; about the rest a person is asked elsewhere. */
static int ask_person(const struct airlock_settings *s, const char *run, const char *const *paths, bool is_quiet,
		      struct airlock_error *err)
{
	struct airlock_asked *asked = NULL;
	enum airlock_answer answer = AIRLOCK_DENY;
	int rc = airlock_changes_question(s, run, paths, &asked, err);
	if (rc >= 0 && asked)
		rc = answer_wait_changes(s, airlock_asked_question(asked), is_quiet, &answer, err);
	if (rc >= 0 && asked && answer != AIRLOCK_ALLOW_ONCE)
		rc = output_fail(err, AIRLOCK_ERR_DENIED, "apply",
				 "nothing is applied: a person decides about these changes");
	airlock_asked_free(asked);
	return rc < 0 ? rc : 1;
}

int decide_confirm(const struct airlock_settings *s, const char *run, const char *const *paths, bool is_quiet,
		   struct airlock_error *err)
{
	struct airlock_changes *sensitive = NULL;
	if (airlock_settings_is_agent(s))
		return ask_person(s, run, paths, is_quiet, err);
	int rc = airlock_changes_sensitive(s, run, paths, &sensitive, err);
	bool is_any = rc >= 0 && airlock_changes_count(sensitive) > 0;
	if (is_any && ask_is_possible(s))
		rc = ask_about(s, run, paths, err);
	else if (is_any && !is_quiet)
		list_sensitive(sensitive);
	airlock_changes_free(sensitive);
	return rc < 0 ? rc : 1;
}
