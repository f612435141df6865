/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* argv → options and words, by airlock_options().
 *
 *   struct arguments a = {0};
 *   if (arguments_parse(command, argc, argv, &a, &err) < 0) …
 *   for (size_t i = 0; i < a.n_options; i++) a.options[i].option->name, a.options[i].value
 *   arguments_done(&a);
 *
 * GNU ways: --name value, --name=value, -p value, -pvalue, clusters (-yt), -- ends the options. A flag takes a boolean
 * after '=' (--network=no), the way to overrule a variable. After an error the rest is read all the same, so that a
 * --json further on decides how the error is told; only the first error is kept.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <airlock/airlock.h>

struct command;

struct argument {
	const struct airlock_option *option;
	const char *value; /* borrowed from argv, or "true" or "false" */
};

struct arguments {
	struct argument *options; /* in the order they were given */
	size_t n_options;
	const char **words; /* words that are not options; NULL-terminated; the strings are argv's */
	size_t n_words;
	size_t n_leading;	  /* how many of the words came before -- */
	const char *command_line; /* of -c, or NULL */
	bool help;		  /* --help or -h: nothing after it was read */
};

int arguments_parse(const struct command *command, int argc, char **argv, struct arguments *ret,
		    struct airlock_error *err);
void arguments_done(struct arguments *a);

struct twin {
	char name[64]; /* "AIRLOCK_WORKING_DIR" */
};
struct twin option_twin(const char *name);

/* The current value: the option given last, else its environment variable (the library's options have one) if that is
 * not empty, else NULL. ret_origin (may be NULL) is "--json" or "AIRLOCK_JSON". */
const char *arguments_value(const struct arguments *a, const char *name, struct twin *ret_origin);
/* The same for a flag; false if not given. */
int arguments_flag(const struct arguments *a, const char *name, bool *ret, struct airlock_error *err);
