/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "commands.h"

#include <stdio.h>

#include <airlock/history.h>

int cmd_show(const struct invocation *inv, struct airlock_error *err)
{
	char *text = NULL;
	int rc = airlock_history_show(inv->settings, inv->operand, inv->json, &text, err);
	if (rc < 0)
		return rc;
	(void)fputs(text, stdout);
	airlock_free(text);
	return 0;
}
