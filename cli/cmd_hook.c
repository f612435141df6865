/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `airlock hook AGENT`: called by the agent, not by a person. For all agents a hook that exits with 2 blocks the call,
 * and for most of them any other failure lets it pass. So every error here must exit with 2. If this process dies in
 * another way, the line that setup wrote exits with 2. A hook that hangs would pass too, when the agent stops waiting:
 * an alarm ends it before. */
#include "commands.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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

/* Only the shell beside this program, and only if the agent can start it: it would take another shell otherwise. */
static bool is_shell_ours(const struct agent *a)
{
	const char *told = a->shell_variable ? getenv(a->shell_variable) : NULL;
	char *ours = told ? agent_shell() : NULL;
	bool is_ours = ours && strcmp(told, ours) == 0 && access(ours, X_OK) == 0;
	free(ours);
	return is_ours;
}

/* These agents call their tool bash, and models write for it. A shell that a person chose for airlock decides. */
static const char *inner_shell(void)
{
	const char *chosen = getenv("AIRLOCK_SHELL");
	return !(chosen && *chosen) && access("/bin/bash", X_OK) == 0 ? "bash" : NULL;
}

/* The name of a process's program and its parent. False: there is no such process. */
static bool read_process(pid_t pid, char name[16], pid_t *ret_parent)
{
	char path[32], text[512];
	(void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (fd >= 0)
		(void)close(fd);
	text[n > 0 ? n : 0] = '\0';
	/* "12 (name) S 1 …", and the name may contain anything. */
	const char *begin = strchr(text, '('), *end = strrchr(text, ')');
	int parent = 0;
	if (!begin || !end || sscanf(end, ") %*c %d", &parent) != 1)
		return false;
	(void)snprintf(name, 16, "%.*s", (int)(end - begin - 1), begin + 1);
	*ret_parent = parent;
	return true;
}

/* The process that calls the hook: the first above us that is not of the line that setup wrote. 0: unknown. */
static pid_t agent_process(void)
{
	static const char *const between[] = {"timeout", "sh", "dash", "bash", "zsh", "env"};
	pid_t pid = getppid();
	for (int i = 0; i < 6 && pid > 1; i++) {
		char name[16];
		pid_t parent = 0;
		bool is_between = false;
		if (!read_process(pid, name, &parent))
			return 0;
		for (size_t j = 0; j < sizeof between / sizeof *between; j++)
			is_between |= strcmp(name, between[j]) == 0;
		if (!is_between)
			return pid;
		pid = parent;
	}
	return 0;
}

/* The file that the agent's process runs; NULL: unknown, or not needed. The caller frees. */
static char *agent_program_of(const struct agent *a, pid_t pid)
{
	char link[32], path[PATH_MAX];
	if (!a->patch_option || pid <= 0)
		return NULL;
	(void)snprintf(link, sizeof link, "/proc/%d/exe", (int)pid);
	ssize_t n = readlink(link, path, sizeof path - 1);
	path[n > 0 ? n : 0] = '\0';
	return n > 0 && access(path, X_OK) == 0 ? strdup(path) : NULL;
}

static int answer(const struct invocation *inv, const struct agent *a, struct airlock_error *err)
{
	char *input = NULL, *text = NULL, *program = agent_program(), *project = NULL;
	const char *session = NULL;
	pid_t agent_pid = agent_process();
	char *patcher = agent_program_of(a, agent_pid);
	bool refuses = false;
	struct hook_call *call = NULL;
	size_t len = 0;
	int rc = program ? read_input(&input, &len, err)
			 : output_fail(err, AIRLOCK_ERR_IO, "/proc/self/exe", "cannot find out where airlock is");
	if (rc == 0)
		rc = hook_read(a, input, len, &call, err);
	if (rc == 0)
		rc = arguments_flag(&inv->args, "mcp", &refuses, err);
	if (rc == 0 && hook_runs_command(call) && !refuses)
		rc = find_project(inv, start_dir(a, call), &project, err);
	if (rc == 0)
		rc = name_session(inv, &session, err);
	if (rc == 0)
		rc = hook_answer(call,
				 &(struct hook_place){.program = program,
						      .project = project,
						      .session = session,
						      .refuses = refuses,
						      .agent_program = patcher,
						      .agent_pid = agent_pid,
						      .shell = inner_shell(),
						      .is_shell_ours = is_shell_ours(a)},
				 &text, err);
	if (rc == 0)
		rc = write_answer(text, err);
	hook_free(call);
	airlock_free(project);
	free(patcher);
	free(program);
	free(input);
	free(text);
	return rc;
}

int cmd_hook(const struct invocation *inv, struct airlock_error *err)
{
	const struct agent *a = agent_find(inv->operand);
	if (!a || !a->tools) {
		(void)output_fail(err, AIRLOCK_ERR_USAGE, inv->operand, "unknown agent '%s'", inv->operand);
		return output_hint(err, "expected one of: " AGENT_HOOK_NAMES);
	}
	(void)alarm(PATIENCE_SECONDS);
	if (answer(inv, a, err) == 0)
		return 0;
	output_error(err);
	return BLOCKED;
}
