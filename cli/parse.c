/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "parse.h"

#include <ctype.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "output.h"

struct parser {
	const struct command *command;
	char **next, **end; /* the words not read yet */
	struct arguments *out;
	struct airlock_error *err;
	bool only_words; /* after -- */
};

static const struct airlock_option *find_long(const struct parser *p, const char *name, size_t len)
{
	for (const struct airlock_option *o = command_options(); o->name; o++)
		if (strlen(o->name) == len && strncmp(o->name, name, len) == 0 && command_takes(p->command, o))
			return o;
	return NULL;
}

static const struct airlock_option *find_letter(const struct parser *p, char letter)
{
	for (const struct airlock_option *o = command_options(); o->name; o++)
		if (o->letter == letter && command_takes(p->command, o))
			return o;
	return NULL;
}

/* The most similar option of this command, or NULL. */
static const char *nearest_option(const struct parser *p, const char *name)
{
	const char *names[128];
	size_t n = 0;
	for (const struct airlock_option *o = command_options(); o->name && n + 2 < sizeof names / sizeof *names; o++)
		if (command_takes(p->command, o))
			names[n++] = o->name;
	names[n++] = "help";
	names[n] = NULL;
	return airlock_text_nearest(name, names);
}

static void see_help(const struct parser *p)
{
	(void)output_hint(p->err, "see airlock %s --help", p->command->name);
}

static void unknown_long(const struct parser *p, const char *word, const char *name)
{
	if (p->err->code != 0)
		return;
	(void)output_fail(p->err, AIRLOCK_ERR_USAGE, word, "unknown option --%s", name);
	const char *near = nearest_option(p, name);
	if (near)
		(void)output_hint(p->err, "did you mean --%s?", near);
	see_help(p);
}

static void missing_value(const struct parser *p, const char *shown, const char *value_name)
{
	(void)output_fail(p->err, AIRLOCK_ERR_USAGE, shown, "option %s needs a value: %s", shown, value_name);
	see_help(p);
}

static void add(const struct parser *p, const struct airlock_option *o, const char *value)
{
	struct arguments *a = p->out;
	struct argument *grown = reallocarray(a->options, a->n_options + 1, sizeof *grown);
	if (!grown) {
		(void)output_fail(p->err, AIRLOCK_ERR_INTERNAL, NULL, "out of memory");
		return;
	}
	a->options = grown;
	a->options[a->n_options++] = (struct argument){.option = o, .value = value};
}

/* The next word as an option's value. "--" is not accepted: it was meant to end the options, and --name=-- still
 * works. */
static const char *take_value(struct parser *p, const char *shown, const char *value_name)
{
	if (p->next == p->end || strcmp(*p->next, "--") == 0) {
		missing_value(p, shown, value_name);
		return NULL;
	}
	return *p->next++;
}

static int bad_bool(struct airlock_error *err, const char *origin, const char *value)
{
	(void)output_fail(err, AIRLOCK_ERR_USAGE, origin, "%s must be true or false, not '%s'", origin, value);
	(void)output_hint(err, "write true, yes, on or 1, or false, no, off or 0");
	return AIRLOCK_ERR_USAGE;
}

/* --flag=VALUE. A shorthand takes no value. */
static void parse_flag_value(struct parser *p, const struct airlock_option *o, const char *value)
{
	char shown[64];
	int on;
	(void)snprintf(shown, sizeof shown, "--%s", o->name);
	if (o->implies) {
		(void)output_fail(p->err, AIRLOCK_ERR_USAGE, shown, "option %s takes no value", shown);
		see_help(p);
	} else if ((on = airlock_text_bool(value)) < 0) {
		(void)bad_bool(p->err, shown, value);
	} else {
		add(p, o, on ? "true" : "false");
	}
}

static void parse_long(struct parser *p, const char *word)
{
	const char *name = word + 2, *equals = strchr(name, '=');
	size_t len = equals ? (size_t)(equals - name) : strlen(name);
	const struct airlock_option *o = find_long(p, name, len);
	if (!o && strcmp(name, "help") == 0) {
		p->out->help = true;
	} else if (!o) {
		char bare[128];
		(void)snprintf(bare, sizeof bare, "%.*s", (int)(len < 120 ? len : 120), name);
		unknown_long(p, word, bare);
	} else if (o->kind == AIRLOCK_OPTION_FLAG) {
		if (equals)
			parse_flag_value(p, o, equals + 1);
		else
			add(p, o, "true");
	} else {
		const char *value = equals ? equals + 1 : take_value(p, word, o->value_name);
		if (value)
			add(p, o, value);
	}
}

