/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From the words after a command's name to its exit status: parses and checks the words, passes the settings to the
 * library, executes the command, reports. The only place that reports errors, so that text and JSON fail alike
 * everywhere. */
#include "commands.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <airlock/history.h>

#include "first_aid.h"
#include "help.h"
#include "output.h"
#include "person.h"

/* "show, check, path" */
static void list_verbs(const struct command *c, char *out, size_t size)
{
	size_t len = 0;
	out[0] = '\0';
	for (const struct verb *v = c->verbs; v->name && len < size; v++)
		len += (size_t)snprintf(out + len, size - len, "%s%s", v == c->verbs ? "" : ", ", v->name);
}

static int choose_verb(struct invocation *inv, struct airlock_error *err)
{
	const char *word = inv->args.words[0];
	for (const struct verb *v = inv->command->verbs; word && v->name; v++)
		if (strcmp(word, v->name) == 0) {
			inv->verb = v;
			return 0;
		}
	char list[128];
	list_verbs(inv->command, list, sizeof list);
	if (!word)
		(void)output_fail(err, AIRLOCK_ERR_USAGE, inv->command->name, "%s needs one of: %s", inv->command->name,
				  list);
	else
		(void)output_fail(err, AIRLOCK_ERR_USAGE, word, "unknown %s command '%s'; expected one of: %s",
				  inv->command->name, word, list);
	return output_hint(err, "see airlock %s --help", inv->command->name);
}

/* Refuses an option that only another verb of the command takes. */
static int check_verb_options(const struct invocation *inv, struct airlock_error *err)
{
	for (size_t i = 0; i < inv->args.n_options; i++) {
		const char *name = inv->args.options[i].option->name;
		if (command_list_has(inv->verb->options, name))
			continue;
		(void)output_fail(err, AIRLOCK_ERR_USAGE, name, "%s %s takes no option --%s", inv->command->name,
				  inv->verb->name, name);
		return output_hint(err, "see airlock %s --help", inv->command->name);
	}
	return 0;
}

/* Counts operands: "PATTERN [PATH]" are two. */
static size_t count_operands(const char *operand)
{
	size_t n = operand ? 1 : 0;
	for (const char *c = operand; c && (c = strchr(c, ' ')); c++)
		n++;
	return n;
}

/* Operands only if the command takes one, and several only if the table says so. */
static int check_operand(struct invocation *inv, struct airlock_error *err)
{
	const char *operand = inv->verb ? inv->verb->operand : inv->command->operand;
	size_t before = inv->verb ? 1 : 0, given = inv->args.n_words - before;
	inv->operand = given ? inv->args.words[before] : NULL;
	inv->more = inv->args.words + before + (given ? 1 : 0);
	size_t taken = count_operands(operand);
	if (given > taken && !command_takes_many(operand)) {
		const char *extra = inv->args.words[before + taken];
		(void)output_fail(err, AIRLOCK_ERR_USAGE, extra, "unexpected argument: '%s'", extra);
	} else if (operand && operand[0] != '[' && !given) {
		(void)output_fail(err, AIRLOCK_ERR_USAGE, operand, "%.*s is missing", (int)strcspn(operand, " "),
				  operand);
		if (strncmp(operand, "RUN", 3) == 0)
			(void)output_hint(err, "airlock %s last is the newest run here; airlock log lists them",
					  inv->command->name);
	} else {
		return 0;
	}
	return output_hint(err, "see airlock %s --help", inv->command->name);
}

static int check_program(const struct invocation *inv, struct airlock_error *err)
{
	const struct arguments *a = &inv->args;
	if (a->command_line && a->n_words) {
		(void)output_fail(err, AIRLOCK_ERR_USAGE, a->words[0], "-c takes one string; unexpected argument: '%s'",
				  a->words[0]);
		return output_hint(err, "put the whole command line in quotes: -c 'ls -l'");
	}
	if (inv->command->needs_program && !a->command_line && !a->n_words) {
		(void)output_fail(err, AIRLOCK_ERR_USAGE, inv->command->name, "nothing to run");
		return output_hint(err, "airlock %s -- PROGRAM [ARG...], or airlock %s -c STRING", inv->command->name,
				   inv->command->name);
	}
	return 0;
}

static int check_words(struct invocation *inv, struct airlock_error *err)
{
	int rc = 0;
	if (inv->command->takes_program)
		return check_program(inv, err);
	if (inv->command->verbs) {
		rc = choose_verb(inv, err);
		if (rc == 0)
			rc = check_verb_options(inv, err);
	}
	return rc == 0 ? check_operand(inv, err) : rc;
}

