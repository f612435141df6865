/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `airlock agent NAME`: a whole agent in a sandbox. It is one long command of a session; what is its own in the home, its hosts and
 * its program are in its recipe. `airlock agent list`, `show` and `explain` only look. */
#include "commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <airlock/agent.h>
#include <airlock/session.h>

#include "output.h"
#include "run_loop.h"

/* ── Looking ── */

/* Looking fails as other commands do, not as a run. */
static int looked(const struct invocation *inv, int rc, const struct airlock_error *err)
{
	struct command plain = *inv->command;
	plain.is_run = false;
	return rc < 0 ? invoke_report(&plain, inv->json, err) : rc;
}

/* Options of a run mean nothing here. */
static int check_options(const struct invocation *inv, const char *verb, struct airlock_error *err)
{
	for (size_t i = 0; i < inv->args.n_options; i++) {
		const char *name = inv->args.options[i].option->name;
		if (strcmp(name, "json") != 0)
			return output_fail(err, AIRLOCK_ERR_USAGE, name, "agent %s takes no option --%s", verb, name);
	}
	return 0;
}

static int list(const struct invocation *inv, struct airlock_error *err)
{
	struct airlock_recipes *all = NULL;
	int rc = check_options(inv, "list", err);
	if (rc >= 0 && inv->more[0])
		rc = output_fail(err, AIRLOCK_ERR_USAGE, inv->more[0], "unexpected argument: '%s'", inv->more[0]);
	if (rc >= 0)
		rc = airlock_recipes_open(inv->settings, &all, err);
	if (rc >= 0 && inv->json)
		rc = output_json(airlock_recipes_json(all), err);
	for (size_t i = 0; rc >= 0 && !inv->json && i < airlock_recipes_count(all); i++) {
		const struct airlock_recipe *r = airlock_recipes_at(all, i);
		(void)printf("%-10s  %-9s  ", r->name, airlock_recipe_source_name(r->source));
		output_text(stdout, r->title);
		if (!r->found)
			(void)fputs("  (not installed)", stdout);
		(void)putchar('\n');
	}
	airlock_recipes_free(all);
	return rc;
}

static int check_one_name(const struct invocation *inv, const char *verb, struct airlock_error *err)
{
	if (!inv->more[0])
		return output_fail(err, AIRLOCK_ERR_USAGE, "NAME", "agent %s needs the name of an agent", verb);
	return 0;
}

static int show(const struct invocation *inv, struct airlock_error *err)
{
	struct airlock_recipes *one = NULL;
	int rc = check_options(inv, "show", err);
	if (rc >= 0)
		rc = check_one_name(inv, "show", err);
	if (rc >= 0 && inv->more[1])
		rc = output_fail(err, AIRLOCK_ERR_USAGE, inv->more[1], "unexpected argument: '%s'", inv->more[1]);
	if (rc >= 0)
		rc = airlock_recipes_open_one(inv->settings, inv->more[0], &one, err);
	if (rc >= 0) {
		const struct airlock_recipe *r = airlock_recipes_at(one, 0);
		char *json = inv->json ? airlock_recipe_json(r) : NULL;
		if (inv->json) {
			rc = output_json(json, err);
		} else {
			(void)fputs("# from: ", stdout);
			output_text(stdout, r->file);
			(void)fputs("\n# program: ", stdout);
			output_text(stdout, r->found ? r->found : "not installed");
			(void)putchar('\n');
			output_list(r->text);
		}
		airlock_free(json);
	}
	airlock_recipes_free(one);
	return rc;
}

/* ── Running ── */

/* The words behind --. Others are a mistake: the agent's own options would be taken for airlock's. */
static int find_arguments(const struct invocation *inv, size_t names, const char *const **ret,
			  struct airlock_error *err)
{
	if (inv->args.n_leading > names) {
		const char *word = inv->args.words[names];
		(void)output_fail(err, AIRLOCK_ERR_USAGE, word, "unexpected argument: '%s'", word);
		return output_hint(err, "the agent's own arguments come after --: airlock agent %s -- %s",
				   inv->args.words[names - 1], word);
	}
	*ret = inv->args.words + names;
	return 0;
}

