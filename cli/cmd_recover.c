/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "commands.h"

#include <stdio.h>
#include <string.h>

#include "json_read.h"

/* Each line of the library's text as a string. The lines are escaped, so a newline only ends one. */
static void print_json(size_t count, char *text)
{
	(void)printf("{\"recovered\": %zu, \"notes\": [", count);
	char *rest = NULL;
	for (char *line = strtok_r(text, "\n", &rest), *first = line; line; line = strtok_r(NULL, "\n", &rest)) {
		(void)fputs(line == first ? "" : ", ", stdout);
		json_print_string(stdout, line);
	}
	(void)printf("]}\n");
}

int cmd_recover(const struct invocation *inv, struct airlock_error *err)
{
	size_t count = 0;
	char *text = NULL;
	int rc = airlock_recover(inv->settings, &count, &text, err);
	if (rc < 0)
		return rc;
	if (inv->json)
		print_json(count, text);
	else if (count == 0)
		(void)printf("%snothing to recover\n", text);
	else
		(void)printf("%srecovered %zu interrupted %s\n", text, count, count == 1 ? "apply" : "applies");
	airlock_free(text);
	return count > 0 ? 0 : 1;
}
