/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <airlock/history.h>

#include "output.h"

static int read_limit(const struct invocation *inv, int64_t *ret, struct airlock_error *err)
{
	const char *text = arguments_value(&inv->args, "limit", NULL);
	char *end = NULL;
	*ret = -1;
	if (!text)
		return 0;
	errno = 0;
	long long n = strtoll(text, &end, 10);
	if (errno || end == text || *end || n < 0 || text[0] < '0' || text[0] > '9')
		return output_fail(err, AIRLOCK_ERR_USAGE, text, "-n takes a number, not '%s'", text);
	*ret = n;
	return 0;
}

static int verify(const struct invocation *inv, struct airlock_error *err)
{
	char *text = NULL;
	int rc = airlock_log_verify(inv->settings, &text, err);
	if (rc < 0)
		return rc;
	if (rc > 0) {
		output_say("the audit file was changed after airlock wrote it");
		(void)fputs(text, stderr);
	} else if (inv->json) {
		(void)puts("{\n  \"ok\": true\n}");
	} else {
		(void)fputs(text, stdout);
	}
	airlock_free(text);
	return rc > 0 ? output_fail(err, AIRLOCK_ERR_CORRUPT, "audit", "%d change%s found in the audit file", rc,
				    rc == 1 ? "" : "s")
		      : 0;
}

int cmd_log(const struct invocation *inv, struct airlock_error *err)
{
	bool wants_verify = false, wants_all = false;
	int64_t limit;
	size_t count = 0;
	int is_all = 0;
	char *text = NULL;
	int rc = arguments_flag(&inv->args, "verify", &wants_verify, err);
	if (rc >= 0)
		rc = arguments_flag(&inv->args, "all", &wants_all, err);
	if (rc >= 0)
		rc = read_limit(inv, &limit, err);
	if (rc < 0)
		return rc;
	if (wants_verify)
		return verify(inv, err);
	if (wants_all || arguments_value(&inv->args, "project", NULL))
		rc = airlock_log(inv->settings, limit, inv->json, &text, &count, err);
	else
		rc = airlock_log_here(inv->settings, limit, inv->json, &text, &count, &is_all, err);
	if (rc < 0)
		return rc;
	if (count == 0 && !inv->json)
		output_say("no runs yet");
	else if (is_all && !inv->json)
		output_say("no runs of this project: these are the runs of all projects");
	if (inv->json)
		(void)fputs(text, stdout);
	else
		output_list(text);
	airlock_free(text);
	return 0;
}
