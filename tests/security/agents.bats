#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# shellcheck disable=SC2016 # what is in single quotes is for the shell inside
# What an agent must not get by itself: another project, an answer to its own question, a way around the mark.

load ../helpers

setup() {
	default_setup
	unset CLAUDE_PROJECT_DIR AIRLOCK_AGENT AIRLOCK_PROJECT
	export AIRLOCK_PERMISSION_WAIT=0 # nobody is there to answer: integration/questions.bats
	SH=$(dirname "$(readlink -f "$AIRLOCK")")/airlock-sh
}

# hook_line COMMAND: what an agent that was started in the project runs instead
hook_line() {
	run_program "$AIRLOCK" hook claude < <(python3 -c '
import json, sys
print(json.dumps({"cwd": sys.argv[2], "tool_name": "Bash", "tool_input": {"command": sys.argv[1]}}))' "$1" "$PROJECT")
	assert_status 0
	line=$(json_get hookSpecificOutput updatedInput command)
}

# typing_yes PROGRAM ARG...: at a terminal on which somebody types yes to everything, until it ends
typing_yes() {
	run_program python3 -c '
import os, pty, select, sys, time
pid, fd = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
shown, quiet, until = b"", 0, time.monotonic() + 60
while time.monotonic() < until:
    try:
        if select.select([fd], [], [], 0.3)[0]:
            shown, quiet = shown + os.read(fd, 65536), 0
            continue
        quiet += 1
        if b"llow once" in shown or quiet > 3: # what is typed before the question is thrown away
            os.write(fd, b"a\r")
    except OSError:
        break
sys.stdout.buffer.write(shown.replace(b"\r", b""))
_, status = os.waitpid(pid, 0)
sys.exit(os.waitstatus_to_exitcode(status))' "$@" </dev/null
}

# assert_denied: 125, nothing asked, and no line or option in it that would grant it
assert_denied() {
	assert_status 125
	assert_stdout_contains 'only a person can give it'
	refute_stdout_contains 'llow once'
	refute_stdout_contains '--yes'
	refute_stdout_contains '--network'
	refute_stdout_contains 'airlock run'
	assert_absent made
}

@test "an agent cannot answer its own question at a terminal" {
	each_backend own_question
}
own_question() {
	local command='echo x >made'
	# The positive control: a person at the same terminal is asked, and the same keys allow it.
	rm -f made
	typing_yes "$AIRLOCK" run --network -c "$command"
	assert_status 0
	assert_stdout_contains 'llow once'
	assert_file made x
	rm made
	typing_yes "$AIRLOCK" run --network --agent some -c "$command"
	assert_denied
	AIRLOCK_AGENT=1 typing_yes "$AIRLOCK" run --network -c "$command"
	assert_denied
	AIRLOCK_NETWORK=1 typing_yes "$SH" -c "$command"
	assert_denied
	hook_line "$command"
	AIRLOCK_NETWORK=1 typing_yes sh -c "$line"
	assert_denied
	# The same line without what needs permission runs.
	typing_yes sh -c "$line"
	assert_status 0
	assert_file made x
	# The person finds what was refused, with the line that allows it.
	run_airlock log --json
	assert_stdout_contains '"asked_by": "hook:claude"'
	run_airlock show "$(json_get runs 1 run)"
	assert_stdout_contains 'to allow     airlock run --yes --network'
}

@test "nothing removes the mark that a run is an agent's" {
	local value
	hook_line 'echo x >made'
	for value in 0 false no off 1 person; do
		AIRLOCK_NETWORK=1 AIRLOCK_AGENT=$value typing_yes sh -c "$line"
		assert_denied
		AIRLOCK_NETWORK=1 AIRLOCK_AGENT=$value typing_yes "$SH" -c 'echo x >made'
		assert_denied
		AIRLOCK_AGENT=true typing_yes "$AIRLOCK" run --network --agent "$value" -c 'echo x >made'
		assert_denied
	done
	# The positive control: what was never marked is not made an agent's by saying no.
	AIRLOCK_AGENT=0 typing_yes "$AIRLOCK" run --network -c 'echo x >made'
	assert_status 0
	assert_file made x
	for value in '' "$(printf '%0300d' 1)"; do
		run_airlock run --agent "$value" -- true
		assert_status 2
	done
}

@test "the text of a command cannot change its sandbox or its project" {
	each_backend own_text
}
own_text() {
	local command escaped=$HOME/escaped
	mkdir -p "$HOME/other"
	for command in \
		"AIRLOCK_AGENT=0 AIRLOCK_YES=1 AIRLOCK_PROJECT=/ '$AIRLOCK' run --no-sandbox --yes -p / -- sh -c 'echo x >$escaped'" \
		"export AIRLOCK_NO_SANDBOX=1 AIRLOCK_YES=1; '$AIRLOCK' run -- sh -c 'echo x >$escaped'" \
		"cd ../other && echo x >escaped; echo x >$escaped" \
		"true' -p / --yes --no-sandbox; echo x >$escaped; '" \
		$'true\n--yes\n-p /\necho x >'"$escaped" \
		'$(echo x >'"$escaped)" '`echo x >'"$escaped\`" "\"; echo x >$escaped; \""; do
		hook_line "echo inside >control; $command"
		rm -f control
		run_program sh -c "$line" </dev/null
		assert_absent "$escaped"
		assert_absent "$HOME/other/escaped"
		# The positive control: the first part of the very same command did its work.
		case $command in true\'* | \"*) continue ;; esac # no shell can read those
		assert_file control inside
	done
}

@test "a directory that the model chose is where it runs, not what it may change" {
	each_backend other_directory
}
other_directory() {
	local dir
	mkdir -p "$HOME/other/.git" "$HOME/plain" "$HOME/.local/bin" "$HOME/.config/autostart"
	hook_line "pwd -P; echo x >made; echo y >'$PROJECT/made'"
	for dir in "$HOME/other" "$HOME/plain" "$HOME/.local/bin" "$HOME/.config/autostart" "$HOME" /tmp; do
		rm -f made
		run_program sh -c "cd '$dir' && $line" </dev/null
		[ "$dir" = /tmp ] || assert_absent "$dir/made"
		[ "$dir" != /tmp ] || assert_absent /tmp/made
		assert_file "$PROJECT/made" y # it ran, and the project was the agent's
	done
}

@test "airlock-sh does not turn an unclaimed directory into a project" {
	each_backend nobodys
}
nobodys() {
	local dir
	mkdir -p "$HOME/.codex/.git" "$HOME/.local/bin" "$HOME/.config/autostart/.git"
	for dir in "$HOME/.codex" "$HOME/.local/bin" "$HOME/.config/autostart" "$HOME"; do
		cd "$dir" || return
		run_program "$SH" -c 'echo x >made' </dev/null
		assert_status 125
		assert_absent made
		refute_stderr_contains ' -p'
		# The positive control: the same directory, with the project named by whoever started the agent.
		rm -f "$PROJECT/made"
		AIRLOCK_PROJECT=$PROJECT run_program "$SH" -c "echo x >made; echo y >'$PROJECT/made'" </dev/null
		assert_absent made
		assert_file "$PROJECT/made" y
		cd "$PROJECT" || return
	done
	run_program "$SH" -c 'echo z >made' </dev/null
	assert_status 0
	assert_file made z
}

@test "an agent cannot apply changes that wait for a person" {
	local run
	run_airlock run --hold --json -c 'echo x >made'
	run=$(json_get run)
	AIRLOCK_AGENT=1 run_airlock apply "$run"
	assert_status 125
	assert_absent made
	AIRLOCK_AGENT=1 typing_yes "$AIRLOCK" review "$run"
	assert_status 125
	assert_absent made
	run_airlock apply "$run"
	assert_status 0
	assert_file made x
	# What is held after an agent's run is told without the line that applies it.
	AIRLOCK_AGENT=1 run_airlock run -c 'mkdir -p .git/hooks; echo x >.git/hooks/pre-commit'
	assert_status 0
	assert_stderr_contains 'held for a person'
	refute_stderr_contains 'airlock apply'
	run_airlock run -c 'mkdir -p .git/hooks; echo y >.git/hooks/pre-commit'
	assert_stderr_contains 'airlock apply'
}

# answers_for_person ARG...: refused to an agent without a line that would do it; a person's own call gets past that
answers_for_person() {
	AIRLOCK_AGENT=1 run_airlock "$@"
	assert_status 125
	assert_stderr_contains 'only a person may'
	refute_stderr_contains 'airlock '"$1"
	refute_stderr_contains AIRLOCK_AGENT
	AIRLOCK_AGENT=0 run_airlock "$@"
	refute_stderr_contains 'only a person may'
}

@test "an agent cannot answer a question in the person's place" {
	local run
	mkdir -p "$HOME/outside"
	ln -s "$HOME/outside" link
	echo 'default_profile = "permissive"' | sed '1i [sandbox]' >.airlock.toml
	answers_for_person trust
	assert_stdout_contains 'trusted as it is now'
	answers_for_person project link link
	assert_stdout_contains 'allowed'
	answers_for_person project unlink link
	assert_stdout_contains 'denied'
	answers_for_person project add
	assert_status 0
	answers_for_person project remove
	assert_status 0
	answers_for_person permissions revoke 1
	answers_for_person permissions clear
	answers_for_person setup claude
	assert_status 0
	[ -e "$HOME/.claude/settings.json" ]
	answers_for_person setup claude --undo
	assert_status 0
	answers_for_person playground clear --yes
	assert_status 0
	run_airlock run --hold --json -c 'echo x >made'
	run=$(json_get run)
	answers_for_person apply --yes "$run"
	assert_file made x
	run_airlock run --hold --json -c 'echo y >made'
	run=$(json_get run)
	echo mine >made
	answers_for_person apply --force "$run"
	assert_file made y
	echo mine >made
	answers_for_person undo --force "$run"
	AIRLOCK_YES=1 AIRLOCK_AGENT=some run_airlock apply "$run" # the flag's variable is the flag
	assert_status 125
	# What only shows something is no answer, and neither is a value that says no.
	for command in 'permissions list' 'project links' 'setup claude --print' 'project list' 'config path' 'log'; do
		# shellcheck disable=SC2086 # words
		AIRLOCK_AGENT=1 run_airlock $command
		refute_stderr_contains 'only a person may'
	done
}

@test "an airlock started by an agent's command counts as the agent's" {
	each_backend started_inside
	# Without a sandbox, which a person allowed, it would find the person's own state.
	run_airlock run --agent some --no-sandbox --yes --changes direct -c "'$AIRLOCK' trust; AIRLOCK_AGENT=0 env | grep AIRLOCK"
	assert_stderr_contains 'only a person may'
	run_airlock run --no-sandbox --yes --changes direct -c "'$AIRLOCK' trust"
	refute_stderr_contains 'only a person may'
}
started_inside() {
	run_airlock run --agent some --env AIRLOCK_AGENT=0 -c 'echo "marked: ${AIRLOCK_AGENT-no}"'
	assert_stdout 'marked: 1'
	run_program "$SH" -c 'echo "marked: ${AIRLOCK_AGENT-no}"' </dev/null
	assert_stdout 'marked: 1'
	run_airlock run -c 'echo "marked: ${AIRLOCK_AGENT-no}"'
	assert_stdout 'marked: no'
}
