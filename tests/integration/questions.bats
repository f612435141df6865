#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# shellcheck disable=SC2034 # the assertions of helpers.bash read what finish sets
# shellcheck disable=SC2016 # what is in single quotes is for the shell inside
# Questions of agents' runs: they wait for a person in another terminal, are decided once, and nobody else decides.

load ../helpers

setup() {
	default_setup
	SH=$(dirname "$(readlink -f "$AIRLOCK")")/airlock-sh
	QUESTIONS=$XDG_STATE_HOME/airlock/questions
}

teardown() {
	if [ -n "${ASKER-}" ]; then
		kill "$ASKER" 2>/dev/null || true
		wait "$ASKER" 2>/dev/null || true
	fi
}

waits() {
	[ -n "$("$AIRLOCK" questions 2>/dev/null </dev/null)" ]
}
nothing_waits() {
	! waits
}

# begin PROGRAM ARG...: starts it in the background and waits for its question, whose id becomes $ID
begin() {
	"$@" >"$BATS_TEST_TMPDIR/asker.out" 2>"$BATS_TEST_TMPDIR/asker.err" </dev/null 3>&- &
	ASKER=$!
	eventually waits
	ID=$("$AIRLOCK" questions </dev/null | cut -d' ' -f1)
	[[ $ID =~ ^[0-9a-f]{8}$ ]] || fail "one question was expected: $ID"
}

# finish: waits for what begin started; its status, stdout and stderr are those of a run
finish() {
	RAN=(begin) RAW_STDOUT=$BATS_TEST_TMPDIR/asker.out RAW_STDERR=$BATS_TEST_TMPDIR/asker.err
	status=0
	wait "$ASKER" || status=$?
	ASKER=
	stdout=$(<"$RAW_STDOUT") stderr=$(<"$RAW_STDERR")
}

agent_run() {
	AIRLOCK_AGENT=1 begin "$AIRLOCK" run "$@"
}

# hook_line COMMAND: what an agent that was started in the project runs instead
hook_line() {
	unset CLAUDE_PROJECT_DIR
	run_program "$AIRLOCK" hook claude < <(python3 -c '
import json, sys
print(json.dumps({"cwd": sys.argv[2], "tool_name": "Bash", "tool_input": {"command": sys.argv[1]}}))' "$1" "$PROJECT")
	line=$(json_get hookSpecificOutput updatedInput command)
}

# ---- what a person answers

@test "a yes in another terminal lets the run go on, a no refuses it" {
	each_backend answered
}
answered() {
	rm -f made
	agent_run --network -c 'echo x >made'
	run_airlock questions
	assert_stdout_contains "$ID"
	assert_stdout_contains 'network'
	assert_stdout_contains "echo x >made  in $PROJECT"
	assert_absent made
	run_airlock answer "$ID" allow
	assert_status 0
	assert_stdout "question $ID: allowed"
	finish
	assert_status 0
	assert_file made x
	rm made
	agent_run --json --network -c 'echo x >made'
	run_airlock answer "$ID" deny
	assert_status 0
	finish
	assert_refused denied
	assert_json network error subject
	assert_absent made
	nothing_waits
}

@test "every way in that is marked as an agent's asks there, and never on the terminal" {
	local line
	hook_line 'echo x >made'
	for way in hook sh option; do
		rm -f made
		case $way in
		hook) AIRLOCK_NETWORK=1 begin sh -c "$line" ;;
		sh) AIRLOCK_NETWORK=1 begin "$SH" -c 'echo x >made' ;;
		option) begin "$AIRLOCK" run --agent some --network -c 'echo x >made' ;;
		esac
		run_airlock questions --json
		assert_json "$ID" questions 0 id
		case $way in
		hook) assert_json hook:claude questions 0 asked_by ;;
		sh) assert_json airlock-sh questions 0 asked_by ;;
		option) assert_json some questions 0 asked_by ;;
		esac
		run_airlock answer "$ID" allow
		assert_status 0
		finish
		assert_status 0
		assert_file made x
	done
	# At a terminal, too: nothing of the question appears there, and keys answer nothing.
	rm made
	run_program env AIRLOCK_AGENT=1 AIRLOCK_PERMISSION_WAIT=1s python3 "$BATS_TEST_DIRNAME/../at_terminal.py" \
		'waits for it' 'a\r' -- "$AIRLOCK" run --network -c 'echo x >made'
	assert_status 125
	refute_stdout_contains 'llow once'
	assert_absent made
	# The control: a person at a terminal is asked there.
	run_program python3 "$BATS_TEST_DIRNAME/../at_terminal.py" 'llow once' 'a' -- "$AIRLOCK" run --network -c 'echo x >made'
	assert_status 0
	assert_file made x
}

