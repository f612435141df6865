/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "commands.h"

#include <stdio.h>

#include <airlock/history.h>

#include "output.h"
#include "waiting.h"

static void show_progress(size_t seen, void *data)
{
	(void)data;
	waiting_count(seen);
}

static int print(int rc, char *text)
{
	if (rc >= 0)
		(void)fputs(text, stdout);
	airlock_free(text);
	return rc < 0 ? rc : 0;
}

int cmd_project_scan(const struct invocation *inv, struct airlock_error *err)
{
	char *text = NULL;
	waiting_begin("looking at the files");
	int rc = airlock_project_scan(inv->settings, inv->operand, show_progress, NULL, inv->json, &text, err);
	waiting_end();
	return print(rc, text);
}

int cmd_project_add(const struct invocation *inv, struct airlock_error *err)
{
	char *text = NULL;
	waiting_begin("looking at the files");
	int rc = airlock_project_add(inv->settings, inv->operand, show_progress, NULL, inv->json, &text, err);
	waiting_end();
	return print(rc, text);
}

int cmd_project_list(const struct invocation *inv, struct airlock_error *err)
{
	char *text = NULL;
	int rc = airlock_project_list(inv->settings, inv->json, &text, err);
	if (rc >= 0 && !inv->json && !*text)
		output_say("no projects yet: airlock project add");
	return print(rc, text);
}

int cmd_project_show(const struct invocation *inv, struct airlock_error *err)
{
	char *text = NULL;
	int rc = airlock_project_show(inv->settings, inv->operand, inv->json, &text, err);
	return print(rc, text);
}

int cmd_project_remove(const struct invocation *inv, struct airlock_error *err)
{
	char *dir = NULL;
	int rc = airlock_project_remove(inv->settings, inv->operand, &dir, err);
	if (rc >= 0 && inv->json)
		(void)puts("{\n  \"removed\": true\n}");
	else if (rc >= 0)
		output_say("the records of %s are removed; its files and backups stay", dir);
	airlock_free(dir);
	return rc;
}
