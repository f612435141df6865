/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "commands.h"

#include "help.h"
#include "output.h"

int cmd_help(const struct invocation *inv, struct airlock_error *err)
{
	if (!inv->operand) {
		help_overview();
		return 0;
	}
	const struct command *c = command_find(inv->operand);
	if (c) {
		help_command(c);
		return 0;
	}
	(void)output_fail(err, AIRLOCK_ERR_USAGE, inv->operand, "unknown command '%s'", inv->operand);
	const char *near = command_nearest(inv->operand);
	return near ? output_hint(err, "did you mean %s?", near) : output_hint(err, "see airlock help");
}
