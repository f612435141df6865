#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# Agents' hooks: recorded calls, each with the answer beside it, and what must block a call.

load ../helpers

ASSETS=$BATS_TEST_DIRNAME/../assets/hook

setup() {
	default_setup
	unset CLAUDE_CODE_SHELL CLAUDE_PROJECT_DIR GEMINI_PROJECT_DIR CURSOR_PROJECT_DIR COPILOT_PROJECT_DIR
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
		stdout=$(sed -E 's/ --end-with [0-9]+//' <<<"$stdout")
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
	local start="'$real' run --agent hook:cursor -p '$PROJECT' --shell bash -C . -c"
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
line = find(json.loads(sys.argv[1]))
if line.startswith("exec "):
    line, shown = line[5:].split(" || exit 127\n")
    assert shown in line, shown
words = shlex.split(line)
if words[6] == "--end-with":
    assert words[7].isdigit(), words
    del words[6:8]
assert words[1:4] == ["run", "--agent", "hook:" + sys.argv[2]], words
assert words[4] == "-p" and words[6:11] == ["--shell", "bash", "-C", ".", "-c"] and len(words) == 12, words
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

@test "with airlock as its shell Claude Code keeps the command, and its own rules see it" {
	local shell
	shell=$(dirname "$(readlink -f "$AIRLOCK")")/airlock-bash
	CLAUDE_CODE_SHELL=$shell hook claude <<<'{"permission_mode": "default", "tool_name": "Bash", "tool_input": {"command": "make"}}'
	assert_status 0
	assert_json allow hookSpecificOutput permissionDecision
	[[ $stdout != *updatedInput* ]] || fail "rewritten: $stdout"
	# A person who wants a plan is asked by the agent.
	CLAUDE_CODE_SHELL=$shell hook claude <<<'{"permission_mode": "plan", "tool_name": "Bash", "tool_input": {"command": "make"}}'
	assert_status 0
	assert_stdout '{}'
	hook claude <<<'{"permission_mode": "plan", "tool_name": "Bash", "tool_input": {"command": "make"}}'
	assert_json ask hookSpecificOutput permissionDecision
	# Another shell, or one that cannot be started, which makes the agent take another: then the command is rewritten.
	cp "$(readlink -f "$AIRLOCK")" "$HOME/airlock"
	for shell in /bin/bash "$HOME/airlock-bash"; do
		CLAUDE_CODE_SHELL=$shell run_program "$HOME/airlock" hook claude <<<'{"tool_name": "Bash", "tool_input": {"command": "make"}}'
		assert_status 0
		[[ $stdout == *updatedInput* ]] || fail "not rewritten: $stdout"
	done
	for agent in opencode qwen pi continue; do
		hook "$agent" <<<'{"tool_name": "Bash", "tool_input": {"command": "make"}}'
		assert_status 2
	done
}

@test "the command is for bash, unless a person chose another shell" {
	hook claude <<<'{"tool_name": "Bash", "tool_input": {"command": "a=(x y); echo ${a[1]} ${BASH_VERSION:+bash}"}}'
	run_program sh -c "$(json_get hookSpecificOutput updatedInput command)" </dev/null
	assert_stdout 'y bash'
	AIRLOCK_SHELL='sh' hook claude <<<'{"tool_name": "Bash", "tool_input": {"command": "make"}}'
	[[ $stdout != *--shell* ]] || fail "chose another shell: $stdout"
}

@test "commands end with the agent, which is the process above the line that setup wrote" {
	cat >"$BATS_TEST_TMPDIR/agent.py" <<-'EOF'
		import json, os, subprocess, sys
		call = {"tool_name": "Bash", "session_id": "s1", "tool_input": {"command": "sleep 300 & sleep 301"}}
		done = subprocess.run(["sh", "-c", f"timeout -k 1 25 {sys.argv[1]} hook codex || exit 2"], input=json.dumps(call),
		                      capture_output=True, text=True)
		line = json.loads(done.stdout)["hookSpecificOutput"]["updatedInput"]["command"]
		print("right" if f" --end-with {os.getpid()} " in line else line, flush=True)
		subprocess.run(["bash", "-c", line])
	EOF
	python3 "$BATS_TEST_TMPDIR/agent.py" "$AIRLOCK" >"$BATS_TEST_TMPDIR/said" 2>&1 3>&- &
	local agent=$!
	eventually has_processes 3 # the shell and both
	assert_file "$BATS_TEST_TMPDIR/said" right
	kill -KILL "$agent"
	eventually has_processes 0
}

has_processes() { # COUNT
	run_airlock session list --json
	[ "$(json_get sessions 0 processes 2>/dev/null)" = "$1" ]
}

@test "for agents whose rules read the line, the model's command follows and never runs there" {
	local command line shell
	cp "$AIRLOCK" "$BATS_TEST_TMPDIR/airlock"
	for command in 'touch ran' $'}; touch ran; {' $'\nfi; touch ran' ') ; touch ran' $'cat <<E\nE\ntouch ran' '& touch ran' "'" ; do
		for agent in codex:Bash gemini:run_shell_command; do
			run_program "$BATS_TEST_TMPDIR/airlock" hook "${agent%:*}" < <(python3 -c '
import json, sys
print(json.dumps({"tool_name": sys.argv[1], "tool_input": {"command": sys.argv[2]}}))' "${agent#*:}" "$command")
			assert_status 0
			line=$(json_get hookSpecificOutput "$([ "${agent%:*}" = codex ] && echo updatedInput || echo tool_input)" command)
			[[ $line == "exec "*" || exit 127"$'\n'"$command" ]] || fail "$line"
			mv "$BATS_TEST_TMPDIR/airlock" "$BATS_TEST_TMPDIR/gone"
			for shell in 'sh -c' 'bash -c' 'bash -lc' 'bash -ic' 'bash -O execfail -c'; do
				$shell "$line" </dev/null >/dev/null 2>&1 || true
				$shell "{ $line
				}; echo" </dev/null >/dev/null 2>&1 || true
				assert_absent ran
			done
			mv "$BATS_TEST_TMPDIR/gone" "$BATS_TEST_TMPDIR/airlock"
		done
	done
	# With airlock there it runs once, inside.
	hook codex <<<'{"tool_name": "Bash", "tool_input": {"command": "echo one; (exit 4)"}}'
	run_program bash -c "$(json_get hookSpecificOutput updatedInput command)" </dev/null
	assert_status 4
	assert_stdout one
}

@test "Codex's program for patches works in the sandbox, and patches only the project" {
	mkdir -p "$BATS_TEST_TMPDIR/programs"
	# A program of an agent that is a process and a patch program, as Codex is.
	cp "$(readlink -f "$(command -v bash)")" "$BATS_TEST_TMPDIR/programs/codex"
	cat >"$BATS_TEST_TMPDIR/agent.sh" <<-'EOF'
		"$1" hook codex <<<'{"tool_name": "Bash", "tool_input": {"command": "apply_patch <<E\npatch\nE"}}'
		:
	EOF
	run_program "$BATS_TEST_TMPDIR/programs/codex" "$BATS_TEST_TMPDIR/agent.sh" "$AIRLOCK"
	assert_status 0
	assert_stdout_contains "--ro '$BATS_TEST_TMPDIR/programs/codex' -c"
	assert_stdout_contains "--codex-run-as-apply-patch"
	hook codex <<<'{"tool_name": "Bash", "tool_input": {"command": "ls"}}'
	[[ $stdout != *--ro* ]] || fail "$stdout"
}
