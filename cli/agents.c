/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "agents.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HOOK(file)                                                                                                     \
	{                                                                                                              \
		file, AGENT_EDIT_HOOK, NULL, NULL                                                                      \
	}
#define SERVER "{\"command\": \"@AIRLOCK@\", \"args\": [\"mcp\"]}"

/* Without its shell opencode takes another. */
#define OPENCODE_GUARD                                                                                                 \
	"// Written by airlock setup opencode: blocks commands when airlock is not there.\n"                           \
	"import { accessSync, constants } from \"node:fs\"\n\n"                                                        \
	"export const Airlock = async () => ({\n"                                                                      \
	"  \"tool.execute.before\": async (input) => {\n"                                                              \
	"    if (input.tool === \"bash\") accessSync(\"@SHELL@\", constants.X_OK)\n"                                   \
	"  },\n"                                                                                                       \
	"})\n"

const struct agent agents[] = {
	{.name = "claude",
	 .title = "Claude Code",
	 .tools = "Bash",
	 .answer = AGENT_UPDATED_INPUT,
	 .event = "PreToolUse",
	 .start_variable = "CLAUDE_PROJECT_DIR",
	 .shell_variable = "CLAUDE_CODE_SHELL",
	 .dir_variable = "CLAUDE_CONFIG_DIR",
	 .dir = ".claude",
	 .edits = {HOOK("settings.json"), {"settings.json", AGENT_EDIT_MEMBER, "env/CLAUDE_CODE_SHELL", "\"@SHELL@\""}},
	 .mcp = {{"~/.claude.json", AGENT_EDIT_MEMBER, "mcpServers/airlock", SERVER},
		 {"settings.json", AGENT_EDIT_ITEM, "permissions/deny", "\"Bash\""}},
	 .entry = AGENT_ENTRY_NESTED,
	 .matcher = "Bash",
	 .sandbox_file = "settings.json",
	 .sandbox_member = "sandbox/enabled",
	 .sandbox_off = "false"},
	{.name = "codex",
	 .title = "Codex",
	 .tools = "Bash",
	 .answer = AGENT_UPDATED_INPUT,
	 .event = "PreToolUse",
	 .start = AGENT_START_OF_HOOK,
	 .dir_variable = "CODEX_HOME",
	 .dir = ".codex",
	 .edits = {HOOK("hooks.json")},
	 .mcp = {{"config.toml", AGENT_EDIT_LINES, "[features]", "shell_tool = false\nunified_exec = false\n"},
		 {"config.toml", AGENT_EDIT_LINES, "[mcp_servers.airlock]",
		  "command = \"@AIRLOCK@\"\nargs = [\"mcp\"]\n"}},
	 .entry = AGENT_ENTRY_NESTED,
	 .matcher = "Bash",
	 .shown_tools = "Bash",
	 .patch_option = "--codex-run-as-apply-patch",
	 .sandbox_file = "config.toml",
	 .sandbox_member = "sandbox_mode",
	 .sandbox_off = "\"danger-full-access\"",
	 .is_sandbox_default = true,
	 .until_active =
		 "not active until you trust the hook: type /hooks in Codex; until then commands run without airlock"},
	{.name = "gemini",
	 .title = "Gemini CLI",
	 .tools = "run_shell_command",
	 .answer = AGENT_TOOL_INPUT,
	 .event = "BeforeTool",
	 .start_variable = "GEMINI_PROJECT_DIR",
	 .dir = ".gemini",
	 .edits = {HOOK("settings.json")},
	 .mcp = {{"settings.json", AGENT_EDIT_MEMBER, "mcpServers/airlock", SERVER},
		 {"settings.json", AGENT_EDIT_ITEM, "tools/exclude", "\"run_shell_command\""}},
	 .entry = AGENT_ENTRY_NESTED,
	 .matcher = "run_shell_command",
	 .shown_tools = "run_shell_command",
	 .sandbox_file = "settings.json",
	 .sandbox_member = "tools/sandbox",
	 .sandbox_off = "false"},
	{.name = "opencode",
	 .title = "opencode",
	 .dir_variable = "OPENCODE_CONFIG_DIR",
	 .dir = ".config/opencode",
	 .edits = {{"opencode.json", AGENT_EDIT_MEMBER, "shell", "\"@SHELL@\""},
		   {"plugin/airlock.js", AGENT_EDIT_FILE, NULL, OPENCODE_GUARD}},
	 .mcp = {{"opencode.json", AGENT_EDIT_MEMBER, "mcp/airlock",
		  "{\"type\": \"local\", \"command\": [\"@AIRLOCK@\", \"mcp\"]}"},
		 {"opencode.json", AGENT_EDIT_MEMBER, "tools/bash", "false"}}},
	{.name = "copilot",
	 .title = "GitHub Copilot CLI",
	 .hook = "vscode",
	 .event = "PreToolUse",
	 .dir = ".copilot",
	 .edits = {HOOK("hooks/airlock.json")},
	 .mcp = {{"mcp-config.json", AGENT_EDIT_MEMBER, "mcpServers/airlock",
		  "{\"type\": \"local\", \"command\": \"@AIRLOCK@\", \"args\": [\"mcp\"], \"tools\": [\"*\"]}"},
		 HOOK("hooks/airlock.json")},
	 .entry = AGENT_ENTRY_TYPED,
	 .version = 1},
	{.name = "cursor",
	 .title = "Cursor",
	 .tools = "Shell",
	 .answer = AGENT_FLAT,
	 .event = "preToolUse",
	 .start = AGENT_START_ROOTS,
	 .start_variable = "CURSOR_PROJECT_DIR",
	 .dir = ".cursor",
	 .edits = {HOOK("hooks.json")},
	 .mcp = {{"mcp.json", AGENT_EDIT_MEMBER, "mcpServers/airlock", SERVER}, HOOK("hooks.json")},
	 .entry = AGENT_ENTRY_COMMAND,
	 .matcher = "Shell",
	 .version = 1,
	 .is_no_shell_line = true},
	{.name = "vscode",
	 .title = "Visual Studio Code",
	 .tools = "run_in_terminal runInTerminal bash Bash",
	 .is_allow_final = true,
	 .shown_tools = "bash Bash", /* Copilot's; a terminal of the editor lives on */
	 .answer = AGENT_UPDATED_INPUT,
	 .event = "PreToolUse",
	 .start_variable = "COPILOT_PROJECT_DIR",
	 .dir = ".copilot",
	 .edits = {HOOK("hooks/airlock.json")},
	 .mcp = {{"~/.config/Code/User/mcp.json", AGENT_EDIT_MEMBER, "servers/airlock",
		  "{\"type\": \"stdio\", \"command\": \"@AIRLOCK@\", \"args\": [\"mcp\"]}"},
		 HOOK("hooks/airlock.json")},
	 .entry = AGENT_ENTRY_TYPED,
	 .version = 1},
	{.name = "qwen",
	 .title = "Qwen Code",
	 .dir = ".qwen",
	 .no_way =
		 "it runs the command that the model wrote, whatever its hook answers, and has no setting for its shell",
	 .mcp = {{"settings.json", AGENT_EDIT_MEMBER, "mcpServers/airlock", SERVER},
		 {"settings.json", AGENT_EDIT_ITEM, "permissions/deny", "\"run_shell_command\""},
		 {"settings.json", AGENT_EDIT_ITEM, "permissions/deny", "\"monitor\""}}},
	{.name = "pi",
	 .title = "pi",
	 .dir_variable = "PI_CODING_AGENT_DIR",
	 .dir = ".pi/agent",
	 .edits = {{"settings.json", AGENT_EDIT_MEMBER, "shellPath", "\"@SHELL@\""}},
	 .no_mcp = "it has no MCP"},
	{.name = "continue",
	 .title = "Continue CLI",
	 .dir = ".continue",
	 .no_way =
		 "it calls no hook when it runs without a terminal, and takes its shell from the variable SHELL only; its option --auto offers its own shell again",
	 .mcp = {{"config.yaml", AGENT_EDIT_LINES,
		  "mcpServers:", "  - name: airlock\n    command: \"@AIRLOCK@\"\n    args: [\"mcp\"]\n",
		  "name: mine\nversion: 0.0.1\nschema: v1\n"},
		 {"permissions.yaml", AGENT_EDIT_LINES, "exclude:", "  - Bash\n"}}},
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

/* An airlock that hangs must not wait until the agent loses patience and goes on without it. */
#ifdef __linux__
#define PATIENCE "timeout -k 1 25 "
#else
#define PATIENCE "" /* other systems have no such program */
#endif
#define OR_BLOCK " || exit 2"

#define REFUSES "--mcp "

char *agent_command(const struct agent *a, const char *program, bool refuses)
{
	char *word = is_plain(program) ? strdup(program) : agent_quote(program), *command = NULL;
	const char *before = a->is_no_shell_line ? "" : PATIENCE, *after = a->is_no_shell_line ? "" : OR_BLOCK;
	if (word && asprintf(&command, "%s%s hook %s%s%s", before, word, refuses ? REFUSES : "",
			     a->hook ? a->hook : a->name, after) < 0)
		command = NULL;
	free(word);
	return command;
}

/* "…/airlock hook NAME || exit 2", with or without quotes around the program and the end that blocks. */
bool agent_is_command(const struct agent *a, const char *command)
{
	static const char *const forms[] = {"airlock hook ", "airlock' hook ", "airlock hook " REFUSES,
					    "airlock' hook " REFUSES};
	const char *hook = a->hook ? a->hook : a->name;
	size_t len = strlen(command), name = strlen(hook), end = sizeof OR_BLOCK - 1;
	if (len > end && strcmp(command + len - end, OR_BLOCK) == 0)
		len -= end;
	if (len < name || strncmp(command + len - name, hook, name) != 0)
		return false;
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		size_t n = strlen(forms[i]);
		if (len < n + name || strncmp(command + len - name - n, forms[i], n) != 0)
			continue;
		const char *start = command + len - name - n;
		return start == command || strchr("/' ", start[-1]);
	}
	return false;
}

char *agent_file(const struct agent *a, const char *file)
{
	const char *dir = a->dir_variable ? getenv(a->dir_variable) : NULL, *home = getenv("HOME");
	bool in_home = strncmp(file, "~/", 2) == 0;
	char *path = NULL;
	int n = -1;
	if (dir && *dir == '/')
		n = asprintf(&path, "%s/%s", dir, in_home ? file + 2 : file);
	else if (home && *home == '/')
		n = in_home ? asprintf(&path, "%s/%s", home, file + 2)
			    : asprintf(&path, "%s/%s/%s", home, a->dir, file);
	return n < 0 ? NULL : path;
}

char *agent_program(void)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof path);
	return n > 0 && n < (ssize_t)sizeof path ? strndup(path, (size_t)n) : NULL;
}

char *agent_shell(void)
{
	char *program = agent_program(), *slash = program ? strrchr(program, '/') : NULL, *shell = NULL;
	if (slash && asprintf(&shell, "%.*s/airlock-bash", (int)(slash - program), program) < 0)
		shell = NULL;
	free(program);
	return shell;
}
