/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The agents airlock knows: how their hooks ask and want to be answered, and where they are configured. One table.
 *
 *   const struct agent *a = agent_find("claude");
 *   char *command = agent_command(a, "/usr/bin/airlock");          /usr/bin/airlock hook claude || exit 2
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* How an agent learns the command that it must run instead. */
enum agent_answer {
	AGENT_UPDATED_INPUT, /* hookSpecificOutput: permissionDecision, updatedInput with all of the tool's input */
	AGENT_TOOL_INPUT,    /* hookSpecificOutput: tool_input, merged into the tool's */
	AGENT_FLAT,	     /* permission, updated_input */
};

/* How a hook is written in its configuration. */
enum agent_entry {
	AGENT_ENTRY_NESTED,  /* {"matcher", "hooks": [{"type", "command"}]} */
	AGENT_ENTRY_TYPED,   /* {"type", "command"} */
	AGENT_ENTRY_COMMAND, /* {"command", "matcher", "failClosed"} */
};

/* Which field of its calls names the directory where the agent was started. Every agent has a "cwd", but not always
 * with this meaning. */
enum agent_start {
	AGENT_START_CWD,   /* "cwd" */
	AGENT_START_ROOTS, /* "workspace_roots", a list */
	/* None: "cwd" is what the model chose for this command. The hook itself is started where the agent was. */
	AGENT_START_OF_HOOK,
};

struct agent {
	const char *name;  /* "claude" */
	const char *title; /* "Claude Code" */
	const char *tools; /* those that run a command line, separated by spaces */
	enum agent_answer answer;
	const char *event; /* "PreToolUse", in its configuration and its answers */
	enum agent_start start;
	const char *start_variable; /* tells its hooks where it was started, more reliably than the field; or NULL */
	const char *dir_variable;   /* names its configuration directory, or NULL */
	const char *dir;	    /* otherwise: in the home directory */
	const char *file;	    /* in that directory */
	enum agent_entry entry;
	const char *matcher; /* NULL: it has none */
	int version;	     /* version of its configuration format; 0: it has none */
	/* Its hooks may not be shell lines; "failClosed" in the entry does what "|| exit 2" does elsewhere. */
	bool is_no_shell_line;
	/* The step that a person must take before the agent runs the hook, or NULL. Until then setup must not call the hook
	 * active. */
	const char *until_active;
};

extern const struct agent agents[]; /* ends with name == NULL */
#define AGENT_NAMES "claude codex gemini cursor vscode"

const struct agent *agent_find(const char *name); /* NULL: unknown */

/* One word for a POSIX shell, in quotes. NULL: out of memory. The caller frees. */
char *agent_quote(const char *text);
/* The hook as the agent calls it: the line exits with 2, which blocks the call, whatever happens to airlock (missing,
 * crashed). The other function tells whether a command is such a hook, of any airlock and version. */
char *agent_command(const struct agent *a, const char *program);
bool agent_is_command(const struct agent *a, const char *command);

/* Where it is configured. NULL: no home directory, or out of memory. The caller frees. */
char *agent_file(const struct agent *a);

/* The absolute path of this program. NULL: unknown. The caller frees. */
char *agent_program(void);