@test "the JSON has what other programs rely on" {
	run_airlock questions --json
	assert_status 0
	assert_json '[]' questions
	mkdir "$HOME/extra"
	agent_run --network --allow-write "$HOME/extra" -p "$PROJECT" -c 'echo "x" >made'
	run_airlock questions --json
	assert_status 0
	assert_json "$ID" questions 0 id
	assert_json null questions 0 session
	assert_json 'echo "x" >made' questions 0 command
	assert_json "$PROJECT" questions 0 project
	[ "$(json 'd["questions"][0]["reasons"]')" = "['allow-write', 'network']" ]
	assert_json null questions 0 host
	assert_json null questions 0 port
	[[ $(json_get questions 0 asked) =~ ^20..-..-..T..:..:..\..*Z$ ]]
	[[ $(json_get questions 0 question) == *"Run command with network access:"* ]]
	run_airlock answer --json "$ID" deny
	assert_status 0
	assert_json deny answer
	finish
	assert_status 125
}

@test "a hostile or long command stays in its line" {
	local long
	long=$(printf '%0300d' 0)
	agent_run --network -c $'echo \e[2J\n\u202e x '"$long"
	run_airlock questions
	assert_status 0
	[ "$(wc -l <"$RAW_STDOUT")" -eq 1 ]
	refute_stdout_contains $'\e'
	refute_stdout_contains "$long"
	assert_stdout_contains "…  in $PROJECT"
	run_airlock questions --json
	[ "$(json 'd["questions"][0]["command"]' | wc -c)" -gt 300 ]
	run_airlock answer "$ID" deny
	finish
}

@test "what comes second is a conflict, what is unknown is not found, another word is wrong usage" {
	agent_run --network -c 'echo x >made'
	for word in maybe yes ALLOW allow_once ''; do
		run_airlock answer "$ID" "$word"
		assert_status 2
	done
	run_airlock answer "$ID"
	assert_status 2
	run_airlock answer
	assert_status 2
	run_airlock answer "$ID" allow more
	assert_status 2
	for id in 00000000 x ../x "$ID.question" "${ID%?}" last; do
		run_airlock answer "$id" allow
		assert_status 1
		run_airlock answer --json "$id" allow
		assert_status 1
		assert_json not_found error code
	done
	assert_absent made
	run_airlock answer "$ID" allow
	assert_status 0
	for word in allow deny; do
		run_airlock answer "$ID" "$word"
		assert_status 3
		assert_stderr_contains 'decided already'
	done
	finish
	assert_status 0
	assert_file made x
	run_airlock answer --json "$ID" deny
	assert_status 3
	assert_json conflict error code
}

# ---- what nobody answers

