#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# Agents' configurations: the hook put in, the rest left as it is, and taken out again.

load ../helpers

ASSETS=$BATS_TEST_DIRNAME/../assets/setup

setup() {
	default_setup
	unset CLAUDE_CONFIG_DIR CODEX_HOME
	REAL=$(readlink -f "$AIRLOCK")
}

# file_of AGENT
file_of() {
	case $1 in
	claude) echo "$HOME/.claude/settings.json" ;;
	codex) echo "$HOME/.codex/hooks.json" ;;
	gemini) echo "$HOME/.gemini/settings.json" ;;
	cursor) echo "$HOME/.cursor/hooks.json" ;;
	vscode) echo "$HOME/.copilot/hooks/airlock.json" ;;
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
	for agent in claude codex gemini cursor vscode; do
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
	assert_golden "$HOME/printed" "$1.json"
	assert_absent "$file"
	run_airlock setup "$1"
	assert_status 0
	assert_golden "$file" "$1.json"
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
	cmp "$file.before-airlock" "$ASSETS/claude-before.json"
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
	sed -i 's/ || exit 2//' "$HOME/.codex/hooks.json" # as earlier versions wrote it
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
	assert_stderr_contains 'expected one of: claude codex gemini cursor vscode'
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
		[ "$line" = "$copy hook $agent || exit 2" ] || fail "$line"
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
