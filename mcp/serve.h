/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `airlock mcp`: airlock's tools for a program that speaks the Model Context Protocol on our input and output. */
#pragma once

#include <airlock/airlock.h>
#include <airlock/session.h>

struct mcp_options {
	/* New settings with the options of the server's command line; a call adds its own. */
	int (*settings)(void *data, struct airlock_settings **ret, struct airlock_error *err);
	/* Returns the hold on the workspace that commands run in (airlock_job_hold_workspace). May be NULL, and may return NULL: there is none. */
	struct airlock_workspace_hold *(*hold)(void *data);
	void *data;
};

/* What the tools of one client, or of one sandbox, remember from call to call. */
struct tool_context;
/* options: borrowed. NULL with err filled. */
struct tool_context *mcp_airlock_new(const struct mcp_options *options, struct airlock_error *err);
void mcp_airlock_free(struct tool_context *f);
struct mcp_spec;
/* Everything of the spec but its data, a struct tool_context, and its instructions. */
void mcp_airlock_spec(struct mcp_spec *ret);

/* Runs until the client goes away. 0, or a negative enum airlock_code if it could not start. */
int mcp_airlock(const struct mcp_options *options, int in_fd, int out_fd, struct airlock_error *err);