@test "a question that nobody answers is denied, recorded, and named to the person alone" {
	local started=$SECONDS
	write_config '[permission]' 'wait = "300ms"'
	AIRLOCK_AGENT=1 run_airlock run --json --network -c 'echo x >made'
	assert_refused denied
	((SECONDS - started < 20))
	[[ $(json_get error message) == *'only a person can give it'*'nobody answered in time'* ]] || fail "expected the reason"
	assert_json null error hint
	for word in '--yes' '--network' 'airlock run' 'airlock answer' allow; do refute_stdout_contains "$word"; done
	AIRLOCK_AGENT=1 run_airlock run --network -c 'echo x >made'
	assert_status 125
	for word in '--yes' '--network' 'airlock run' 'airlock answer' allow; do refute_stderr_contains "$word"; done
	assert_absent made
	run_airlock log --json
	run_airlock show "$(json_get runs 0 run)"
	assert_stdout_contains 'to allow     airlock run --yes --network'
	grep -q '"event":"asked".*"command":"echo x >made"' "$XDG_STATE_HOME/airlock/audit/audit.jsonl"
	grep -q '"event":"denied".*"by":"nobody"' "$XDG_STATE_HOME/airlock/audit/audit.jsonl"
	run_airlock log --verify
	assert_status 0
	# Too late.
	for id in "$QUESTIONS"/*.answer; do
		run_airlock answer "$(basename "$id" .answer)" allow
		assert_status 3
	done
}

@test "wait = 0 denies at once; an untrusted project may only shorten it" {
	write_config '[permission]' 'wait = 0'
	AIRLOCK_AGENT=1 run_airlock run --network -c 'echo x >made'
	assert_status 125
	refute_stderr_contains 'waits for it'
	write_config '[permission]' 'wait = "0s"'
	AIRLOCK_AGENT=1 run_airlock run --network -- true
	assert_status 125
	write_config '[permission]' 'wait = "5s"'
	printf '[permission]\nwait = "none"\n' >.airlock.toml
	run_airlock config show
	assert_stdout_contains 'permission.wait = "5s"'
	printf '[permission]\nwait = 0\n' >.airlock.toml
	AIRLOCK_AGENT=1 run_airlock run --network -- true
	assert_status 125
	refute_stderr_contains 'waits for it'
	write_config '[permission]' 'wait = "soon"'
	run_airlock run -- true
	assert_status 125
	assert_stderr_contains '"wait" must be a duration'
}

@test "a question ends with what asked it" {
	agent_run --network -c 'echo x >made'
	kill -KILL "$ASKER"
	wait "$ASKER" || true
	ASKER=
	run_airlock questions --json
	assert_json '[]' questions
	run_airlock answer "$ID" allow
	assert_status 1
	assert_absent "$QUESTIONS/$ID.question"
	assert_absent made
	# A signal that lets it end properly withdraws the question.
	agent_run --network -c 'echo x >made'
	kill -TERM "$ASKER"
	finish
	assert_status 125
	nothing_waits
	run_airlock answer "$ID" allow
	assert_status 3
	assert_absent made
}

# ---- who must not answer

@test "an agent does not answer, and the command inside finds no question" {
	TEST_BACKENDS="native bubblewrap landlock" each_backend forged_inside
}
forged_inside() {
	local backend=$AIRLOCK_BACKEND
	unset AIRLOCK_BACKEND
	rm -f made
	agent_run --network -c 'echo x >made'
	export AIRLOCK_BACKEND=$backend
	AIRLOCK_AGENT=1 run_airlock answer "$ID" allow
	assert_status 125
	assert_stderr_contains 'only a person may answer a question'
	run_airlock run --agent some -c "'$AIRLOCK' answer $ID allow"
	[ "$status" -ne 0 ]
	# As a person's command, and without the mark: the state is not there.
	run_airlock run -c "unset AIRLOCK_AGENT; '$AIRLOCK' answer $ID allow; echo \$?; '$AIRLOCK' questions; cat '$QUESTIONS/$ID.question'; ls '$QUESTIONS'; echo x >'$QUESTIONS/$ID.answer'; echo tried"
	assert_stdout_contains tried
	refute_stdout_contains "$ID.question"
	refute_stdout_contains 'allowed'
	refute_stdout_contains nonce
	assert_absent "$QUESTIONS/$ID.answer"
	run_airlock questions
	assert_stdout_contains "$ID"
	# The control: the person.
	run_airlock answer "$ID" allow
	assert_status 0
	finish
	assert_status 0
	assert_file made x
}

@test "a project that contains the state shows no question" {
	agent_run --network -c 'echo x >made'
	run_airlock run -p "$HOME" --discard -c "echo inside >'$HOME/control'; cat '$HOME/control'; cat '$QUESTIONS/'*; echo x >'$QUESTIONS/$ID.answer'"
	refute_stdout_contains nonce
	assert_absent "$QUESTIONS/$ID.answer"
	run_airlock answer "$ID" deny
	assert_status 0
	finish
	assert_absent made
}

@test "files that somebody puts there decide nothing" {
	agent_run --network -c 'echo x >made'
	local nonce
	nonce=$(grep -o '"nonce":"[0-9a-f]*"' "$QUESTIONS/$ID.question" | cut -d'"' -f4)
	[ ${#nonce} -eq 32 ]
	(umask 077 && echo "00000000000000000000000000000000 allow_once person" >"$QUESTIONS/$ID.answer")
	eventually test ! -e "$QUESTIONS/$ID.answer"
	(umask 0 && echo "$nonce allow_once person" >"$QUESTIONS/$ID.answer")
	eventually test ! -e "$QUESTIONS/$ID.answer"
	ln -s /dev/null "$QUESTIONS/$ID.answer"
	eventually test ! -L "$QUESTIONS/$ID.answer"
	grep -q '"event":"forged-answer"' "$XDG_STATE_HOME/airlock/audit/audit.jsonl"
	assert_absent made
	run_airlock questions
	assert_stdout_contains "$ID"
	# A directory that others may write to is not used at all.
	chmod 777 "$QUESTIONS"
	run_airlock answer "$ID" allow
	assert_status 125
	chmod 700 "$QUESTIONS"
	run_airlock answer "$ID" allow
	assert_status 0
	finish
	assert_status 0
	assert_file made x
}

@test "another user neither sees nor answers it" {
	is_root || skip "needs: root, to become another user"
	agent_run --network -c 'echo x >made'
	chmod 755 "$BATS_TEST_TMPDIR" "$HOME" # the directories of the questions are still private
	run_program setpriv --reuid 12345 --regid 12345 --clear-groups env HOME="$HOME" XDG_STATE_HOME="$XDG_STATE_HOME" "$AIRLOCK" answer "$ID" allow
	[ "$status" -ne 0 ]
	run_program setpriv --reuid 12345 --regid 12345 --clear-groups env HOME="$HOME" XDG_STATE_HOME="$XDG_STATE_HOME" "$AIRLOCK" questions
	refute_stdout_contains "$ID"
	# Its file does not count either, however it got there.
	local nonce
	nonce=$(grep -o '"nonce":"[0-9a-f]*"' "$QUESTIONS/$ID.question" | cut -d'"' -f4)
	echo "$nonce allow_once person" >"$QUESTIONS/.mine"
	chmod 600 "$QUESTIONS/.mine"
	chown 12345:12345 "$QUESTIONS/.mine"
	mv "$QUESTIONS/.mine" "$QUESTIONS/$ID.answer"
	eventually test ! -e "$QUESTIONS/$ID.answer"
	assert_absent made
	run_airlock answer "$ID" deny
	assert_status 0
	finish
	assert_status 125
}

# ---- links, changes

@test "a link that leads out is asked there, too; without an answer the run goes on" {
	mkdir "$HOME/out"
	ln -s "$HOME/out" link
	agent_run --json -c 'echo x >link/made'
	run_airlock questions --json
	assert_json '["link"]' questions 0 reasons
	run_airlock answer "$ID" allow
	finish
	assert_status 0
	assert_file "$HOME/out/made" x
	rm "$HOME/out/made"
	# That was for one run. Nobody answers the next one; after that it is not asked for a while.
	AIRLOCK_AGENT=1 AIRLOCK_PERMISSION_WAIT=500ms run_airlock run --json -c 'echo x >link/made; echo on'
	assert_json on stdout
	[[ $(json 'd["notes"]') == *'read-only'* ]] || fail "expected a note about the link"
	assert_absent "$HOME/out/made"
	AIRLOCK_AGENT=1 run_airlock run -c 'echo x >link/made; echo on'
	assert_stdout on
	refute_stderr_contains 'waits for it'
	assert_stderr_contains 'read-only'
	# --yes grants it for a run, project link for good.
	AIRLOCK_AGENT=1 run_airlock run --yes -c 'echo y >link/made'
	assert_file "$HOME/out/made" y
	run_airlock project link link
	assert_status 0
	AIRLOCK_AGENT=1 run_airlock run -c 'echo z >link/made'
	assert_status 0
	assert_file "$HOME/out/made" z
}

@test "a no to a link is remembered with the project" {
	mkdir "$HOME/out"
	ln -s "$HOME/out" link
	agent_run -c 'echo x >link/made; echo on'
	run_airlock answer "$ID" deny
	finish
	assert_stdout on
	assert_stderr_contains 'read-only'
	run_airlock project links
	assert_stdout_contains 'denied'
	AIRLOCK_AGENT=1 run_airlock run -c 'echo x >link/made; echo on'
	assert_stdout on
	refute_stderr_contains 'waits for it'
}

@test "an agent's apply of what the mode held asks there" {
	local run
	run_airlock run --hold --json -c 'echo x >made'
	run=$(json_get run)
	AIRLOCK_AGENT=1 begin "$AIRLOCK" apply "$run"
	run_airlock questions --json
	assert_json '["held-changes"]' questions 0 reasons
	run_airlock answer "$ID" deny
	finish
	assert_status 125
	assert_absent made
	AIRLOCK_AGENT=1 begin "$AIRLOCK" apply "$run"
	run_airlock answer "$ID" allow
	finish
	assert_status 0
	assert_file made x
}

@test "a question names the session it belongs to" {
	run_airlock session new work --hold
	assert_status 0
	agent_run --session work --network -c 'echo x >made'
	run_airlock questions --json
	assert_json work questions 0 session
	run_airlock questions
	assert_stdout_contains "in $PROJECT  session work"
	run_airlock answer "$ID" allow
	finish
	assert_status 0
	assert_absent made
	# The whole session is what a person decides about.
	AIRLOCK_AGENT=1 begin "$AIRLOCK" apply work
	run_airlock questions --json
	assert_json '["held-changes"]' questions 0 reasons
	assert_json work questions 0 session
	assert_json "$PROJECT" questions 0 project
	assert_json 'airlock apply work' questions 0 command
	run_airlock answer "$ID" allow
	finish
	assert_status 0
	assert_file made x
	grep -q '"event":"asked".*"session":"work"' "$XDG_STATE_HOME/airlock/audit/audit.jsonl"
}

# ---- watching

@test "--watch without a terminal prints a line, or an object, for each question as it comes" {
	local watcher
	"$AIRLOCK" questions --watch >"$BATS_TEST_TMPDIR/lines" </dev/null 3>&- &
	watcher=$!
	"$AIRLOCK" questions --watch --json >"$BATS_TEST_TMPDIR/objects" </dev/null 3>&- &
	watcher+=" $!"
	agent_run --network -c 'echo one'
	local first=$ID
	eventually grep -q "^$first .*echo one" "$BATS_TEST_TMPDIR/lines"
	eventually grep -q "\"$first\"" "$BATS_TEST_TMPDIR/objects"
	run_airlock answer "$ID" deny
	finish
	agent_run --network -c 'echo two'
	eventually grep -q "^$ID .*echo two" "$BATS_TEST_TMPDIR/lines"
	eventually grep -q "\"$ID\"" "$BATS_TEST_TMPDIR/objects"
	run_airlock answer "$ID" deny
	finish
	# shellcheck disable=SC2086 # two numbers
	kill $watcher
	# shellcheck disable=SC2086
	wait $watcher || true
	[ "$(wc -l <"$BATS_TEST_TMPDIR/lines")" -eq 2 ]
	[ "$(wc -l <"$BATS_TEST_TMPDIR/objects")" -eq 2 ]
	python3 -c 'import json, sys; assert [json.loads(l)["command"] for l in open(sys.argv[1])] == ["echo one", "echo two"]' "$BATS_TEST_TMPDIR/objects"
	# It ends when nobody reads any more.
	run_program timeout 20 bash -c '"$1" questions --watch | true; exit "${PIPESTATUS[0]}"' bash "$AIRLOCK"
	[ "$status" -ne 124 ]
}

# at_terminal: the Python program on stdin at a `questions --watch`; ask(COMMAND) starts an agent's run
at_terminal() {
	run_program env PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$BATS_TEST_DIRNAME/.." TERM=xterm python3 -c "
import subprocess, sys, termios, time
from pseudo_terminal import Terminal
airlock = sys.argv[1]
def ask(command, *options):
    return subprocess.Popen([airlock, 'run', '--agent', 'some', '--network', *options, '-c', command], stdin=subprocess.DEVNULL,
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
def answer(terminal, key):
    time.sleep(0.8)  # what has just come is not answered
    terminal.type(key)
with Terminal([airlock, 'questions', '--watch']) as terminal:
    terminal.expect('No question waits')
$(sed 's/^/    /')
    assert terminal.mode()[3] & termios.ICANON" "$AIRLOCK" </dev/null
	assert_status 0
}

@test "--watch on a terminal lists them, shows details, and answers by key" {
	at_terminal <<-'EOF_PYTHON'
		first = ask("echo one >one")
		terminal.expect("1 question waits")
		terminal.expect("Run command with network access: echo one >one?")
		second = ask("echo two >two")
		terminal.expect("2 questions wait")
		terminal.type("j")
		terminal.expect("Run command with network access: echo two >two?")
		terminal.type("\r")
		terminal.expect("this is 2 of 2")
		answer(terminal, "d")
		terminal.expect(": denied")
		assert second.wait() == 125
		terminal.expect("echo one >one?")
		answer(terminal, "a")
		terminal.expect("allowed")
		assert first.wait() == 0
		terminal.expect("No question waits")
		terminal.type("q")
		assert terminal.wait() == 0
	EOF_PYTHON
	assert_file one one
	assert_absent two
}

@test "--watch answers nothing by a paste, nor what has just moved under the cursor" {
	at_terminal <<-'EOF_PYTHON'
		asker = ask("echo one >one")
		terminal.expect("echo one >one?")
		answer(terminal, "aaaa")
		terminal.expect("several keys at once decide nothing")
		assert asker.poll() is None
		other = ask("echo two >two")
		terminal.expect("2 questions wait")
		asker.kill()
		asker.wait()
		terminal.expect("1 question waits")
		terminal.type("a")
		terminal.expect("the list has just changed")
		assert other.poll() is None
		answer(terminal, "d")
		assert other.wait() == 125
		terminal.type("\x03")
		assert terminal.wait() == 0
	EOF_PYTHON
	assert_absent one
	assert_absent two
}

@test "an agent's --watch answers nothing" {
	agent_run --network -c 'echo x >made'
	run_program env AIRLOCK_AGENT=1 python3 "$BATS_TEST_DIRNAME/../at_terminal.py" "$ID" 'a' '' '\x03' -- "$AIRLOCK" questions --watch
	refute_stdout_contains 'a allow'
	assert_absent made
	run_airlock answer "$ID" deny
	assert_status 0
	finish
	assert_status 125
}
