/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "commands.h"

#include <unistd.h>

#include <airlock/history.h>

int cmd_output(const struct invocation *inv, struct airlock_error *err)
{
	bool wants_stderr = false;
	int rc = arguments_flag(&inv->args, "stderr", &wants_stderr, err);
	return rc < 0 ? rc : airlock_history_output(inv->settings, inv->operand, wants_stderr, STDOUT_FILENO, err);
}
