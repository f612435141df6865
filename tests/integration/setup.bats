#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# Agents' configurations: the hook put in, the rest left as it is, and taken out again.

load ../helpers

ASSETS=$BATS_TEST_DIRNAME/../assets/setup

setup() {
	default_setup
	unset CLAUDE_CONFIG_DIR CODEX_HOME OPENCODE_CONFIG_DIR PI_CODING_AGENT_DIR
	REAL=$(readlink -f "$AIRLOCK")
}

# file_of AGENT
file_of() {
	case $1 in
	claude) echo "$HOME/.claude/settings.json" ;;
	codex) echo "$HOME/.codex/hooks.json" ;;
	gemini) echo "$HOME/.gemini/settings.json" ;;
	cursor) echo "$HOME/.cursor/hooks.json" ;;
	vscode | copilot) echo "$HOME/.copilot/hooks/airlock.json" ;;
	opencode) echo "$HOME/.config/opencode/opencode.json" ;;
	qwen) echo "$HOME/.qwen/settings.json" ;;
	pi) echo "$HOME/.pi/agent/settings.json" ;;
	continue) echo "$HOME/.continue/config.yaml" ;;
	esac
}

# assert_golden FILE GOLDEN: with the path of airlock put in
assert_golden() {
	local expected
	expected=$(<"$ASSETS/$2")
	assert_file "$1" "${expected//AIRLOCK/$REAL}"
}

each_agent() {
	local agent
	for agent in claude codex gemini cursor vscode opencode copilot qwen pi continue; do
		echo "# $agent"
		"$@" "$agent"
	done
}

@test "setup creates the file, changes nothing the second time, and --undo removes it" {
	each_agent from_nothing
}
from_nothing() {
	local file
	file=$(file_of "$1")
	run_airlock setup "$1" --print
	assert_status 0
	printf '%s\n' "$stdout" >"$HOME/printed"
	[ "$1" = opencode ] || [ "$1" = continue ] || assert_golden "$HOME/printed" "$1.json" # of these two it prints two files
	assert_absent "$file"
	run_airlock setup "$1" --check
	assert_status 1
	run_airlock setup "$1"
	assert_status 0
	assert_golden "$file" "$1.json"
	run_airlock setup "$1" --check
	assert_status "$([ "$1" = codex ] && echo 1 || echo 0)" # nobody has trusted it
	[ "$(stat -c %a "$file")" = 600 ] || fail "expected mode 600"
	cp -p "$file" "$HOME/before"
	run_airlock setup "$1"
	assert_status 0
	assert_stdout_contains already
	[ "$file" -nt "$HOME/before" ] && fail "expected that nothing is written"
	assert_absent "$file.before-airlock"
	run_airlock setup "$1" --undo
	assert_status 0
	assert_absent "$file"
	run_airlock setup "$1" --undo
	assert_status 1
	run_airlock setup "$1" --check
	assert_status 1
	[ -z "$(find "$(dirname "$file")" -type f)" ] || fail "expected no file left"
}

@test "beside other settings: they stay, in their order and with their indentation" {
	local file=$HOME/.claude/settings.json
	mkdir -p "$HOME/.claude"
	cp "$ASSETS/claude-before.json" "$file"
	chmod 0644 "$file"
	run_airlock setup claude
	assert_status 0
	assert_golden "$file" claude-after.json
	[ "$(stat -c %a "$file")" = 644 ] || fail "expected that the mode stays"
	cmp "$file.before-airlock" "$ASSETS/claude-before.json"
	run_airlock setup claude --undo
	assert_status 0
	cmp "$file" "$ASSETS/claude-before.json"
	assert_absent "$file.before-airlock"
}

@test "hooks of others for the same event stay" {
	mkdir -p "$HOME/.cursor"
	echo '{"version": 1, "hooks": {"preToolUse": [{"command": "./mine.sh"}], "stop": [{"command": "x"}]}}' >"$HOME/.cursor/hooks.json"
	run_airlock setup cursor
	assert_status 0
	assert_golden "$HOME/.cursor/hooks.json" cursor-beside.json
	run_airlock setup cursor --undo
	python3 - "$HOME/.cursor/hooks.json" <<-'EOF_PYTHON'
		import json, sys
		assert json.load(open(sys.argv[1])) == {"version": 1, "hooks": {"preToolUse": [{"command": "./mine.sh"}], "stop": [{"command": "x"}]}}
	EOF_PYTHON
}

