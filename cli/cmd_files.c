/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `airlock files`, `backups` and `restore`. */
#include "commands.h"

#include <stdio.h>
#include <string.h>

#include <airlock/history.h>

#include "output.h"

int cmd_files(const struct invocation *inv, struct airlock_error *err)
{
	bool deleted = false;
	char *text = NULL;
	int rc = arguments_flag(&inv->args, "deleted", &deleted, err);
	if (rc >= 0)
		rc = airlock_files(inv->settings, inv->operand, deleted, inv->json, &text, err);
	if (rc >= 0)
		(void)fputs(text, stdout);
	airlock_free(text);
	return rc;
}

int cmd_backups(const struct invocation *inv, struct airlock_error *err)
{
	char *text = NULL;
	int rc = airlock_backups(inv->settings, inv->operand, inv->json, &text, err);
	if (rc >= 0 && !inv->json && !*text)
		output_say("no backups%s%s", inv->operand ? " of " : "", inv->operand ? inv->operand : "");
	if (rc >= 0)
		(void)fputs(text, stdout);
	airlock_free(text);
	return rc;
}

static bool is_date(const char *text)
{
	static const char form[] = "00-00-00";
	for (size_t i = 0; i < sizeof form; i++)
		if (form[i] == '0' ? text[i] < '0' || text[i] > '9' : text[i] != form[i])
			return false;
	return true;
}

int cmd_restore(const struct invocation *inv, struct airlock_error *err)
{
	const char *date = arguments_value(&inv->args, "date", NULL);
	char *run = NULL, *text = NULL;
	if (date && !is_date(date))
		return output_fail(err, AIRLOCK_ERR_USAGE, date, "--date takes a day such as 26-11-15, not '%s'", date);
	int rc = airlock_restore(inv->settings, inv->operand, date, &run, &text, err);
	if (rc >= 0 && inv->json) {
		(void)printf("{\n  \"run\": \"%s\"\n}\n", run);
	} else if (rc >= 0) {
		(void)fputs(text, stdout);
		(void)printf("restored; airlock undo %s takes it back\n", run);
	}
	airlock_free(run);
	airlock_free(text);
	return rc;
}
