/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs a shell command line in the sandbox, keeps its changes back, and shows what they are.
 *   cc run.c $(pkg-config --cflags --libs airlock) && ./a.out 'echo hello >greeting'
 */
#include <airlock/airlock.h>

#include <stdio.h>

extern char **environ;

static int complain(const struct airlock_error *err)
{
	fprintf(stderr, "%s\n%s%s", err->message, err->hint, err->hint[0] ? "\n" : "");
	return 125;
}

int main(int argc, char **argv)
{
	struct airlock_error err = {0};
	struct airlock_settings *settings = airlock_settings_new();
	struct airlock_job *job = NULL;
	struct airlock_run *run = NULL;

	if (argc != 2 || !settings)
		return 2;
	if (airlock_settings_set_environ(settings, environ, &err) < 0 ||
	    airlock_settings_set(settings, "changes", "hold", "example", &err) < 0 ||
	    airlock_settings_set_command(settings, argv[1], &err) < 0 ||
	    airlock_job_prepare(settings, &job, &err) < 0 || airlock_run_start(job, NULL, &run, &err) < 0) {
		airlock_job_free(job);
		airlock_settings_free(settings);
		return complain(&err);
	}
	while (airlock_run_dispatch(run, -1) > 0)
		;
	fputs(airlock_run_result_text(run), stdout);
	int status = airlock_run_exit_code(run);
	airlock_run_free(run);
	airlock_job_free(job);
	airlock_settings_free(settings);
	return status;
}
