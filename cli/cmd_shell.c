/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "commands.h"

#include <stdlib.h>
#include <unistd.h>

#include "run_loop.h"

/* The one that was asked for, else the user's own, else the one that is always there. */
static const char *choose_shell(const struct invocation *inv)
{
	const char *asked = arguments_value(&inv->args, "shell", NULL);
	if (asked)
		return asked;
	const char *own = getenv("SHELL");
	return own && own[0] == '/' && access(own, X_OK) == 0 ? own : "/bin/sh";
}

int cmd_shell(const struct invocation *inv, struct airlock_error *err)
{
	const char *argv[] = {choose_shell(inv), NULL};
	int rc = airlock_settings_set(inv->settings, "pty", "true", "airlock shell", err);
	if (rc >= 0)
		rc = airlock_settings_set_argv(inv->settings, argv, err);
	return rc < 0 ? rc : run_loop(inv, true, err);
}
