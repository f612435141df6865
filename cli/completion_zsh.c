/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Zsh: specifications for _arguments, one function for each command and verb. */
#include "completion.h"

#include <stdio.h>
#include <string.h>

#include "commands.h"

/* Inside '…', in the […] of a specification or in a _describe item: escapes the quote, and the characters that would
 * end it. */
static void print_text(const char *s)
{
	for (; *s; s++) {
		if (*s == '\'')
			(void)fputs("'\\''", stdout);
		else if (strchr("[]:\\", *s))
			(void)printf("\\%c", *s);
		else
			(void)putchar(*s);
	}
}

/* The action that completes a value or an operand. */
static void print_action(const char *words, const char *completes)
{
	if (completion_has_sessions(completes))
		(void)printf("{compadd -- %s $(" COMPLETION_SESSIONS ")%s}", words ? words : "",
			     strcmp(completes, "session") == 0 ? "" : "; _files");
	else if (words && completes)
		(void)printf("{_alternative \"words\\:word\\:(%s)\" \"files\\:file\\:_files\"}", words);
	else if (words)
		(void)printf("(%s)", words);
	else if (completes && strcmp(completes, "dir") == 0)
		(void)printf("_files -/");
	else if (completes && strcmp(completes, "command") == 0)
		(void)printf("_airlock_commands");
	else if (completes && strcmp(completes, "question") == 0)
		(void)printf("{compadd -- $(" COMPLETION_QUESTIONS ")}");
	else if (completes)
		(void)printf("_files");
}

static void print_option(const struct airlock_option *o)
{
	bool is_flag = o->kind == AIRLOCK_OPTION_FLAG;
	(void)printf(" \\\n\t\t");
	if (o->kind == AIRLOCK_OPTION_LIST)
		(void)printf("'*--%s=[", o->name);
	else if (o->letter)
		(void)printf("'(-%c --%s)'{-%c,--%s%s}'[", o->letter, o->name, o->letter, o->name, is_flag ? "" : "=");
	else
		(void)printf("'--%s%s[", o->name, is_flag ? "" : "=");
	print_text(o->help);
	(void)putchar(']');
	if (!is_flag) {
		(void)putchar(':');
		print_text(o->value_name);
		(void)putchar(':');
		print_action(o->values, o->completes);
	}
	(void)putchar('\'');
}

static void print_options(const struct command *c, const struct verb *v)
{
	for (const struct airlock_option *o = command_options(); o->name; o++)
		if (v ? command_list_has(v->options, o->name) : command_takes(c, o))
			print_option(o);
	(void)printf(" \\\n\t\t'(- *)'{-h,--help}'[describe the command]'");
}

static void print_operand(const char *operand, const char *words, const char *completes)
{
	if (!operand)
		return;
	(void)printf(" \\\n\t\t'%s:", operand[0] == '[' ? "1:" : "1");
	print_text(operand);
	(void)putchar(':');
	print_action(words, completes);
	(void)putchar('\'');
	if (command_takes_many(operand))
		(void)printf(" \\\n\t\t'*:PATH:_files'");
}

/* Completes its words and arguments as if PROGRAM had been typed alone. */
static void print_program(void)
{
	(void)printf(" \\\n\t\t'(*)-c[a command line for the shell]:STRING:'");
	(void)printf(" \\\n\t\t'(-):program:_command_names -e' \\\n\t\t'*::argument:_normal'");
}

static void print_verbs(const struct command *c)
{
	(void)printf("_airlock_%s() {\n\tlocal curcontext=$curcontext state\n\tlocal -a line verbs\n\tverbs=(\n",
		     c->name);
	for (const struct verb *v = c->verbs; v->name; v++) {
		(void)printf("\t\t'%s:", v->name);
		print_text(v->summary);
		(void)printf("'\n");
	}
	(void)printf("\t)\n\t_arguments -C '(- *)'{-h,--help}'[describe the command]' '1:what:->verb' "
		     "'*::argument:->rest'\n\tcase $state in\n\tverb) _describe what verbs ;;\n\trest) (( "
		     "$+functions[_airlock_%s_$words[1]] )) && _airlock_%s_$words[1] ;;\n\tesac\n}\n\n",
		     c->name, c->name);
	for (const struct verb *v = c->verbs; v->name; v++) {
		(void)printf("_airlock_%s_%s() {\n\t_arguments -s -S", c->name, v->name);
		print_options(c, v);
		print_operand(v->operand, NULL, v->completes);
		(void)printf("\n}\n\n");
	}
}

static void print_command(const struct command *c)
{
	if (c->verbs) {
		print_verbs(c);
		return;
	}
	(void)printf("_airlock_%s() {\n\t_arguments -s -S", c->name);
	print_options(c, NULL);
	if (c->takes_program)
		print_program();
	else
		print_operand(c->operand, c->words, c->completes);
	if (c->then)
		(void)printf(" \\\n\t\t'2:answer:(%s)'", c->then);
	(void)printf("\n}\n\n");
}

static void print_commands(void)
{
	(void)printf("_airlock_commands() {\n\tlocal -a commands\n\tcommands=(\n");
	for (const struct command *c = commands; c->name; c++) {
		(void)printf("\t\t'%s:", c->name);
		print_text(c->summary);
		(void)printf("'\n");
	}
	(void)printf("\t)\n\t_describe command commands\n}\n\n");
}

void completion_zsh(void)
{
	(void)printf("#compdef airlock\n# zsh completion for airlock, made by: airlock completion zsh\n\n");
	print_commands();
	for (const struct command *c = commands; c->name; c++)
		print_command(c);
	(void)printf("_airlock() {\n\tlocal curcontext=$curcontext state\n\tlocal -a line\n\t_arguments -C '(- "
		     "*)'{-h,--help}'[list the commands]' '(- *)--version[print the version]' "
		     "\\\n\t\t'1:command:_airlock_commands' '*::argument:->rest'\n\t[[ $state == rest ]] && (( "
		     "$+functions[_airlock_$words[1]] )) && _airlock_$words[1]\n}\n\nif [[ $funcstack[1] == _airlock "
		     "]]; then\n\t_airlock \"$@\"\nelse\n\tcompdef _airlock airlock\nfi\n");
}
