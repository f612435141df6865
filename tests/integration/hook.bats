#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# Agents' hooks: recorded calls, each with the answer beside it, and what must block a call.

load ../helpers

ASSETS=$BATS_TEST_DIRNAME/../assets/hook

# hook AGENT: with the call on stdin
hook() {
	run_program "$AIRLOCK" hook "$1"
}

@test "recorded calls are answered as written down" {
	local call agent expected real n=0
	real=$(readlink -f "$AIRLOCK")
	for call in "$ASSETS"/*.json; do
		agent=$(basename "$call")
		hook "${agent%%-*}" <"$call"
		assert_status 0
		assert_stderr ''
		expected=$(<"${call%.json}.answer")
		assert_stdout "${expected//AIRLOCK/$real}"
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
print(json.dumps({"hook_event_name": "beforeShellExecution", "command": sys.argv[1]}))' "$1")
		assert_status 0
	}
	for command in 'make' "it'\\''s" ''; do
		event "'$real' run -C . -c '$command'"
		assert_json allow permission
	done
	for command in "'$real' run -C . -c 'a'; id" "'$real' run -C . -c 'a' 'b'" "'$real' run -C . -c 'a'\\''" \
		"'$real' run --yes -C . -c 'a'" "$real run -C . -c 'a'" "'$real' run -C . -c ''\$(id)''" \
		"x '$real' run -C . -c 'a'" "'$real' run -C . -c '"; do
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
			assert_stderr_contains 'airlock: this is no tool call airlock understands'
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
	run_program sh -c '"$0" hook claude <"$1" >/dev/full' "$AIRLOCK" "$ASSETS/claude-bash.json"
	assert_status 2
}

@test "an agent nobody knows" {
	hook nobody </dev/null
	assert_status 2
	assert_stderr_contains "airlock knows no agent 'nobody'"
	run_program "$AIRLOCK" hook </dev/null
	assert_status 2
}
