/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "commands.h"

#include <stdio.h>
#include <string.h>

#include <airlock/config.h>

int cmd_trust(const struct invocation *inv, struct airlock_error *err)
{
	char *dir = NULL;
	int rc = airlock_trust(inv->settings, inv->operand, &dir, err);
	if (rc < 0)
		return rc;
	char *inert = airlock_text_inert(dir, strlen(dir));
	(void)printf("trusted as it is now: %s/.airlock.toml\n", inert ? inert : "");
	airlock_free(inert);
	airlock_free(dir);
	return 0;
}
