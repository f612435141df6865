/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "commands.h"
#include "output.h"
#include "run_loop.h"

int cmd_shell(const struct invocation *inv, struct airlock_error *err)
{
	if (inv->json)
		return output_fail(err, AIRLOCK_ERR_USAGE, "--json",
				   "airlock shell has no result to print: use airlock run --json");
	const char *argv[] = {run_loop_shell(inv), NULL};
	int rc = airlock_settings_set(inv->settings, "pty", "true", "airlock shell", err);
	if (rc >= 0)
		rc = airlock_settings_set_argv(inv->settings, argv, err);
	const struct run_manner how = {.has_pty = true, .is_for_agent = airlock_settings_is_agent(inv->settings)};
	return rc < 0 ? rc : run_loop(inv, &how, err);
}
