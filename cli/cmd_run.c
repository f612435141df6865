/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "commands.h"
#include "run_loop.h"

#include <unistd.h>

/* The default if neither --pty nor --no-pty is given. A person at a terminal sees colours and progress bars as without
 * airlock. A program that reads the output from a pipe or as JSON gets two clean streams. */
static bool is_at_terminal(const struct invocation *inv)
{
	return !inv->json && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && isatty(STDERR_FILENO);
}

int cmd_run(const struct invocation *inv, struct airlock_error *err)
{
	bool has_pty = false;
	int rc = 0;
	if (arguments_value(&inv->args, "pty", NULL))
		rc = arguments_flag(&inv->args, "pty", &has_pty, err);
	else if ((has_pty = is_at_terminal(inv)))
		rc = airlock_settings_set(inv->settings, "pty", "true", "the terminal", err);
	return rc < 0 ? rc : run_loop(inv, has_pty, err);
}
