/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "commands.h"

#include <stdio.h>

#include "output.h"

int cmd_config_show(const struct invocation *inv, struct airlock_error *err)
{
	char *text = NULL;
	int rc = airlock_config_show(inv->settings, inv->json, &text, err);
	if (rc < 0)
		return rc;
	(void)fputs(text, stdout);
	airlock_free(text);
	return 0;
}

int cmd_config_check(const struct invocation *inv, struct airlock_error *err)
{
	int rc = airlock_config_check(inv->settings, inv->operand, err);
	if (rc < 0)
		return rc;
	(void)puts(inv->json ? "{\"ok\": true}" : "ok");
	return 0;
}

int cmd_config_path(const struct invocation *inv, struct airlock_error *err)
{
	char *text = NULL;
	int rc = airlock_config_paths(inv->settings, &text, err);
	if (rc < 0)
		return rc;
	(void)fputs(text, stdout);
	airlock_free(text);
	return 0;
}
