/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The agents airlock knows: how their hooks ask and want to be answered, and where they are configured. One table.
 *
 *   const struct agent *a = agent_find("claude");
 *   char *command = agent_command(a, "/usr/bin/airlock", false);   /usr/bin/airlock hook claude || exit 2
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* One change of an agent's configuration, so that its commands go through airlock. */
enum agent_edit_kind {
	AGENT_EDIT_HOOK,   /* our hook among those of the agent's event */
	AGENT_EDIT_MEMBER, /* a member of a JSON object */
	AGENT_EDIT_ITEM,   /* one more item of a JSON list */
	AGENT_EDIT_FILE,   /* the whole file is ours */
	AGENT_EDIT_LINES,  /* lines of a TOML or YAML file below a heading, each marked as ours */
};

struct agent_edit {
	const char
		*file; /* in the agent's directory; "~/x" is in the home, or in the directory that its variable names */
	enum agent_edit_kind kind;
	const char *path;  /* members from the top, separated by '/'; of lines: the heading */
	const char *value; /* JSON, or lines; @AIRLOCK@ and @SHELL@ stand for the paths of the programs */
	const char *first; /* of lines: those that a new file begins with; NULL: none */
};
#define AGENT_EDITS_MAX 4

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
	/* Names its shell, for its hooks too, or NULL. If that is ours, the command needs no rewriting, and its own rules see
	 * the command that the model wrote. */
	const char *shell_variable;
	const char *dir_variable; /* names its configuration directory, or NULL */
	const char *dir;	  /* otherwise: in the home directory */
	/* The edits that setup makes. `edits` send the agent's own commands through airlock; `mcp` gives it airlock's tools
	 * instead of its own. Each ends with file == NULL. Edits of one file are neighbours. */
	struct agent_edit edits[AGENT_EDITS_MAX], mcp[AGENT_EDITS_MAX];
	const char *no_way; /* why its own tool cannot go through airlock, or NULL; then setup does what --mcp does */
	const char *no_mcp; /* why it cannot have airlock's tools instead of its own, or NULL */
	const char *hook;   /* another agent whose hook it shares, or NULL */
	enum agent_entry entry;
	const char *matcher; /* NULL: it has none */
	int version;	     /* version of its configuration format; 0: it has none */
	/* Its hooks may not be shell lines; "failClosed" in the entry does what "|| exit 2" does elsewhere. */
	bool is_no_shell_line;
	/* Those of its tools that start a shell for each command, where it compares the rewritten line with the person's rules. Then the
	 * command that the model wrote follows ours, after an exec: the rules see it, and it never runs there. NULL: none. */
	const char *shown_tools;
	bool is_allow_final; /* an "allow" of a hook overrules the person's rules: so for shown tools the hook decides nothing */
	/* The option with which its program applies a patch, or NULL. Its models call a program apply_patch, which only the agent
	 * itself knows. */
	const char *patch_option;
	/* Its own sandbox, which does not work together with airlock: the file and the member (JSON: from the top, separated by '/') that
	 * switch it, and the value with which it is off. NULL: it has none that airlock knows. */
	const char *sandbox_file, *sandbox_member, *sandbox_off;
	bool is_sandbox_default; /* on where the member is missing */
	/* The step that a person must take before the agent runs the hook, or NULL. Until then setup must not call the hook
	 * active. */
	const char *until_active;
};

extern const struct agent agents[]; /* ends with name == NULL */
#define AGENT_NAMES "claude codex gemini opencode copilot cursor vscode qwen pi continue"
#define AGENT_HOOK_NAMES "claude codex gemini cursor vscode"

const struct agent *agent_find(const char *name); /* NULL: unknown */

/* One word for a POSIX shell, in quotes. NULL: out of memory. The caller frees. */
char *agent_quote(const char *text);
/* The hook as the agent calls it: the line exits with 2, which blocks the call, whatever happens to airlock (missing,
 * crashed). With `refuses` the hook lets the agent's own shell run nothing: for agents that cannot be told to leave it away. The other
 * function tells whether a command is such a hook, of any airlock and version. */
char *agent_command(const struct agent *a, const char *program, bool refuses);
bool agent_is_command(const struct agent *a, const char *command);

/* Where a file of its configuration is. NULL: no home directory, or out of memory. The caller frees. */
char *agent_file(const struct agent *a, const char *file);

/* The absolute path of this program, and of the shell beside it that runs bash in airlock. NULL: unknown. The caller frees. */
char *agent_program(void);
char *agent_shell(void);