@test "an airlock that was somewhere else is replaced, not doubled" {
	mkdir -p "$HOME/.codex"
	sed "s|AIRLOCK|/old place/airlock|" "$ASSETS/codex.json" >"$HOME/.codex/hooks.json"
	sed -i "s|/old place/airlock hook|'/old place/airlock' hook|" "$HOME/.codex/hooks.json"
	run_airlock setup codex
	assert_status 0
	assert_golden "$HOME/.codex/hooks.json" codex.json
	sed -i 's/ || exit 2//; s/timeout -k 1 25 //' "$HOME/.codex/hooks.json" # as earlier versions wrote it
	run_airlock setup codex
	assert_status 0
	assert_golden "$HOME/.codex/hooks.json" codex.json
	assert_absent "$HOME/.codex/hooks.json.before-airlock"
}

@test "the agent's own variables name its configuration directory" {
	CLAUDE_CONFIG_DIR=$HOME/elsewhere run_airlock setup claude
	assert_status 0
	assert_golden "$HOME/elsewhere/settings.json" claude.json
	CODEX_HOME=$HOME/codex run_airlock setup codex
	assert_golden "$HOME/codex/hooks.json" codex.json
	assert_absent "$HOME/.claude"
}

@test "a link to where somebody keeps such files stays a link" {
	mkdir -p "$HOME/dotfiles" "$HOME/.gemini"
	echo '{}' >"$HOME/dotfiles/gemini.json"
	ln -s ../dotfiles/gemini.json "$HOME/.gemini/settings.json"
	run_airlock setup gemini
	assert_status 0
	[ -L "$HOME/.gemini/settings.json" ] || fail "expected a link"
	assert_golden "$HOME/dotfiles/gemini.json" gemini.json
}

@test "what cannot be kept as it is is refused, and nothing is changed" {
	local text
	mkdir -p "$HOME/.gemini"
	for text in $'{\n  // mine\n  "a": 1\n}' '{"a": 1,}' '[]' '"x"' '{' '{"a": 1, "a": 2}' '{"hooks": []}' \
		'{"hooks": {"BeforeTool": {}}}' '{"a": 123456789012345678901234567890}'; do
		printf '%s' "$text" >"$HOME/.gemini/settings.json"
		run_airlock setup gemini
		assert_status 125
		assert_stderr_contains 'airlock setup gemini --print shows'
		assert_file "$HOME/.gemini/settings.json" "$text"
		run_airlock setup gemini --print
		assert_status 0
		assert_stderr_contains 'by hand'
		printf '%s\n' "$stdout" >"$HOME/printed"
		assert_golden "$HOME/printed" gemini.json
	done
	rm "$HOME/.gemini/settings.json"
	mkdir "$HOME/.gemini/settings.json"
	run_airlock setup gemini
	assert_status 125
}

@test "wrong arguments are wrong usage" {
	run_airlock setup nobody
	assert_status 2
	assert_stderr_contains 'expected one of: claude codex gemini opencode copilot cursor vscode qwen pi continue'
	run_airlock setup
	assert_status 2
	run_airlock setup claude --print --undo
	assert_status 2
	HOME='' run_airlock setup claude
	assert_status 125
}

@test "the installed hook line is answered by the hook" {
	run_airlock setup claude
	run_program sh -c "$(python3 -c '
import json, sys
print(json.load(open(sys.argv[1]))["hooks"]["PreToolUse"][0]["hooks"][0]["command"])' "$HOME/.claude/settings.json")" \
		< <(sed "s|PROJECT|$PROJECT|" "$BATS_TEST_DIRNAME/../assets/hook/claude-bash.json")
	assert_status 0
	assert_json allow hookSpecificOutput permissionDecision
}

# hook_line AGENT: the line that setup wrote
hook_line() {
	python3 -c '
import json, sys
def find(value):
    if isinstance(value, dict):
        return value.get("command") or next(filter(None, map(find, value.values())), None)
    return next(filter(None, map(find, value)), None) if isinstance(value, list) else None
print(find(json.load(open(sys.argv[1]))))' "$(file_of "$1")"
}

@test "the hook's line blocks when airlock is missing, not executable, or crashes" {
	local agent line copy=$HOME/bin/airlock
	mkdir -p "$HOME/bin"
	cp "$REAL" "$copy"
	for agent in claude codex gemini vscode; do
		cp "$REAL" "$copy"
		run_program "$copy" setup "$agent"
		assert_status 0
		line=$(hook_line "$agent")
		[ "$line" = "timeout -k 1 25 $copy hook $agent || exit 2" ] || fail "$line"
		# The positive control: the same line answers when airlock is there.
		run_program sh -c "$line" <<<'{"tool_name": "Other", "tool_input": {}}'
		assert_status 0
		assert_stdout '{}'
		chmod -x "$copy"
		run_program sh -c "$line" <<<'{"tool_name": "Other", "tool_input": {}}'
		assert_status 2
		rm "$copy"
		run_program sh -c "$line" <<<'{"tool_name": "Other", "tool_input": {}}'
		assert_status 2
		printf '#!/bin/sh\nkill -SEGV $$\n' >"$copy"
		chmod +x "$copy"
		run_program sh -c "$line" <<<'{"tool_name": "Other", "tool_input": {}}'
		assert_status 2
		rm "$copy"
	done
	run_airlock setup cursor
	grep -q '"failClosed": true' "$(file_of cursor)"
}

