/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `airlock hook AGENT`: called by the agent, not by a person. For all agents a hook that exits with 2 blocks the call,
 * and for most of them any other failure lets it pass. So every error here must exit with 2. If this process dies in
 * another way, the line that setup wrote exits with 2. A hook that hangs would pass too, when the agent stops waiting:
 * an alarm ends it before. */
#include "commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <airlock/project.h>
#include <airlock/session.h>

#include "hook.h"
#include "read_input.h"
#include "output.h"

#define BLOCKED 2
#define PATIENCE_SECONDS 20 /* less than any agent waits for its hooks */

static int read_input(char **ret, size_t *ret_len, struct airlock_error *err)
{
	char *text = malloc(HOOK_MAX_BYTES + 1);
	size_t len = 0;
	ssize_t n = text ? 1 : -1;
	while (n > 0 && len <= HOOK_MAX_BYTES) {
		n = input_take(STDIN_FILENO, text + len, HOOK_MAX_BYTES + 1 - len);
		len += n > 0 ? (size_t)n : 0;
	}
	*ret = text;
	*ret_len = len;
	if (!text)
		return output_fail(err, AIRLOCK_ERR_INTERNAL, NULL, "out of memory");
	if (n < 0)
		return output_fail(err, AIRLOCK_ERR_IO, "standard input", "cannot read standard input: %s",
				   strerror(errno));
	return len <= HOOK_MAX_BYTES ? 0
				     : output_fail(err, AIRLOCK_ERR_LIMIT, "standard input", "the call is too long");
}

/* Not through stdio: an answer that cannot be written must end with our status, not with that of a lost result. */
static int write_answer(const char *text, struct airlock_error *err)
{
	if (output_write(STDOUT_FILENO, text, strlen(text)))
		return 0;
	return output_fail(err, AIRLOCK_ERR_IO, "standard output", "cannot write the answer: %s", strerror(errno));
}

/* The directory in which the agent was started, from sources that a model cannot change: the roots that a person
 * opened, the agent's own variable for its hooks, the field of the call, the hook's own directory. */
static const char *start_dir(const struct agent *a, const struct hook_call *call)
{
	const char *told = a->start_variable ? getenv(a->start_variable) : NULL, *field = hook_start_dir(call);
	if (field && a->start == AGENT_START_ROOTS)
		return field;
	if (told && *told == '/')
		return told;
	return field ? field : ".";
}

/* Refuses, and does not adopt, a directory that cannot be a project: the home directory, an agent's settings. */
static int find_project(const struct invocation *inv, const char *dir, char **ret, struct airlock_error *err)
{
	int rc = airlock_project_find(inv->settings, dir, ret, err);
	if (rc < 0)
		(void)snprintf(err->hint, sizeof err->hint, "start the agent in the directory of a project");
	return rc;
}

/* It becomes a word of a command line, so it must be a name. */
static int name_session(const struct invocation *inv, const char **ret, struct airlock_error *err)
{
	*ret = airlock_settings_session(inv->settings);
	if (!*ret || airlock_session_is_name(*ret))
		return 0;
	return output_fail(err, AIRLOCK_ERR_USAGE, "session", "AIRLOCK_SESSION or --session is no name of a session");
}

static int answer(const struct invocation *inv, const struct agent *a, struct airlock_error *err)
{
	char *input = NULL, *text = NULL, *program = agent_program(), *project = NULL;
	const char *session = NULL;
	struct hook_call *call = NULL;
	size_t len = 0;
	int rc = program ? read_input(&input, &len, err)
			 : output_fail(err, AIRLOCK_ERR_IO, "/proc/self/exe", "cannot find out where airlock is");
	if (rc == 0)
		rc = hook_read(a, input, len, &call, err);
	if (rc == 0 && hook_runs_command(call))
		rc = find_project(inv, start_dir(a, call), &project, err);
	if (rc == 0)
		rc = name_session(inv, &session, err);
	if (rc == 0)
		rc = hook_answer(call, &(struct hook_place){.program = program, .project = project, .session = session},
				 &text, err);
	if (rc == 0)
		rc = write_answer(text, err);
	hook_free(call);
	airlock_free(project);
	free(program);
	free(input);
	free(text);
	return rc;
}

int cmd_hook(const struct invocation *inv, struct airlock_error *err)
{
	const struct agent *a = agent_find(inv->operand);
	if (!a) {
		(void)output_fail(err, AIRLOCK_ERR_USAGE, inv->operand, "unknown agent '%s'", inv->operand);
		return output_hint(err, "expected one of: " AGENT_NAMES);
	}
	(void)alarm(PATIENCE_SECONDS);
	if (answer(inv, a, err) == 0)
		return 0;
	output_error(err);
	return BLOCKED;
}
