/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Bash. The script needs nothing but bash; where the bash-completion package is loaded too, its _command_offset
 * completes the arguments of PROGRAM as that program's own.
 *
 * First three functions made from the tables, each one `case`: _airlock_options (the options of a command and verb),
 * _airlock_value (what an option's value is: nothing for flags), _airlock_operand (what comes after the options).
 * Then the part that is always the same, which reads the words typed so far and asks those three. */
#include "completion.h"

#include <stdio.h>
#include <string.h>

#include "commands.h"

/* clang-format off */
static const char body[] =
	"\n"
	"_airlock_reply() { # what is typed so far, the kind of thing wanted, its words\n"
	"\tlocal typed=$1 kind=$2\n"
	"\tshift 2\n"
	"\tcase $kind in\n"
	"\twords) mapfile -t COMPREPLY < <(compgen -W \"$*\" -- \"$typed\") ;;\n"
	"\twords-or-file) mapfile -t COMPREPLY < <(compgen -W \"$*\" -- \"$typed\"; compgen -f -- \"$typed\") ;;\n"
	"\tprogram) mapfile -t COMPREPLY < <(compgen -c -- \"$typed\" | sort -u) ;;\n"
	"\tdir) mapfile -t COMPREPLY < <(compgen -d -- \"$typed\") ;;\n"
	"\tfile) mapfile -t COMPREPLY < <(compgen -f -- \"$typed\") ;;\n"
	"\tesac\n"
	"\t[[ $kind == words ]] || compopt -o filenames 2>/dev/null\n"
	"}\n"
	"\n"
	"_airlock_program() { # where PROGRAM stands in COMP_WORDS\n"
	"\tif declare -F _command_offset >/dev/null; then\n"
	"\t\t_command_offset \"$1\"\n"
	"\telse\n"
	"\t\t_airlock_reply \"${COMP_WORDS[COMP_CWORD]}\" file\n"
	"\tfi\n"
	"}\n"
	"\n"
	"_airlock() {\n"
	"\tlocal IFS=$' \\t\\n' i word cur command='' waiting='' ended=''\n"
	"\tlocal -a words=() at=() operands=()\n"
	"\tCOMPREPLY=()\n"
	"\n"
	"\t# bash makes --name=value three words\n"
	"\tfor ((i = 0; i <= COMP_CWORD; i++)); do\n"
	"\t\tword=${COMP_WORDS[i]}\n"
	"\t\tif ((i > 2)) && [[ ${words[-1]} == --+([a-z-])= || ($word == '=' && ${words[-1]} == --+([a-z-])) ]]; then\n"
	"\t\t\twords[-1]+=$word\n"
	"\t\telse\n"
	"\t\t\twords+=(\"$word\")\n"
	"\t\t\tat+=(\"$i\")\n"
	"\t\tfi\n"
	"\tdone\n"
	"\tcur=${words[-1]}\n"
	"\n"
	"\tfor ((i = 1; i < ${#words[@]} - 1; i++)); do\n"
	"\t\tword=${words[i]}\n"
	"\t\tif [[ -n $waiting ]]; then\n"
	"\t\t\t[[ $waiting != -c ]] || operands=(-c)\n"
	"\t\t\twaiting=\n"
	"\t\telif [[ -z $command ]]; then\n"
	"\t\t\tcommand=$word\n"
	"\t\telif [[ -z $ended && $word == -- ]]; then\n"
	"\t\t\tended=1\n"
	"\t\telif [[ -n $ended || $word != -?* ]]; then\n"
	"\t\t\toperands+=(\"$word\")\n"
	"\t\t\tif [[ $(_airlock_operand \"$command\") == program ]]; then\n"
	"\t\t\t\t_airlock_program \"${at[i]}\"\n"
	"\t\t\t\treturn\n"
	"\t\t\tfi\n"
	"\t\telif [[ $word != *=* && -n $(_airlock_value \"$word\") ]]; then\n"
	"\t\t\twaiting=$word\n"
	"\t\tfi\n"
	"\tdone\n"
	"\n"
	"\t# shellcheck disable=SC2046 # lists of words\n"
	"\tif [[ -n $waiting ]]; then\n"
	"\t\t_airlock_reply \"$cur\" $(_airlock_value \"$waiting\")\n"
	"\telif [[ -z $command ]]; then\n"
	"\t\t_airlock_reply \"$cur\" $(_airlock_operand '')\n"
	"\telif [[ -z $ended && $cur == --*=* ]]; then\n"
	"\t\t_airlock_reply \"${cur#*=}\" $(_airlock_value \"${cur%%=*}\")\n"
	"\t\t[[ $COMP_WORDBREAKS == *=* ]] || COMPREPLY=(\"${COMPREPLY[@]/#/${cur%%=*}=}\")\n"
	"\telif [[ -z $ended && $cur == -* ]]; then\n"
	"\t\t_airlock_reply \"$cur\" words $(_airlock_options \"$command\" \"${operands[0]}\")\n"
	"\telse\n"
	"\t\t_airlock_reply \"$cur\" $(_airlock_operand \"$command\" \"${operands[@]}\")\n"
	"\tfi\n"
	"}\n"
	"\n"
	"complete -F _airlock airlock\n";
/* clang-format on */

static void print_options_line(const struct command *c, const struct verb *v)
{
	(void)printf("\t%s.%s) echo", c->name, v ? v->name : "*");
	if (c->takes_program)
		(void)printf(" -c");
	for (const struct airlock_option *o = command_options(); o->name; o++) {
		if (!(v ? command_list_has(v->options, o->name) : command_takes(c, o)))
			continue;
		(void)printf(" --%s", o->name);
		if (o->letter)
			(void)printf(" -%c", o->letter);
	}
	(void)printf(" --help ;;\n");
}

/* The first matching pattern wins: the verbs come before the command with any other word. */
static void print_options(void)
{
	(void)printf("_airlock_options() { # command, verb\n\tcase $1.$2 in\n");
	for (const struct command *c = commands; c->name; c++) {
		for (const struct verb *v = c->verbs; v && v->name; v++)
			print_options_line(c, v);
		print_options_line(c, NULL);
	}
	(void)printf("\tesac\n}\n\n");
}

bool completion_has_sessions(const char *completes)
{
	return completes && strncmp(completes, "session", strlen("session")) == 0;
}

/* The arguments for _airlock_reply: a kind, and its words. */
static void print_kind(const char *words, const char *completes)
{
	bool is_path = completes && strcmp(completes, "path") == 0;
	if (completion_has_sessions(completes))
		(void)printf(" echo %s %s \"$(" COMPLETION_SESSIONS ")\"",
			     strcmp(completes, "session") == 0 ? "words" : "words-or-file", words ? words : "");
	else if (completes && strcmp(completes, "question") == 0)
		(void)printf(" echo words \"$(" COMPLETION_QUESTIONS ")\"");
	else if (words)
		(void)printf(" echo %s %s", completes ? "words-or-file" : "words", words);
	else
		(void)printf(" echo %s", is_path ? "file" : completes ? completes : "text");
	(void)printf(" ;;\n");
}

static void print_values(void)
{
	(void)printf("_airlock_value() { # option\n\tcase $1 in\n\t-c) echo text ;;\n");
	for (const struct airlock_option *o = command_options(); o->name; o++) {
		if (o->kind == AIRLOCK_OPTION_FLAG)
			continue;
		if (o->letter)
			(void)printf("\t-%c |", o->letter);
		(void)printf("%s--%s)", o->letter ? " " : "\t", o->name);
		print_kind(o->values, o->completes);
	}
	(void)printf("\tesac\n}\n\n");
}

static void print_names(void)
{
	for (const struct command *c = commands; c->name; c++)
		(void)printf(" %s", c->name);
}

static void print_operands_of_verbs(const struct command *c)
{
	for (const struct verb *v = c->verbs; v->name; v++)
		if (v->operand) {
			(void)printf("\t'%s %s')", c->name, v->name);
			print_kind(NULL, v->completes);
		}
	(void)printf("\t%s) echo words", c->name);
	for (const struct verb *v = c->verbs; v->name; v++)
		(void)printf(" %s", v->name);
	(void)printf(" ;;\n");
}

static void print_operand_of(const struct command *c)
{
	if (c->verbs) {
		print_operands_of_verbs(c);
	} else if (c->takes_program) {
		(void)printf("\t%s) echo program ;;\n", c->name);
	} else if (c->completes && strcmp(c->completes, "command") == 0) {
		(void)printf("\t%s) echo words", c->name);
		print_names();
		(void)printf(" ;;\n");
	} else if (c->operand) {
		(void)printf("\t%s)", c->name);
		print_kind(c->words, c->completes);
		if (command_takes_many(c->operand))
			(void)printf("\t'%s '*) echo file ;;\n", c->name);
		if (c->then)
			(void)printf("\t'%s '*) echo words %s ;;\n", c->name, c->then);
	}
}

static void print_operands(void)
{
	(void)printf("_airlock_operand() { # command, the operands before\n\tcase $* in\n\t'') echo words");
	print_names();
	(void)printf(" --help --version ;;\n");
	for (const struct command *c = commands; c->name; c++)
		print_operand_of(c);
	(void)printf("\t*) echo text ;;\n\tesac\n}\n");
}

void completion_bash(void)
{
	(void)printf("# bash completion for airlock, made by: airlock completion bash\n\n");
	print_options();
	print_values();
	print_operands();
	(void)fputs(body, stdout);
}