@test "setup does not call an inactive hook active" {
	local agent
	for agent in claude codex gemini cursor vscode; do
		run_airlock setup "$agent"
		assert_status 0
		[[ $stdout != *'run in airlock'* ]] || fail "$stdout"
	done
	run_airlock setup codex
	assert_stdout_contains 'not active until you trust the hook'
}

# undo_gives_back AGENT BYTES...
undo_gives_back() {
	local agent=$1 file bytes
	file=$(file_of "$agent")
	mkdir -p "$(dirname "$file")"
	shift
	for bytes in "$@"; do
		printf '%b' "$bytes" >"$file"
		cp "$file" "$HOME/before"
		run_airlock setup "$agent"
		assert_status 0
		cmp -s "$file" "$HOME/before" && fail "$agent: nothing was added to $bytes"
		run_airlock setup "$agent" --undo
		assert_status 0
		cmp "$file" "$HOME/before"
		assert_absent "$file.before-airlock"
	done
	rm "$file"
}

@test "--undo gives back the very bytes" {
	for agent in claude codex gemini cursor opencode qwen pi; do
		undo_gives_back "$agent" '{"b":1.0,  "a": [ 1,2 ]}' '{\r\n\t"a": 1\r\n}\r\n' '' '\n\n' '{}' '{"a": "\\u00e9\\/"}\n\n'
	done
	undo_gives_back continue '' 'name: x\nversion: 1' 'name: x\r\nmcpServers:\r\n- name: y\r\n  command: z\r\n' '# mine\n\n'
}

@test "--undo of a file that somebody edited since removes only what is airlock's, and says so" {
	local file=$HOME/.claude/settings.json
	mkdir -p "$HOME/.claude"
	echo '{"a": 1}' >"$file"
	run_airlock setup claude
	sed -i 's/"a": 1/"a": 2/' "$file"
	run_airlock setup claude --undo
	assert_status 0
	assert_stdout_contains "edited since setup, so only airlock's own lines were removed"
	[ "$(tr -d ' \n' <"$file")" = '{"a":2}' ] || fail "$(<"$file")"
	mkdir -p "$HOME/.codex"
	printf '[features]\nx = true\n[profile]\ny = 1' >"$HOME/.codex/config.toml"
	run_airlock setup codex --mcp
	assert_status 0
	echo '# mine' >>"$HOME/.codex/config.toml"
	run_airlock setup codex --mcp --undo
	assert_status 0
	assert_file "$HOME/.codex/config.toml" $'[features]\nx = true\n[profile]\ny = 1\n# mine'
}

@test "--mcp gives the agent airlock's tools and takes its own shell away" {
	for agent in claude codex gemini opencode copilot cursor vscode qwen continue; do
		[ "$agent" != vscode ] || run_airlock setup copilot --mcp --undo # the same hook
		run_airlock setup "$agent" --mcp --check
		assert_status 1
		run_airlock setup "$agent" --mcp
		assert_status 0
		run_airlock setup "$agent" --mcp --check
		assert_status 0
	done
	grep -q '"deny": \[' "$HOME/.claude/settings.json"
	[ "$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["mcpServers"]["airlock"]["args"])' "$HOME/.claude.json")" = "['mcp']" ]
	python3 - "$HOME/.codex/config.toml" "$REAL" <<-'EOF_PYTHON'
		import sys, tomllib
		data = tomllib.load(open(sys.argv[1], "rb"))
		assert data["features"] == {"shell_tool": False, "unified_exec": False}, data
		assert data["mcp_servers"]["airlock"] == {"command": sys.argv[2], "args": ["mcp"]}, data
	EOF_PYTHON
	grep -q '"servers"' "$HOME/.config/Code/User/mcp.json"
	grep -q '"mcpServers"' "$HOME/.cursor/mcp.json"
	run_airlock setup pi --mcp
	assert_status 125
	assert_stderr_contains 'cannot be left with'
}