/* "claude-1118-1": the first that the project does not have. */
static int choose_session(const struct invocation *inv, const char *agent, struct airlock_error *err)
{
	char name[64];
	time_t now = time(NULL);
	struct tm tm;
	if (airlock_settings_session(inv->settings))
		return 0;
	if (!localtime_r(&now, &tm))
		return output_fail(err, AIRLOCK_ERR_INTERNAL, NULL, "no name for a session could be found");
	for (unsigned i = 1; i < 10000; i++) {
		(void)snprintf(name, sizeof name, "%.32s-%02d%02d-%u", agent, tm.tm_mon + 1, tm.tm_mday, i);
		if (!airlock_session_exists(inv->settings, name))
			return airlock_settings_set(inv->settings, "session", name, "airlock agent", err);
	}
	return output_fail(err, AIRLOCK_ERR_INTERNAL, NULL, "no name for a session could be found");
}

static int unknown_agent(const struct airlock_error *why, struct airlock_error *err)
{
	if (why->code != AIRLOCK_ERR_NOT_FOUND) {
		*err = *why;
		return why->code;
	}
	(void)output_fail(err, AIRLOCK_ERR_USAGE, why->subject, "%s", why->message);
	return output_hint(err, "%s", why->hint);
}

/* names: how many words before the arguments; the last of them is the agent's. */
static int set_agent(const struct invocation *inv, size_t names, char **ret_title, struct airlock_error *err)
{
	const char *const *arguments = NULL, *agent = inv->args.words[names - 1];
	struct airlock_recipes *one = NULL;
	struct airlock_error why = {0};
	bool yolo = false;
	int rc = find_arguments(inv, names, &arguments, err);
	if (rc >= 0)
		rc = arguments_flag(&inv->args, "yolo", &yolo, err);
	if (rc >= 0 && airlock_recipes_open_one(inv->settings, agent, &one, &why) < 0)
		rc = unknown_agent(&why, err);
	if (rc >= 0 && yolo && !*airlock_recipes_at(one, 0)->yolo)
		output_say("%s has no option that asks nothing: --yolo changes nothing",
			   airlock_recipes_at(one, 0)->title);
	if (rc >= 0 && !(*ret_title = strdup(airlock_recipes_at(one, 0)->title)))
		rc = output_fail(err, AIRLOCK_ERR_INTERNAL, NULL, "out of memory");
	airlock_recipes_free(one);
	if (rc >= 0)
		rc = choose_session(inv, agent, err);
	return rc < 0 ? rc : airlock_settings_set_agent(inv->settings, agent, yolo, arguments, err);
}

static int explain(const struct invocation *inv, struct airlock_error *err)
{
	char *title = NULL;
	int rc = check_one_name(inv, "explain", err);
	if (rc >= 0)
		rc = set_agent(inv, 2, &title, err);
	free(title);
	return rc < 0 ? rc : explain_job(inv, err);
}

/* Only for a person at the terminal: a program that reads the agent's output expects nothing else. */
static void tell_start(const struct invocation *inv, const char *title)
{
	if (isatty(STDERR_FILENO))
		output_say("%s runs in session %s; its questions to you: airlock questions", title,
			   airlock_settings_session(inv->settings));
}

static int start(const struct invocation *inv, struct airlock_error *err)
{
	char *title = NULL;
	bool by_agent = airlock_settings_is_agent(inv->settings); /* an agent that starts another */
	struct run_manner how = {.is_agent = true, .is_for_agent = by_agent};
	int rc = run_loop_pty(inv, &how.has_pty, err);
	if (rc >= 0)
		rc = set_agent(inv, 1, &title, err);
	if (rc >= 0 && !inv->json)
		tell_start(inv, title);
	free(title);
	return rc < 0 ? rc : run_loop(inv, &how, err);
}

int cmd_agent(const struct invocation *inv, struct airlock_error *err)
{
	const char *word = inv->operand;
	if (strcmp(word, "list") == 0)
		return looked(inv, list(inv, err), err);
	if (strcmp(word, "show") == 0)
		return looked(inv, show(inv, err), err);
	if (strcmp(word, "explain") == 0)
		return looked(inv, explain(inv, err), err);
	return start(inv, err);
}
