/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "commands.h"

#include <inttypes.h>
#include <stdio.h>

#include "output.h"

int cmd_permissions_list(const struct invocation *inv, struct airlock_error *err)
{
	char *text = NULL;
	int rc = airlock_permissions_list(inv->settings, inv->json, &text, err);
	if (rc < 0)
		return rc;
	(void)fputs(text, stdout);
	if (!*text)
		output_say("no answer is remembered");
	airlock_free(text);
	return 0;
}

int cmd_permissions_revoke(const struct invocation *inv, struct airlock_error *err)
{
	int rc = airlock_permissions_revoke(inv->settings, inv->operand, err);
	if (rc < 0)
		return rc;
	if (inv->json)
		(void)puts("{\"removed\": 1}");
	else
		(void)printf("answer %s is forgotten\n", inv->operand);
	return 0;
}

int cmd_permissions_clear(const struct invocation *inv, struct airlock_error *err)
{
	uint64_t count = 0;
	int rc = airlock_permissions_clear(inv->settings, &count, err);
	if (rc < 0)
		return rc;
	if (inv->json)
		(void)printf("{\"removed\": %" PRIu64 "}\n", count);
	else if (count == 0)
		(void)puts("no answer is remembered");
	else
		(void)printf("%" PRIu64 " %s forgotten\n", count, count == 1 ? "answer is" : "answers are");
	return count > 0 ? 0 : 1;
}
