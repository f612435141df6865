/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "serve.h"

#include "tool_context.h"

#include <airlock/session.h>

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

void mcp_airlock_spec(struct mcp_spec *ret)
{
	*ret = (struct mcp_spec){.name = "airlock",
				 .title = "airlock",
				 .version = airlock_version(),
				 .instructions = instructions,
				 .capabilities = "{\"resources\": {}}",
				 .tools = tool_table,
				 .methods = tool_resource_methods};
}

struct tool_context *mcp_airlock_new(const struct mcp_options *options, struct airlock_error *err)
{
	unsigned char random[16] = {0};
	struct tool_context *f = calloc(1, sizeof *f);
	if (!f || getrandom(random, sizeof random, 0) != sizeof random) {
		(void)tool_error(err, AIRLOCK_ERR_IO, f ? "no random numbers" : "out of memory");
		free(f);
		return NULL;
	}
	f->options = options;
	size_t len = (size_t)snprintf(f->session, sizeof f->session, "mcp ");
	for (size_t i = 0; i < sizeof random; i++)
		len += (size_t)snprintf(f->session + len, sizeof f->session - len, "%02x", random[i]);
	(void)snprintf(f->work, sizeof f->work, "mcp-%02x%02x%02x%02x", random[0], random[1], random[2], random[3]);
	return f;
}

void mcp_airlock_free(struct tool_context *f)
{
	if (!f)
		return;
	airlock_prestart_free(f->prestart);
	free(f->project);
	free(f);
}

int mcp_airlock(const struct mcp_options *options, int in_fd, int out_fd, struct airlock_error *err)
{
	struct mcp_spec spec;
	int rc = airlock_sessions_end_with_program(err); /* what its commands leave in the background */
	if (rc < 0)
		return rc;
	struct tool_context *f = mcp_airlock_new(options, err);
	if (!f)
		return err->code;
	f->prestart = airlock_prestart_new();
	mcp_airlock_spec(&spec);
	spec.idle = &tool_idle;
	spec.data = f;
	rc = mcp_serve(&spec, in_fd, out_fd);
	mcp_airlock_free(f);
	return rc < 0 ? tool_error(err, AIRLOCK_ERR_IO, "the server ended: %s", strerror(-rc)) : 0;
}
