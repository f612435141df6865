/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "serve.h"

#include "tool_context.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static const char instructions[] = "airlock runs commands in a sandbox. run_command gives you a shell in the user's "
				   "project: you may write to the project "
				   "and to $HOME/playground, everything else is read-only, and there is no network "
				   "unless you ask for it and a person "
				   "allows it. Every change is recorded: look at a run with list_changes and diff, "
				   "take it back with undo. Changes that "
				   "are held are applied with apply_changes or dropped with discard_changes.";

int mcp_airlock(const struct mcp_options *options, int in_fd, int out_fd, struct airlock_error *err)
{
	struct tool_context f = {.options = options};
	unsigned char random[16] = {0};
	const struct mcp_spec spec = {.name = "airlock",
				      .title = "airlock",
				      .version = airlock_version(),
				      .instructions = instructions,
				      .capabilities = "{\"resources\": {}}",
				      .tools = tool_table,
				      .methods = tool_resource_methods,
				      .idle = &tool_idle,
				      .data = &f};
	if (getrandom(random, sizeof random, 0) != sizeof random)
		return tool_error(err, AIRLOCK_ERR_IO, "no random numbers");
	size_t len = (size_t)snprintf(f.session, sizeof f.session, "mcp ");
	for (size_t i = 0; i < sizeof random; i++)
		len += (size_t)snprintf(f.session + len, sizeof f.session - len, "%02x", random[i]);
	(void)snprintf(f.work, sizeof f.work, "mcp-%02x%02x%02x%02x", random[0], random[1], random[2], random[3]);
	f.prestart = airlock_prestart_new();
	int rc = mcp_serve(&spec, in_fd, out_fd);
	airlock_prestart_free(f.prestart);
	free(f.project);
	return rc < 0 ? tool_error(err, AIRLOCK_ERR_IO, "the server ended: %s", strerror(-rc)) : 0;
}
