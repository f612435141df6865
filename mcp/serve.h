/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `airlock mcp`: airlock's tools for a program that speaks the Model Context Protocol on our input and output. */
#pragma once

#include <airlock/airlock.h>

struct mcp_options {
	/* New settings with the options of the server's command line; a call adds its own. */
	int (*settings)(void *data, struct airlock_settings **ret, struct airlock_error *err);
	void *data;
};

/* Runs until the client goes away. 0, or a negative enum airlock_code if it could not start. */
int mcp_airlock(const struct mcp_options *options, int in_fd, int out_fd, struct airlock_error *err);