static void set_command_line(struct parser *p, const char *text)
{
	if (p->out->command_line)
		(void)output_fail(p->err, AIRLOCK_ERR_USAGE, "-c", "option -c can be given only once");
	p->out->command_line = text;
}

/* A letter that takes a value: the rest of the cluster, or the next word. */
static void parse_letter_value(struct parser *p, const struct airlock_option *o, const char *rest)
{
	const char shown[] = {'-', o ? o->letter : 'c', '\0'};
	const char *value = *rest ? rest : take_value(p, shown, o ? o->value_name : "STRING");
	if (!value)
		return;
	if (o)
		add(p, o, value);
	else
		set_command_line(p, value);
}

/* -yt, -pDIR, -c STRING. */
static void parse_cluster(struct parser *p, const char *word)
{
	for (const char *c = word + 1; *c && !p->out->help; c++) {
		const struct airlock_option *o = find_letter(p, *c);
		bool is_command_line = *c == 'c' && p->command->takes_program;
		if (is_command_line || (o && o->kind != AIRLOCK_OPTION_FLAG)) {
			parse_letter_value(p, is_command_line ? NULL : o, c + 1);
			return;
		}
		if (o) {
			add(p, o, "true");
		} else if (*c == 'h') {
			p->out->help = true;
		} else {
			(void)output_fail(p->err, AIRLOCK_ERR_USAGE, word, "unknown option -%c", *c);
			see_help(p);
			return;
		}
	}
}

static void parse_word(struct parser *p, const char *word)
{
	if (!p->only_words && strcmp(word, "--") == 0) {
		p->only_words = true;
	} else if (p->only_words || word[0] != '-' || word[1] == '\0') {
		p->out->words[p->out->n_words++] = word;
		p->out->n_leading += !p->only_words;
		p->only_words |= p->command->takes_program;
	} else if (word[1] == '-') {
		parse_long(p, word);
	} else {
		parse_cluster(p, word);
	}
}

int arguments_parse(const struct command *command, int argc, char **argv, struct arguments *ret,
		    struct airlock_error *err)
{
	*ret = (struct arguments){.words = calloc((size_t)argc + 1, sizeof *ret->words)};
	if (!ret->words)
		return output_fail(err, AIRLOCK_ERR_INTERNAL, NULL, "out of memory");
	struct parser p = {.command = command, .next = argv, .end = argv + argc, .out = ret, .err = err};
	while (p.next != p.end && !ret->help)
		parse_word(&p, *p.next++);
	return err->code;
}

void arguments_done(struct arguments *a)
{
	free(a->options);
	free(a->words);
	*a = (struct arguments){0};
}

struct twin option_twin(const char *name)
{
	struct twin t;
	(void)snprintf(t.name, sizeof t.name, "AIRLOCK_%s", name);
	for (char *c = t.name; *c; c++)
		*c = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
	return t;
}

/* The value that the shorthand o gives to the option of this name ("false" for --no-pty and "pty"), or NULL. */
static const char *implied_value(const struct airlock_option *o, const char *name)
{
	size_t n = strlen(name);
	return o->implies && strncmp(o->implies, name, n) == 0 && o->implies[n] == '=' ? o->implies + n + 1 : NULL;
}

static const char *environment_value(const char *name, struct twin *ret_origin)
{
	*ret_origin = option_twin(name);
	const char *value = getenv(ret_origin->name);
	for (const struct airlock_option *o = airlock_options(); o->name && (!value || !*value); o++) {
		struct twin twin = option_twin(o->name);
		const char *given = implied_value(o, name) ? getenv(twin.name) : NULL;
		if (given && airlock_text_bool(given) == 1) {
			*ret_origin = twin;
			return implied_value(o, name);
		}
	}
	return value && *value ? value : NULL;
}

const char *arguments_value(const struct arguments *a, const char *name, struct twin *ret_origin)
{
	struct twin origin = option_twin(name);
	const char *value = command_option_is_ours(name) ? NULL : environment_value(name, &origin);
	for (size_t i = 0; i < a->n_options; i++) {
		const struct airlock_option *o = a->options[i].option;
		const char *implied = implied_value(o, name);
		if (strcmp(o->name, name) != 0 && !implied)
			continue;
		value = implied ? implied : a->options[i].value;
		(void)snprintf(origin.name, sizeof origin.name, "--%s", o->name);
	}
	if (ret_origin)
		*ret_origin = origin;
	return value;
}

int arguments_flag(const struct arguments *a, const char *name, bool *ret, struct airlock_error *err)
{
	struct twin origin;
	const char *value = arguments_value(a, name, &origin);
	int on = value ? airlock_text_bool(value) : 0;
	if (on < 0)
		return bad_bool(err, origin.name, value);
	*ret = on;
	return 0;
}
