/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "commands.h"

#include <stdio.h>
#include <unistd.h>

#include <airlock/history.h>

#include "output.h"

/* One line that is written over and over, for a person who waits. */
static void show_progress(size_t seen, void *data)
{
	(void)data;
	(void)fprintf(stderr, "\rairlock: %zu looked at", seen);
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
	int has_person = isatty(STDERR_FILENO);
	int rc = airlock_project_scan(inv->settings, inv->operand, has_person ? show_progress : NULL, NULL, inv->json,
				      &text, err);
	if (has_person)
		(void)fputs("\r\033[K", stderr);
	return print(rc, text);
}

int cmd_project_add(const struct invocation *inv, struct airlock_error *err)
{
	char *text = NULL;
	int has_person = isatty(STDERR_FILENO);
	int rc = airlock_project_add(inv->settings, inv->operand, has_person ? show_progress : NULL, NULL, inv->json,
				     &text, err);
	if (has_person)
		(void)fputs("\r\033[K", stderr);
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
