/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "commands.h"

#include <stdio.h>

#include "output.h"
#include "run_loop.h"

/* A plan is always the plan of some command; without one it is that of `airlock shell`. */
static int choose_program(const struct invocation *inv, struct airlock_error *err)
{
	const char *argv[] = {run_loop_shell(inv), NULL};
	if (inv->args.command_line || inv->args.n_words)
		return 0;
	return airlock_settings_set_argv(inv->settings, argv, err);
}

int cmd_explain(const struct invocation *inv, struct airlock_error *err)
{
	struct airlock_job *job = NULL;
	int rc = choose_program(inv, err);
	if (rc >= 0)
		rc = airlock_job_prepare(inv->settings, &job, err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < airlock_job_warning_count(job); i++)
		output_say("%s", airlock_job_warning(job, i));
	(void)fputs(inv->json ? airlock_job_explain_json(job) : airlock_job_explain(job), stdout);
	airlock_job_free(job);
	return 0;
}