@test "where an agent's shell cannot be switched off, --mcp has a hook that refuses it" {
	local agent line
	for agent in copilot cursor vscode; do
		run_airlock setup "$agent"
		run_airlock setup "$agent" --mcp # takes the place of the other
		assert_status 0
		run_airlock setup "$agent" --check
		assert_status 1
		line=$(grep -o '"command": "[^"]*hook[^"]*"' "$(file_of "$agent")")
		[[ $line == *"hook --mcp "* && $(wc -l <<<"$line") = 1 ]] || fail "$line"
		line=${line#*: \"}
		run_program sh -c "${line%\"}" <<<'{"tool_name": "'"$([ $agent = cursor ] && echo Shell || echo bash)"'", "tool_input": {"command": "id"}}'
		assert_status 0
		assert_stdout_contains '"deny"'
		assert_stdout_contains run_command
		run_program sh -c "${line%\"}" <<<'{"tool_name": "view", "tool_input": {"path": "x"}}'
		assert_stdout '{}'
		run_airlock setup "$agent" --mcp --undo
		assert_status 0
		assert_absent "$(file_of "$agent")"
	done
	for agent in claude codex; do
		run_program "$AIRLOCK" hook --mcp "$agent" <<<'{"tool_name": "Bash", "tool_input": {"command": "id"}}'
		assert_json deny hookSpecificOutput permissionDecision
	done
	run_program "$AIRLOCK" hook --mcp gemini <<<'{"tool_name": "run_shell_command", "tool_input": {"command": "id"}}'
	assert_json deny decision
	run_program "$AIRLOCK" hook --mcp vscode <<<'{"toolName": "bash", "toolArgs": "{}"}'
	assert_json deny permissionDecision
}

@test "--check says why commands would not go through airlock" {
	run_airlock setup claude
	run_airlock setup claude --check
	assert_status 0
	assert_stdout_contains 'commands go through airlock'
	python3 - "$HOME/.claude/settings.json" <<-'EOF_PYTHON'
		import json, sys
		data = json.load(open(sys.argv[1]))
		data["disableAllHooks"] = True
		json.dump(data, open(sys.argv[1], "w"), indent=2)
	EOF_PYTHON
	run_airlock setup claude --check
	assert_status 1
	assert_stdout_contains disableAllHooks
	run_airlock setup codex
	run_airlock setup codex --check
	assert_status 1
	assert_stdout_contains 'trust the hook'
	mkdir -p "$HOME/bin"
	cp "$REAL" "$HOME/bin/airlock"
	run_program "$HOME/bin/airlock" setup pi # without a shell beside it
	run_program "$HOME/bin/airlock" setup pi --check
	assert_status 1
	assert_stdout_contains 'airlock-bash cannot be executed'
}

@test "setup and --check say when the agent's own sandbox is in the way" {
	local text
	mkdir -p "$HOME/.codex" "$HOME/.claude" "$HOME/.gemini"
	for text in '' 'sandbox_mode = "workspace-write"' "model = 'x'\n  sandbox_mode='read-only' # why" '[x]\nsandbox_mode = "danger-full-access"'; do
		printf '%b' "$text" >"$HOME/.codex/config.toml"
		run_airlock setup codex
		assert_stdout_contains "set sandbox_mode = \"danger-full-access\" in $HOME/.codex/config.toml"
		run_airlock setup codex --undo
		run_airlock setup codex --mcp # servers run outside of it
		[[ $stdout != *'own sandbox'* ]] || fail "$stdout"
		run_airlock setup codex --mcp --undo
	done
	for text in 'sandbox_mode = "danger-full-access"' "x = 1\r\nsandbox_mode='danger-full-access'  # mine\r\n"; do
		printf '%b' "$text" >"$HOME/.codex/config.toml"
		run_airlock setup codex
		[[ $stdout != *'own sandbox'* ]] || fail "$stdout"
	done
	echo '{"sandbox": {"enabled": true}}' >"$HOME/.claude/settings.json"
	run_airlock setup claude
	assert_stdout_contains "set sandbox/enabled to false in $HOME/.claude/settings.json"
	run_airlock setup claude --check
	assert_status 1
	assert_stdout_contains 'commands fail: its own sandbox is on'
	echo '{"tools": {"sandbox": "docker"}}' >"$HOME/.gemini/settings.json"
	run_airlock setup gemini
	assert_stdout_contains 'set tools/sandbox to false'
	echo '{"tools": {"sandbox": false}}' >"$HOME/.gemini/settings.json"
	run_airlock setup gemini
	[[ $stdout != *'own sandbox'* ]] || fail "$stdout"
}

@test "in the sandbox of an agent a failure is one line, without advice about the machine" {
	CODEX_SANDBOX_NETWORK_DISABLED=1 run_airlock run --agent hook:codex --end-with 4194999 -c 'touch ran'
	assert_status 125
	assert_stderr 'airlock: nothing ran: Codex has put this command into its own sandbox, in which airlock cannot make one; a person must switch one of the two off'
	assert_absent ran
	# Another mistake is told as such, and what works works.
	CODEX_SANDBOX_NETWORK_DISABLED=1 run_airlock run --end-with x -c 'touch ran'
	assert_status 2
	assert_stderr_contains 'no number of a process'
	CODEX_SANDBOX_NETWORK_DISABLED=1 run_airlock run -c 'touch ran'
	assert_status 0
}
