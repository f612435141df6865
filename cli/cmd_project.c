/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "commands.h"

#include <stdio.h>
#include <unistd.h>

/* One line that is written over and over, for a person who waits. */
static void show_progress(size_t seen, void *data)
{
	(void)data;
	(void)fprintf(stderr, "\rairlock: %zu looked at", seen);
}

int cmd_project_scan(const struct invocation *inv, struct airlock_error *err)
{
	char *text = NULL;
	int has_person = isatty(STDERR_FILENO);
	int rc = airlock_project_scan(inv->settings, inv->operand, has_person ? show_progress : NULL, NULL, &text, err);
	if (has_person)
		(void)fputs("\r\033[K", stderr);
	if (rc < 0)
		return rc;
	(void)fputs(text, stdout);
	airlock_free(text);
	return 0;
}
