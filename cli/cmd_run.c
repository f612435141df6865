/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "commands.h"
#include "run_loop.h"

int cmd_run(const struct invocation *inv, struct airlock_error *err)
{
	bool has_pty = false;
	int rc = arguments_flag(&inv->args, "pty", &has_pty, err);
	return rc < 0 ? rc : run_loop(inv, has_pty, err);
}
