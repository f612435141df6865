/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "commands.h"

#include <stdio.h>
#include <unistd.h>

#include "mcp/serve.h"
#include "output.h"

/* The same options for every call of the server. */
static int make_settings(void *data, struct airlock_settings **ret, struct airlock_error *err)
{
	const struct invocation *inv = data;
	int rc = invocation_settings(inv, ret, err);
	/* AIRLOCK_PTY may be set for airlock run; there is no terminal here. */
	return rc < 0 ? rc : airlock_settings_set(*ret, "pty", "false", "airlock mcp", err);
}

int cmd_mcp(const struct invocation *inv, struct airlock_error *err)
{
	const struct mcp_options options = {.settings = make_settings, .data = (void *)inv};
	if (isatty(STDIN_FILENO))
		output_say("this is a server for a program that speaks MCP; see airlock help mcp. Ctrl-D ends it");
	return mcp_airlock(&options, STDIN_FILENO, STDOUT_FILENO, err);
}
