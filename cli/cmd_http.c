/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `airlock serve` and `airlock ui` become airlock-http: a web server has no place in the program that every run starts. */
#include "commands.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "output.h"

/* Where it is, seen from the directory of this program: installed, and in the build directory. */
static const char *const places[] = {"../libexec/airlock/airlock-http", "../http/airlock-http", NULL};

static bool find_program(char ret[PATH_MAX])
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	if (n <= 0)
		return false;
	self[n] = '\0';
	*strrchr(self, '/') = '\0';
	for (const char *const *place = places; *place; place++) {
		(void)snprintf(ret, PATH_MAX, "%.*s/%s", PATH_MAX - 64, self, *place);
		if (access(ret, X_OK) == 0)
			return true;
	}
	return false;
}

/* --name=value for each option, as airlock-http reads them. The words live until exec. */
static char **make_words(const struct invocation *inv, char *program)
{
	size_t n = inv->args.n_options;
	char **words = calloc(n + 3, sizeof *words);
	if (!words)
		return NULL;
	words[0] = program;
	words[1] = (char *)inv->command->name;
	for (size_t i = 0; i < n; i++)
		if (asprintf(&words[i + 2], "--%s=%s", inv->args.options[i].option->name, inv->args.options[i].value) <
		    0) {
			words[i + 2] = NULL;
			break;
		}
	return words;
}

int cmd_http(const struct invocation *inv, struct airlock_error *err)
{
	char program[PATH_MAX];
	if (!find_program(program)) {
		(void)output_fail(err, AIRLOCK_ERR_NOT_FOUND, "airlock-http", "airlock-http is not installed");
		return output_hint(err, "it belongs into ../libexec/airlock, seen from the directory of airlock");
	}
	char **words = make_words(inv, program);
	if (!words)
		return output_fail(err, AIRLOCK_ERR_INTERNAL, NULL, "out of memory");
	(void)execv(program, words);
	int saved = errno;
	for (char **word = words + 2; *word; word++)
		free(*word);
	free(words);
	return output_fail(err, AIRLOCK_ERR_IO, program, "cannot start %s: %s", program, strerror(saved));
}
