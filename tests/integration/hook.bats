#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# Agents' hooks: recorded calls, each with the answer beside it, and what must block a call.

load ../helpers

ASSETS=$BATS_TEST_DIRNAME/../assets/hook

setup() {
	default_setup
	unset CLAUDE_PROJECT_DIR GEMINI_PROJECT_DIR CURSOR_PROJECT_DIR COPILOT_PROJECT_DIR
}

# hook AGENT: with the call on stdin
hook() {
	run_program "$AIRLOCK" hook "$1"
}

# call_of FILE: a recorded call, as if the agent had been started in this project
call_of() {
	sed "s|PROJECT|$PROJECT|g" "$1"
}

@test "recorded tool calls get the recorded answers" {
	local call agent expected real n=0
	real=$(readlink -f "$AIRLOCK")
	for call in "$ASSETS"/*.json; do
		agent=$(basename "$call")
		hook "${agent%%-*}" < <(call_of "$call")
		assert_status 0
		assert_stderr ''
		expected=$(<"${call%.json}.answer")
		expected=${expected//AIRLOCK/$real}
		assert_stdout "${expected//PROJECT/$PROJECT}"
		n=$((n + 1))
	done
	[ "$n" -ge 9 ] || fail "expected recorded calls"
}

@test "the rewritten command runs in the sandbox, as the very command that was asked for" {
	local command=$'printf "%s|" \'a b\' "$HOME" x\\\\y; echo "it\'s"; echo x >"$HOME/outside"' line
	hook claude < <(python3 -c '
import json, sys
print(json.dumps({"tool_name": "Bash", "tool_input": {"command": sys.argv[1]}}))' "$command")
	assert_status 0
	line=$(json_get hookSpecificOutput updatedInput command)
	mkdir sub
	cd sub
	run_program sh -c "$line" </dev/null
	assert_stdout "a b|$HOME|x\\y|it's"
	assert_absent "$HOME/outside"
	hook claude <<<'{"tool_name": "Bash", "tool_input": {"command": "pwd -P"}}'
	run_program sh -c "$(json_get hookSpecificOutput updatedInput command)" </dev/null
	assert_stdout "$(pwd -P)"
}

@test "Cursor's shell event lets pass only what airlock itself has written" {
	local real
	real=$(readlink -f "$AIRLOCK")
	event() {
		hook cursor < <(python3 -c '
import json, sys
print(json.dumps({"hook_event_name": "beforeShellExecution", "command": sys.argv[1], "workspace_roots": [sys.argv[2]]}))' \
			"$1" "$PROJECT")
		assert_status 0
	}
	local start="'$real' run --agent hook:cursor -p '$PROJECT' -C . -c"
	for command in 'make' "it'\\''s" ''; do
		event "$start '$command'"
		assert_json allow permission
	done
	for command in "$start 'a'; id" "$start 'a' 'b'" "$start 'a'\\''" "${start/run/run --yes} 'a'" \
		"${start//\'/} 'a'" "$start ''\$(id)''" "x $start 'a'" "$start '" "$start a" "$start" \
		"'$real' run -C . -c 'a'" "${start/--agent hook:cursor /} 'a'" "${start/$PROJECT/$HOME} 'a'"; do
		event "$command"
		assert_json deny permission
	done
}

@test "what is not understood blocks the call: exit status 2, nothing on stdout" {
	local input n=0
	while IFS= read -r input; do
		for agent in claude codex gemini cursor vscode; do
			hook "$agent" <<<"$input"
			assert_status 2
			assert_stdout ''
			assert_stderr_contains 'airlock: airlock does not understand this tool call'
		done
		n=$((n + 1))
	done <<-'EOF_INPUTS'

		{
		[]
		null
		"Bash"
		{}
		{"tool_name": 7}
		{"tool_name": null, "tool_input": {"command": "x"}}
		{"tool_name": "x", "tool_name": "y"}
		{"tool_name": "Bash", "tool_input": {"command": "a\u0000b"}}
		{"tool_name": "Bash", "tool_input": {"command": "x"}} trailing
	EOF_INPUTS
	[ "$n" -eq 11 ] || fail "expected 11 inputs, tried $n"
	for input in '{}' '{"command": 7}' '{"command": null}' '[]' '"x"' 'null'; do
		hook claude <<<"{\"tool_name\": \"Bash\", \"tool_input\": $input}"
		assert_status 2
		assert_stdout ''
	done
}

@test "a call that is too long, too deep, or not there blocks too" {
	hook claude < <(python3 -c 'print("{\"tool_name\": \"Bash\", \"tool_input\": {\"command\": \"" + "x" * (9 << 20) + "\"}}")')
	assert_status 2
	hook claude < <(python3 -c 'print("[" * 100000)')
	assert_status 2
	hook claude </dev/null
	assert_status 2
	hook claude <&-
	assert_status 2
	call_of "$ASSETS/claude-bash.json" >call
	hook claude <call
	assert_status 0
	run_program sh -c '"$0" hook claude <call >/dev/full' "$AIRLOCK"
	assert_status 2
}

@test "an unknown agent is wrong usage" {
	hook nobody </dev/null
	assert_status 2
	assert_stderr_contains "unknown agent 'nobody'"
	run_program "$AIRLOCK" hook </dev/null
	assert_status 2
}

# project_in_answer AGENT: what -p is in the rewritten line
project_in_answer() {
	assert_status 0
	python3 -c '
import json, shlex, sys
def find(value):
    if isinstance(value, dict):
        for key in value:
            found = find(value[key])
            if found:
                return found
    return value if isinstance(value, str) and " run --agent " in value else None
words = shlex.split(find(json.loads(sys.argv[1])))
assert words[1:4] == ["run", "--agent", "hook:" + sys.argv[2]], words
assert words[4] == "-p" and words[6:9] == ["-C", ".", "-c"] and len(words) == 10, words
print(words[5])' "$stdout" "$1"
}

@test "the project is where the agent was started, whatever directory the model chose" {
	local other=$HOME/other input
	git init -q "$other" 2>/dev/null || mkdir -p "$other/.git"
	mkdir -p sub
	for field in cwd workdir working_directory dir_path directory; do
		input="{\"command\": \"make\", \"$field\": \"$other\"}"
		hook claude <<<"{\"cwd\": \"$PROJECT\", \"tool_name\": \"Bash\", \"tool_input\": $input}"
		[ "$(project_in_answer claude)" = "$PROJECT" ] || fail "claude, $field: $stdout"
		hook gemini <<<"{\"cwd\": \"$PROJECT\", \"tool_name\": \"run_shell_command\", \"tool_input\": $input}"
		[ "$(project_in_answer gemini)" = "$PROJECT" ] || fail "gemini, $field: $stdout"
		hook vscode <<<"{\"cwd\": \"$PROJECT\", \"tool_name\": \"run_in_terminal\", \"tool_input\": $input}"
		[ "$(project_in_answer vscode)" = "$PROJECT" ] || fail "vscode, $field: $stdout"
		hook cursor <<<"{\"workspace_roots\": [\"$PROJECT\"], \"cwd\": \"$other\", \"tool_name\": \"Shell\", \"tool_input\": $input}"
		[ "$(project_in_answer cursor)" = "$PROJECT" ] || fail "cursor, $field: $stdout"
	done
	# Codex tells the model's directory as its own; its hooks start where Codex did.
	hook codex <<<"{\"cwd\": \"$other\", \"tool_name\": \"Bash\", \"tool_input\": {\"command\": \"make\"}}"
	[ "$(project_in_answer codex)" = "$PROJECT" ] || fail "codex: $stdout"
	# Claude Code's directory follows the model's cd; the variable does not.
	CLAUDE_PROJECT_DIR=$PROJECT hook claude <<<"{\"cwd\": \"$other\", \"tool_name\": \"Bash\", \"tool_input\": {\"command\": \"make\"}}"
	[ "$(project_in_answer claude)" = "$PROJECT" ] || fail "claude: $stdout"
	# Of several open folders the one that the command starts in.
	hook cursor <<<"{\"workspace_roots\": [\"$PROJECT\", \"$other\"], \"cwd\": \"$other/x\", \"tool_name\": \"Shell\", \"tool_input\": {\"command\": \"make\"}}"
	[ "$(project_in_answer cursor)" = "$other" ] || fail "cursor: $stdout"
}

@test "an agent that was started where no project is gets no command through" {
	local dir
	mkdir -p "$HOME/.codex" "$HOME/.config/nvim"
	for dir in / /tmp "$HOME" "$HOME/.codex" "$HOME/.config/nvim" "$HOME/missing"; do
		hook claude <<<"{\"cwd\": \"$dir\", \"tool_name\": \"Bash\", \"tool_input\": {\"command\": \"make\"}}"
		assert_status 2
		assert_stdout ''
		assert_stderr_contains 'start the agent in the directory of a project'
		[[ $stderr != *'-p'* ]] || fail "expected no option that would grant it: $stderr"
		hook claude <<<"{\"cwd\": \"$dir\", \"tool_name\": \"Edit\", \"tool_input\": {}}"
		assert_status 0
	done
	hook claude <<<"{\"cwd\": \"$PROJECT\", \"tool_name\": \"Bash\", \"tool_input\": {\"command\": \"make\"}}"
	assert_status 0
}

@test "a call that chooses the shell or its variables is blocked" {
	local field
	for field in '"env": {"AIRLOCK_YES": "1"}' '"environment": ["BASH_ENV=/x"]' '"shell": "/tmp/bash"'; do
		hook claude <<<"{\"cwd\": \"$PROJECT\", \"tool_name\": \"Bash\", \"tool_input\": {\"command\": \"make\", $field}}"
		assert_status 2
		assert_stdout ''
	done
	hook claude <<<"{\"cwd\": \"$PROJECT\", \"tool_name\": \"Bash\", \"tool_input\": {\"command\": \"make\", \"env\": null}}"
	assert_status 0
}

@test "the commands of one of the agent's sessions are a session, and see each other's /tmp" {
	local line
	for command in 'echo x >/tmp/shared' 'cat /tmp/shared'; do
		hook claude <<<'{"session_id": "5b0c5a1e", "tool_name": "Bash", "tool_input": {"command": "'"$command"'"}}'
		assert_status 0
		line=$(json_get hookSpecificOutput updatedInput command)
		[[ $line == *' --session claude-5b0c5a1e '* ]] || fail "no session: $line"
		run_program sh -c "$line" </dev/null
		assert_status 0
	done
	assert_stdout x
	hook claude <<<'{"session_id": "x; rm -rf /", "tool_name": "Bash", "tool_input": {"command": "true"}}'
	assert_status 0
	[[ $stdout != *--session* ]] || fail "a name that is none was taken"
}
