/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "commands.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "output.h"
#include "run_loop.h"

/* True if a hook or airlock-sh wrote this command line. Inside a sandbox the variable is set for everybody. */
static bool is_by_front(const struct invocation *inv)
{
	for (size_t i = 0; i < inv->args.n_options; i++)
		if (strcmp(inv->args.options[i].option->name, "agent") == 0)
			return true;
	return false;
}

/* A whole agent in our sandbox, with a hook or a shell that brings its commands to airlock: they are where they should be. */
static int run_here(const struct invocation *inv, struct airlock_error *err)
{
	const char *dir = arguments_value(&inv->args, "working-dir", NULL),
		   *asked = arguments_value(&inv->args, "shell", NULL);
	const char *shell = asked && strcmp(asked, "sh") != 0 ? asked : "/bin/sh";
	char *line[] = {(char *)shell, (char *)"-c", (char *)inv->args.command_line, NULL};
	char *const *argv = inv->args.command_line ? line : (char *const *)inv->args.words;
	if (dir && chdir(dir) < 0)
		return output_fail(err, AIRLOCK_ERR_NOT_FOUND, dir, "Working directory does not exist: %s", dir);
	(void)execvp(argv[0], argv);
	int failed = errno;
	(void)fprintf(stderr, "airlock: %s: %s\n", argv[0], strerror(failed));
	return failed == ENOENT ? 127 : 126;
}

int cmd_run(const struct invocation *inv, struct airlock_error *err)
{
	if (airlock_is_inside() && is_by_front(inv) && !inv->json)
		return run_here(inv, err);
	struct run_manner how = {.is_for_agent = airlock_settings_is_agent(inv->settings)};
	int rc = run_loop_pty(inv, &how.has_pty, err);
	if (how.is_for_agent)
		airlock_settings_explain_by_default(inv->settings);
	return rc < 0 ? rc : run_loop(inv, &how, err);
}