static int give_command(const struct invocation *inv, struct airlock_error *err)
{
	if (inv->args.command_line)
		return airlock_settings_set_command(inv->settings, inv->args.command_line, err);
	if (inv->command->takes_program && inv->args.n_words)
		return airlock_settings_set_argv(inv->settings, inv->args.words, err);
	return 0;
}

/* Passes variables and options to the library. Variables come first: options override them. */
int invocation_settings(const struct invocation *inv, struct airlock_settings **ret, struct airlock_error *err)
{
	*ret = airlock_settings_new();
	if (!*ret)
		return output_fail(err, AIRLOCK_ERR_INTERNAL, NULL, "out of memory");
	int rc = airlock_settings_set_environ(*ret, environ, err);
	if (rc == 0)
		rc = airlock_settings_set_asked_by(*ret, "cli", err);
	for (size_t i = 0; i < inv->args.n_options && rc >= 0; i++) {
		char origin[64];
		const struct argument *a = &inv->args.options[i];
		if (command_option_is_ours(a->option->name))
			continue;
		(void)snprintf(origin, sizeof origin, "--%s", a->option->name);
		rc = airlock_settings_set(*ret, a->option->name, a->value, origin, err);
	}
	return rc;
}

static int make_settings(struct invocation *inv, struct airlock_error *err)
{
	int rc = invocation_settings(inv, &inv->settings, err);
	return rc < 0 ? rc : give_command(inv, err);
}

/* A run exits as the table of codes says, everything else with 1, 2, 3 or 125. */
static int exit_status(const struct command *c, const struct airlock_error *err)
{
	int code = err->code;
	if (c->is_run && code == AIRLOCK_ERR_NOT_FOUND && strcmp(err->op, "exec") == 0)
		return 127; /* the program's name, as a shell prints it */
	if (c->is_run || code == AIRLOCK_ERR_USAGE || code == AIRLOCK_ERR_CONFLICT)
		return airlock_code_exit_status(code);
	return code == AIRLOCK_ERR_NOT_FOUND ? 1 : 125;
}

int invoke_report(const struct command *c, bool json, const struct airlock_error *err)
{
	char *text = NULL;
	if (json)
		text = c->is_run ? airlock_failure_json(err) : airlock_error_json(err);
	if (text)
		(void)fputs(text, stdout);
	else
		output_error(err);
	airlock_free(text);
	return exit_status(c, err);
}

static int invoke_parsed(struct invocation *inv, struct airlock_error *err)
{
	int rc = check_words(inv, err);
	if (rc == 0)
		rc = make_settings(inv, err);
	if (rc == 0)
		rc = person_check(inv, err);
	if (rc < 0)
		return rc;
	return inv->verb ? inv->verb->run(inv, err) : inv->command->run(inv, err);
}

/* --json, or its variable if the command has such an option. */
static int decide_json(struct invocation *inv, struct airlock_error *err)
{
	for (const struct airlock_option *o = command_options(); o->name; o++)
		if (strcmp(o->name, "json") == 0 && command_takes(inv->command, o))
			return arguments_flag(&inv->args, "json", &inv->json, err);
	return 0;
}

bool invoke_wants_json(int argc, char *const *argv)
{
	for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], "--json") == 0)
			return true;
	return false;
}

int invoke(const struct command *c, int argc, char **argv)
{
	struct invocation inv = {.command = c};
	struct airlock_error err = {0};
	int status = arguments_parse(c, argc, argv, &inv.args, &err);
	if (inv.args.help && status == 0) {
		help_command(c);
	} else {
		if (decide_json(&inv, &err) == 0 && status == 0)
			status = invoke_parsed(&inv, &err);
		else
			status = err.code;
		if (status < 0) {
			/* A command without JSON output still reports errors as JSON if asked to; but the server's
			 * stdout belongs to the protocol. */
			bool is_server = strcmp(c->name, "mcp") == 0;
			bool json = inv.json || (!c->takes_program && !is_server && invoke_wants_json(argc, argv));
			if (c->is_run && !json && first_aid_around(&err)) {
				status = exit_status(c, &err);
			} else {
				status = invoke_report(c, json, &err);
				if (c->is_run && !json)
					first_aid(inv.settings, &err);
			}
		}
	}
	airlock_settings_free(inv.settings);
	arguments_done(&inv.args);
	return status;
}
