/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "person.h"

#include <string.h>

#include "output.h"

/* Add a row here for every command that grants something or forgets a refusal. */
struct decision {
	const char *command, *verb; /* verb NULL: a command without verbs */
	const char *with;	    /* counts only with this flag; NULL: always */
	const char *without;	    /* counts only without this flag; NULL: always */
	const char *deed;	    /* "a person has to …" */
};

static const struct decision decisions[] = {
	{"trust", NULL, NULL, NULL, "trust a project's configuration"},
	{"permissions", "revoke", NULL, NULL, "take back an answer"}, /* it may have been a no */
	{"permissions", "clear", NULL, NULL, "take back answers"},
	{"answer", NULL, NULL, NULL, "answer a question"},
	{"project", "link", NULL, NULL, "allow what a link leads to"},
	{"project", "unlink", NULL, NULL, "decide what a link leads to"},
	{"project", "add", NULL, NULL, "make a directory a project"},	 /* it is adopted from then on */
	{"project", "remove", NULL, NULL, "remove a project's records"}, /* no backups are made from then on */
	{"setup", NULL, NULL, "print", "change the settings of an agent"},
	{"apply", NULL, "yes", NULL, "decide about changes"},
	{"apply", NULL, "force", NULL, "decide about conflicts"},
	{"undo", NULL, "force", NULL, "decide about conflicts"},
	{"ui", NULL, NULL, NULL, "open the page"}, /* it decides about everything */
	{"serve", NULL, NULL, NULL, "start a server"},
	{"playground", "clear", NULL, NULL, "clear the playground"},
	{0},
};

/* The variable of a flag counts as the flag. */
static bool has_flag(const struct invocation *inv, const char *name)
{
	struct airlock_error ignored = {0}; /* the command itself reports a value that is not a boolean */
	bool on = false;
	return arguments_flag(&inv->args, name, &on, &ignored) < 0 || on;
}

static bool is_about(const struct decision *d, const struct invocation *inv)
{
	if (strcmp(d->command, inv->command->name) != 0)
		return false;
	if (d->verb && (!inv->verb || strcmp(d->verb, inv->verb->name) != 0))
		return false;
	return (!d->with || has_flag(inv, d->with)) && (!d->without || !has_flag(inv, d->without));
}

/* A model reads this message: it names no way around it. */
int person_check(const struct invocation *inv, struct airlock_error *err)
{
	for (const struct decision *d = decisions; d->command; d++)
		if (is_about(d, inv) && airlock_settings_is_agent(inv->settings))
			return output_fail(err, AIRLOCK_ERR_DENIED, d->command,
					   "this was started by an agent, and only a person may %s", d->deed);
	return 0;
}
