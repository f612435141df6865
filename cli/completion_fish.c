/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Fish: one `complete` line for each command, verb, option and operand. */
#include "completion.h"

#include <stdio.h>
#include <string.h>

#include "commands.h"

static void print_quoted(const char *s)
{
	(void)putchar('\'');
	for (; *s; s++) {
		if (*s == '\'' || *s == '\\')
			(void)putchar('\\');
		(void)putchar(*s);
	}
	(void)putchar('\'');
}

static void print_description(const char *s)
{
	(void)printf(" -d ");
	print_quoted(s);
	(void)putchar('\n');
}

/* How a value or an operand is completed: -x if only the listed words are allowed. */
static void print_action(const char *words, const char *completes)
{
	if (completion_has_sessions(completes))
		(void)printf(" %s -a '%s%s(" COMPLETION_SESSIONS ")'",
			     strcmp(completes, "session") == 0 ? "-x" : "-r -F", words ? words : "", words ? " " : "");
	else if (words)
		(void)printf(" %s -a '%s'", completes ? "-r -F" : "-x", words);
	else if (completes && strcmp(completes, "dir") == 0)
		(void)printf(" -x -a '(__fish_complete_directories)'");
	else if (completes)
		(void)printf(" -r -F");
	else
		(void)printf(" -x");
}

static void print_option(const struct airlock_option *o)
{
	(void)printf("complete -c airlock -n '__fish_seen_subcommand_from");
	for (const struct command *c = commands; c->name; c++)
		if (command_takes(c, o))
			(void)printf(" %s", c->name);
	(void)printf("' -l %s", o->name);
	if (o->letter)
		(void)printf(" -s %c", o->letter);
	if (o->kind != AIRLOCK_OPTION_FLAG)
		print_action(o->values, o->completes);
	print_description(o->help);
}

static void print_verbs(const struct command *c)
{
	for (const struct verb *v = c->verbs; v->name; v++) {
		(void)printf(
			"complete -c airlock -n '__fish_seen_subcommand_from %s; and not __fish_seen_subcommand_from",
			c->name);
		for (const struct verb *other = c->verbs; other->name; other++)
			(void)printf(" %s", other->name);
		(void)printf("' -a %s", v->name);
		print_description(v->summary);
		if (v->operand) {
			(void)printf(
				"complete -c airlock -n '__fish_seen_subcommand_from %s; and __fish_seen_subcommand_from %s'",
				c->name, v->name);
			print_action(NULL, v->completes);
			(void)putchar('\n');
		}
	}
}

static void print_names(void)
{
	(void)printf(" -a '");
	for (const struct command *c = commands; c->name; c++)
		(void)printf("%s%s", c == commands ? "" : " ", c->name);
	(void)putchar('\'');
}

/* After its first word come paths. */
static const char *operand_action(const struct command *c)
{
	if (!command_takes_many(c->operand))
		return c->completes;
	return completion_has_sessions(c->completes) ? "session-or-path" : "path";
}

static void print_operand(const struct command *c)
{
	(void)printf("complete -c airlock -n '__fish_seen_subcommand_from %s'", c->name);
	if (c->completes && strcmp(c->completes, "command") == 0)
		print_names();
	else if (c->then)
		(void)printf(" -x -a '(" COMPLETION_QUESTIONS ") %s'", c->then);
	else
		print_action(c->words, operand_action(c));
	(void)putchar('\n');
}

/* -c, and PROGRAM with its own arguments. */
static void print_program(const struct command *c)
{
	(void)printf("complete -c airlock -n '__fish_seen_subcommand_from %s' -s c -x", c->name);
	print_description("a command line for the shell");
	(void)printf(
		"complete -c airlock -n '__fish_seen_subcommand_from %s' -a '(__fish_complete_subcommand --fcs-skip=2)'\n",
		c->name);
}

static void print_command(const struct command *c)
{
	(void)printf("complete -c airlock -n __fish_use_subcommand -a %s", c->name);
	print_description(c->summary);
	if (c->verbs)
		print_verbs(c);
	else if (c->takes_program)
		print_program(c);
	else if (c->operand)
		print_operand(c);
}

void completion_fish(void)
{
	(void)printf("# fish completion for airlock, made by: airlock completion fish\n\ncomplete -c airlock -f\n");
	(void)printf("complete -c airlock -n __fish_use_subcommand -l version");
	print_description("print the version");
	(void)printf("complete -c airlock -s h -l help");
	print_description("describe airlock or the command");
	for (const struct command *c = commands; c->name; c++)
		print_command(c);
	for (const struct airlock_option *o = command_options(); o->name; o++)
		print_option(o);
}
