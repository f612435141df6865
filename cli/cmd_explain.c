/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "commands.h"

#include <stdio.h>

#include "output.h"

int cmd_explain(const struct invocation *inv, struct airlock_error *err)
{
	struct airlock_job *job = NULL;
	int rc = airlock_job_prepare(inv->settings, &job, err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < airlock_job_warning_count(job); i++)
		output_say("%s", airlock_job_warning(job, i));
	(void)fputs(inv->json ? airlock_job_explain_json(job) : airlock_job_explain(job), stdout);
	airlock_job_free(job);
	return 0;
}
