/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "help.h"

#include <stdio.h>
#include <string.h>

#include "wrap.h"

static void paragraph(size_t indent, const char *text)
{
	struct wrap w = wrap_begin(stdout, indent);
	wrap_words(&w, text);
	wrap_end(&w);
}

/* Prints a term and its meaning side by side, or below each other if the term is too wide. */
static void entry(const char *term, size_t term_width, const char *text)
{
	struct wrap w = wrap_begin(stdout, term_width + 4);
	(void)printf("  %s", term);
	w.column = 2 + wrap_width(term);
	if (w.column + 2 > w.indent) {
		wrap_end(&w);
	} else {
		(void)printf("%*s", (int)(w.indent - w.column), "");
		w.column = w.indent;
	}
	wrap_words(&w, text);
	wrap_end(&w);
}

/* ── one command ── */

static void usage_of_verb(const struct command *c, const struct verb *v, bool is_first)
{
	(void)printf("%s airlock %s %s%s%s%s\n", is_first ? "usage:" : "      ", c->name, v->name,
		     v->options ? " [OPTION...]" : "", v->operand ? " " : "", v->operand ? v->operand : "");
}

static void usage_of_program(const struct command *c)
{
	(void)printf("usage: airlock %s [OPTION...] %s\n", c->name,
		     c->needs_program ? "[--] PROGRAM [ARG...]" : "[[--] PROGRAM [ARG...]]");
	(void)printf("       airlock %s [OPTION...] -c STRING\n", c->name);
}

static void usage(const struct command *c)
{
	if (c->takes_program)
		usage_of_program(c);
	else if (c->verbs)
		for (const struct verb *v = c->verbs; v->name; v++)
			usage_of_verb(c, v, v == c->verbs);
	else
		(void)printf("usage: airlock %s%s%s%s\n", c->name, c->options ? " [OPTION...]" : "",
			     c->operand ? " " : "", c->operand ? c->operand : "");
}

static void about_verbs(const struct command *c)
{
	size_t width = 0;
	for (const struct verb *v = c->verbs; v->name; v++)
		width = strlen(v->name) > width ? strlen(v->name) : width;
	(void)putchar('\n');
	for (const struct verb *v = c->verbs; v->name; v++)
		entry(v->name, width, v->summary);
}

static void about_option(const struct airlock_option *o)
{
	char term[96], text[512];
	const char letter[] = {'-', o->letter, ',', ' ', '\0'};
	(void)snprintf(term, sizeof term, "%s--%s%s%s", o->letter ? letter : "    ", o->name, o->value_name ? " " : "",
		       o->value_name ? o->value_name : "");
	int n = snprintf(text, sizeof text, "%s%s", o->help, o->kind == AIRLOCK_OPTION_LIST ? "; repeatable" : "");
	if (!command_option_is_ours(o->name))
		(void)snprintf(text + n, sizeof text - (size_t)n, " [%s]", option_twin(o->name).name);
	entry(term, 26, text);
}

/* Options that a verb shares with airlock run ("*") are not listed again. */
static bool lists_option(const struct command *c, const struct airlock_option *o)
{
	for (const struct verb *v = c->verbs; v && v->name; v++)
		if (v->options && strcmp(v->options, "*") != 0 && command_list_has(v->options, o->name))
			return true;
	return command_list_has(c->options, o->name);
}

static void about_variables(void)
{
	(void)putchar('\n');
	paragraph(0, "The variable in brackets sets the same thing as the option; the option overrides it. In the "
		     "variable of a "
		     "repeatable option, separate items with ':' (in AIRLOCK_ENV, with newlines). "
		     "--network=no and the like turn a flag off.");
}

static void about_options(const struct command *c)
{
	(void)printf("\nOptions:\n");
	if (c->takes_program)
		entry("-c STRING", 26, "a command line for the shell, instead of PROGRAM");
	for (const struct airlock_option *o = command_options(); o->name; o++)
		if (lists_option(c, o))
			about_option(o);
	entry("-h, --help", 26, "print this text");
	for (const struct verb *v = c->verbs; v && v->name; v++)
		if (v->options && strcmp(v->options, "*") == 0)
			(void)printf("\n'airlock %s %s' also takes the options of airlock run.\n", c->name, v->name);
	if (c->options && strcmp(c->options, "*") == 0)
		about_variables();
}

static void about_exit(const struct command *c)
{
	(void)printf("\nExit status:\n");
	if (c->is_run) {
		entry("N", 5, "the exit status of the command");
		entry("128+N", 5, "the command was killed by signal N");
		entry("124", 5, "the command timed out");
		entry("125", 5, "airlock failed or refused: setup failed, permission denied, bad configuration");
		entry("126", 5, "the program was found but cannot be executed");
		entry("127", 5, "the program was not found");
		entry("2", 5, "wrong usage");
		return;
	}
	entry("0", 5, "done");
	entry("1", 5,
	      strcmp(c->name, "doctor") == 0 ? "the default profile does not work here"
					     : "nothing to do, or not found");
	entry("2", 5, "wrong usage");
	if (command_list_has(c->options, "force"))
		entry("3", 5, "conflict: someone else changed the same file");
	else if (strcmp(c->name, "answer") == 0)
		entry("3", 5, "the question is decided already");
	entry("125", 5, "failed");
}

/* Each line is "command line<tab>what it does". */
static void about_examples(const struct command *c)
{
	(void)printf("\nExamples:\n");
	for (const char *line = c->examples; *line;) {
		size_t len = strcspn(line, "\t"), rest = strcspn(line + len, "\n");
		(void)printf("  %.*s\n", (int)len, line);
		(void)printf("      %.*s\n", (int)rest - 1, line + len + 1);
		line += len + rest;
		line += *line == '\n';
	}
}

void help_command(const struct command *c)
{
	usage(c);
	(void)putchar('\n');
	paragraph(0, c->about);
	if (c->verbs)
		about_verbs(c);
	about_options(c);
	about_exit(c);
	about_examples(c);
}

/* ── all of them ── */

static void entry_of_command(const struct command *c)
{
	entry(c->name, 11, c->summary);
}

static bool is_first_of_group(const struct command *command)
{
	for (const struct command *c = commands; c != command; c++)
		if (strcmp(c->group, command->group) == 0)
			return false;
	return true;
}

static void overview_group(const char *group)
{
	(void)printf("\n%s:\n", group);
	for (const struct command *c = commands; c->name; c++)
		if (strcmp(c->group, group) == 0)
			entry_of_command(c);
}

void help_overview(void)
{
	(void)printf("usage: airlock COMMAND [OPTION...] [ARG...]\n\n");
	paragraph(0, "Runs commands where they cannot hurt you, and tells you exactly what they changed.");
	for (const struct command *c = commands; c->name; c++)
		if (is_first_of_group(c))
			overview_group(c->group);
	(void)putchar('\n');
	paragraph(0, "'airlock help COMMAND' describes one command, 'airlock --version' prints the version.");
}

void help_welcome(void)
{
	(void)printf("airlock %s: runs commands where they cannot hurt you\n\n", airlock_version());
	(void)printf("Next steps:\n");
	entry("airlock doctor", 32, "test what this machine supports");
	entry("airlock run -- make test", 32, "run a program; it can change only this project");
	entry("airlock undo", 32, "take back what the last run changed");
	entry("airlock run --hold -- ./script", 32, "look before anything changes: airlock review shows it");
	entry("airlock help", 32, "all commands");
}
