/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "agents.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct agent agents[] = {
	{.name = "claude",
	 .title = "Claude Code",
	 .tools = "Bash",
	 .answer = AGENT_UPDATED_INPUT,
	 .event = "PreToolUse",
	 .start_variable = "CLAUDE_PROJECT_DIR",
	 .dir_variable = "CLAUDE_CONFIG_DIR",
	 .dir = ".claude",
	 .file = "settings.json",
	 .entry = AGENT_ENTRY_NESTED,
	 .matcher = "Bash"},
	{.name = "codex",
	 .title = "Codex",
	 .tools = "Bash",
	 .answer = AGENT_UPDATED_INPUT,
	 .event = "PreToolUse",
	 .start = AGENT_START_OF_HOOK,
	 .dir_variable = "CODEX_HOME",
	 .dir = ".codex",
	 .file = "hooks.json",
	 .entry = AGENT_ENTRY_NESTED,
	 .matcher = "Bash",
	 .until_active =
		 "not active until you trust the hook: type /hooks in Codex; until then commands run without airlock"},
	{.name = "gemini",
	 .title = "Gemini CLI",
	 .tools = "run_shell_command",
	 .answer = AGENT_TOOL_INPUT,
	 .event = "BeforeTool",
	 .start_variable = "GEMINI_PROJECT_DIR",
	 .dir = ".gemini",
	 .file = "settings.json",
	 .entry = AGENT_ENTRY_NESTED,
	 .matcher = "run_shell_command"},
	{.name = "cursor",
	 .title = "Cursor",
	 .tools = "Shell",
	 .answer = AGENT_FLAT,
	 .event = "preToolUse",
	 .start = AGENT_START_ROOTS,
	 .start_variable = "CURSOR_PROJECT_DIR",
	 .dir = ".cursor",
	 .file = "hooks.json",
	 .entry = AGENT_ENTRY_COMMAND,
	 .matcher = "Shell",
	 .version = 1,
	 .is_no_shell_line = true},
	{.name = "vscode",
	 .title = "Visual Studio Code",
	 .tools = "run_in_terminal runInTerminal bash Bash",
	 .answer = AGENT_UPDATED_INPUT,
	 .event = "PreToolUse",
	 .start_variable = "COPILOT_PROJECT_DIR",
	 .dir = ".copilot/hooks",
	 .file = "airlock.json",
	 .entry = AGENT_ENTRY_TYPED,
	 .version = 1},
	{0},
};

const struct agent *agent_find(const char *name)
{
	for (const struct agent *a = agents; a->name; a++)
		if (strcmp(a->name, name) == 0)
			return a;
	return NULL;
}

char *agent_quote(const char *text)
{
	size_t len = 3;
	for (const char *c = text; *c; c++)
		len += *c == '\'' ? 4 : 1;
	char *out = malloc(len), *at = out;
	if (!out)
		return NULL;
	*at++ = '\'';
	for (const char *c = text; *c; c++) {
		if (*c == '\'') {
			memcpy(at, "'\\''", 4);
			at += 4;
		} else {
			*at++ = *c;
		}
	}
	*at++ = '\'';
	*at = '\0';
	return out;
}

static bool is_plain(const char *path)
{
	static const char safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./+-";
	return path[strspn(path, safe)] == '\0';
}

#define OR_BLOCK " || exit 2"

char *agent_command(const struct agent *a, const char *program)
{
	char *word = is_plain(program) ? strdup(program) : agent_quote(program), *command = NULL;
	if (word && asprintf(&command, "%s hook %s%s", word, a->name, a->is_no_shell_line ? "" : OR_BLOCK) < 0)
		command = NULL;
	free(word);
	return command;
}

/* "…/airlock hook NAME || exit 2", with or without quotes around the program and the end that blocks. */
bool agent_is_command(const struct agent *a, const char *command)
{
	static const char *const forms[] = {"airlock hook ", "airlock' hook "};
	size_t len = strlen(command), name = strlen(a->name), end = sizeof OR_BLOCK - 1;
	if (len > end && strcmp(command + len - end, OR_BLOCK) == 0)
		len -= end;
	if (len < name || strncmp(command + len - name, a->name, name) != 0)
		return false;
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		size_t n = strlen(forms[i]);
		if (len < n + name || strncmp(command + len - name - n, forms[i], n) != 0)
			continue;
		const char *start = command + len - name - n;
		return start == command || start[-1] == '/' || start[-1] == '\'';
	}
	return false;
}

char *agent_file(const struct agent *a)
{
	const char *dir = a->dir_variable ? getenv(a->dir_variable) : NULL, *home = getenv("HOME");
	char *path = NULL;
	int n = -1;
	if (dir && *dir == '/')
		n = asprintf(&path, "%s/%s", dir, a->file);
	else if (home && *home == '/')
		n = asprintf(&path, "%s/%s/%s", home, a->dir, a->file);
	return n < 0 ? NULL : path;
}

char *agent_program(void)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof path);
	return n > 0 && n < (ssize_t)sizeof path ? strndup(path, (size_t)n) : NULL;
}
