/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `airlock mcp`: the tools of airlock for a program that speaks the Model Context Protocol on our input and output. */
#pragma once

#include <airlock/airlock.h>

struct mcp_options {
	/* New settings with everything the person said when starting the server; what a call asks for is added to them. */
	int (*settings)(void *data, struct airlock_settings **ret, struct airlock_error *err);
	void *data;
};

/* Until the client goes away. 0, or a negative enum airlock_code when it could not begin. */
int mcp_airlock(const struct mcp_options *options, int in_fd, int out_fd, struct airlock_error *err);
