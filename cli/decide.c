/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decide.h"

#include <stdio.h>
#include <string.h>

#include "ask.h"
#include "change_list.h"
#include "output.h"
#include "report.h"

const char *const *decide_paths(const struct invocation *inv)
{
	return inv->more[0] ? inv->more : NULL;
}

static int tell_json(const struct invocation *inv, const char *run, struct airlock_error *err)
{
	char *json = NULL;
	int rc = airlock_changes_show(inv->settings, run, true, &json, err);
	if (rc >= 0)
		(void)fputs(json, stdout);
	airlock_free(json);
	return rc;
}

/* As few lines as a run's own report has, out of one for each of the changes; what follows those is notes. */
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

int decide_tell(const struct invocation *inv, const char *run, size_t count, const char *text,
		const struct decide_words *words, struct airlock_error *err)
{
	int rc = inv->json ? tell_json(inv, run, err) : 0;
	if (rc < 0)
		return rc;
	if (!inv->json && count > 0) {
		print_lines(text, count, run);
		(void)printf("%s %s of run %s\n", words->did, change_count(count).text, run);
	} else if (!inv->json) {
		(void)printf("%s\n", words->nothing);
	}
	return count > 0 ? 0 : 1;
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
	return output_hint(err, "name the paths that you want");
}

/* The library's lines are inert. */
static void list_sensitive(const char *sensitive)
{
	output_say("sensitive, because they can make other programs do things:");
	output_lines(sensitive, SIZE_MAX);
}

/* An agent may apply only what needs no confirmation. */
static int deny_agent(const struct airlock_settings *s, const char *run, const char *const *paths,
		      struct airlock_error *err)
{
	struct airlock_asked *asked = NULL;
	int rc = airlock_changes_question(s, run, paths, &asked, err);
	if (rc >= 0 && asked)
		rc = output_fail(err, AIRLOCK_ERR_DENIED, "apply",
				 "nothing is applied: a person decides about these changes");
	airlock_asked_free(asked);
	return rc < 0 ? rc : 1;
}

int decide_confirm(const struct airlock_settings *s, const char *run, const char *const *paths, bool is_quiet,
		   struct airlock_error *err)
{
	char *sensitive = NULL;
	if (airlock_settings_is_agent(s))
		return deny_agent(s, run, paths, err);
	int rc = airlock_changes_sensitive(s, run, paths, &sensitive, err);
	if (rc >= 0 && *sensitive && ask_is_possible(s))
		rc = ask_about(s, run, paths, err);
	else if (rc >= 0 && *sensitive && !is_quiet)
		list_sensitive(sensitive);
	airlock_free(sensitive);
	return rc < 0 ? rc : 1;
}
