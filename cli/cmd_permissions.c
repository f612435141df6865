/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "commands.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <airlock/history.h>

#include "output.h"

#define COMMAND_WIDEST 60 /* columns; a longer one pushes what is behind it aside */

/* The width of the widest command that leaves room for a directory beside it. */
static size_t command_width(const struct airlock_permissions *l)
{
	size_t widest = 0;
	for (size_t i = 0; i < airlock_permissions_count(l); i++) {
		const char *command = airlock_permissions_at(l, i)->command;
		char *inert = airlock_text_inert(command, strlen(command));
		size_t width = inert ? airlock_text_columns(inert, strlen(inert)) : 0;
		if (width <= COMMAND_WIDEST && width > widest)
			widest = width;
		airlock_free(inert);
	}
	return widest;
}

static void print_permission(const struct airlock_permission *p, size_t width)
{
	bool allows = p->answer == AIRLOCK_ALLOW_SESSION || p->answer == AIRLOCK_ALLOW_ALWAYS;
	bool always = p->answer == AIRLOCK_ALLOW_ALWAYS || p->answer == AIRLOCK_DENY_ALWAYS;
	char answer[32];
	(void)snprintf(answer, sizeof answer, "%s %s", allows ? "allow" : "deny", always ? "always" : "session");
	(void)printf("%3" PRId64 "  %s  %-13s  %-11s  ", p->id, output_time(p->created_ns).text, answer, p->kind);
	output_cell(stdout, p->command, width);
	(void)fputs("  in ", stdout);
	output_text(stdout, p->working_dir);
	(void)putchar('\n');
}

int cmd_permissions_list(const struct invocation *inv, struct airlock_error *err)
{
	struct airlock_permissions *l = NULL;
	int rc = airlock_permissions_open(inv->settings, &l, err);
	if (rc >= 0 && inv->json)
		rc = output_json(airlock_permissions_json(l), err);
	else if (rc >= 0 && airlock_permissions_count(l) == 0)
		output_say("no answer is remembered");
	size_t width = rc >= 0 && !inv->json ? command_width(l) : 0;
	for (size_t i = 0; rc >= 0 && !inv->json && i < airlock_permissions_count(l); i++)
		print_permission(airlock_permissions_at(l, i), width);
	airlock_permissions_free(l);
	return rc;
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
