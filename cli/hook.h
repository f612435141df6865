/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Turns the call that an agent is about to make into the one that it shall make instead. Pure.
 *
 *   if (hook_read(agent, input, len, &call, &err) < 0) block the call
 *   if (hook_runs_command(call)) place.project = …the project of hook_start_dir(call)…
 *   if (hook_answer(call, &place, &answer, &err) < 0) block the call
 *   puts(answer)                                  {} when it is no command line, and no business of ours
 *
 * For some agents that is followed by the command itself, which never runs there: `exec airlock run … || exit 127`. Every command line
 * becomes `airlock run --agent hook:AGENT -p PROJECT … --shell bash -C . -c 'COMMAND'`, also one that calls airlock
 * itself: what an agent writes there must not choose its own sandbox. The project is that of the directory the agent was
 * started in; a directory that the model chose for the command is only where it runs. All other fields of the call stay as
 * they are.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <airlock/airlock.h>

#include "agents.h"

#define HOOK_MAX_BYTES (8 << 20)

struct hook_call;

/* Input that is not understood is an error, which blocks the call. */
int hook_read(const struct agent *a, const char *input, size_t len, struct hook_call **ret, struct airlock_error *err);
void hook_free(struct hook_call *call);

/* Does it run a command line? */
bool hook_runs_command(const struct hook_call *call);
/* Where the agent was started, according to the call; NULL if it does not say, or if the model chose it. Borrowed. */
const char *hook_start_dir(const struct hook_call *call);

struct hook_place {
	const char *program; /* this airlock */
	const char *project; /* NULL is allowed for a call that runs no command */
	const char *shell;   /* for the command line; NULL: airlock's own default */
	/* The agent's shell is airlock-bash: the command goes through airlock as it is. */
	bool is_shell_ours;
	const char *session;	   /* that a person named for the agent's commands; NULL: the agent's own */
	bool refuses;		   /* every command line: the agent has airlock's tools */
	const char *agent_program; /* the agent's own, for its patches; NULL: unknown */
	int agent_pid;		   /* the agent's process, with which its commands end; 0: unknown */
};
/* answer: one line of JSON, the caller's: free. */
int hook_answer(const struct hook_call *call, const struct hook_place *place, char **ret_answer,
		struct airlock_error *err);
