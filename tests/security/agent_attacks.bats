#!/usr/bin/env bats
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # run_airlock sets status, stdout and stderr
# shellcheck disable=SC2016 # what is in single quotes is for the shell inside
# A hostile model does its worst, through each way in. tests/hostile/agent.py has what it tries. The agents are toys; the real ones are
# tried by `make agents`.

load ../helpers

setup() {
	default_setup
	unset CLAUDE_PROJECT_DIR CLAUDE_CODE_SHELL
	SH=$(dirname "$(readlink -f "$AIRLOCK")")/airlock-sh
	AGENTS=$XDG_CONFIG_HOME/airlock/agents
	PROCESSES=()
	mkdir -p "$AGENTS" "$HOME/bin" "$HOME/.toy" "$HOME/.rival/sessions" "$HOME/other" "$HOME/.ssh" "$HOME/.codex/sessions" \
		"$HOME/.claude/projects/p" "$HOME/.config/fish/conf.d" "$HOME/.local/bin"
	git init -q "$HOME/other"
	for file in .ssh/id_rsa .claude/.credentials.json .claude/projects/p/t.jsonl .claude/settings.json .codex/auth.json .codex/sessions/t.jsonl \
		.rival/token .rival/sessions/t; do
		echo "secret of $file" >"$HOME/$file"
	done
	for file in .bashrc .profile .toyrc.json .toy/settings; do
		echo "mine" >"$HOME/$file"
	done
	export PATH=$HOME/bin:$PATH
	cat >"$AGENTS/toy.toml" <<-'EOF_TOML'
		program = "toy"
		[home]
		private = ["~/.toy"]
		private_files = ["~/.toyrc.json"]
		state = ["~/.toy/sessions"]
		credentials = ["~/.toy/token"]
		[env]
		keep = ["TOY_*"]
	EOF_TOML
	cat >"$AGENTS/rival.toml" <<-'EOF_TOML'
		program = "rival"
		[home]
		private = ["~/.rival"]
		state = ["~/.rival/sessions"]
		credentials = ["~/.rival/token"]
	EOF_TOML
	echo token >"$HOME/.toy/token"
	# One that it can see, to start and to break.
	cp "$(readlink -f "$AIRLOCK")" "$HOME/bin/airlock"
}

teardown() {
	for pid in "${PROCESSES[@]}"; do kill "$pid" 2>/dev/null || true; done
}

# agent NAME SCRIPT: what that toy does
agent() {
	printf '#!/bin/sh\n%s\n' "$2" >"$HOME/bin/$1"
	chmod +x "$HOME/bin/$1"
}

# The files of the home with their contents, but for the project and what airlock keeps for itself.
home_files() {
	(cd "$HOME" && find . -path ./project -prune -o -path "./.local/*/airlock" -prune -o -path ./.cache -prune -o -path ./playground -prune \
		-o -path ./.toy/sessions -prune -o -path ./.toyrc.json.new -prune -o -type f -exec cksum {} + | sort)
}

waiting() {
	QUESTION=$("$AIRLOCK" questions </dev/null 2>/dev/null | cut -d' ' -f1)
	[ -n "$QUESTION" ]
}

# A question of somebody else's run that waits for a person, and a process of the host to be killed.
begin_victims() {
	run_airlock questions
	assert_status 0
	sleep 300 3>&- &
	PROCESSES+=($!)
	write_config '[permission]' 'wait = "60s"'
	(cd "$HOME/other" && exec "$AIRLOCK" run --agent other --network -c 'touch answered') >/dev/null 2>&1 </dev/null 3>&- &
	PROCESSES+=($!)
	eventually waiting
}

# Nothing of it happened, and the person's answer still counts. That it tried, and could work in its own project, is the control.
assert_unharmed() {
	[[ $OUTPUT == *tried* ]] || fail "it did not try: $OUTPUT"
	[[ $OUTPUT != *GOT* ]] || fail "it got something: $OUTPUT"
	[ "$(home_files)" = "$BEFORE" ] || fail "the home has changed" "$(diff <(echo "$BEFORE") <(home_files))"
	for pid in "${PROCESSES[@]}"; do kill -0 "$pid" || fail "a process of the host was killed"; done
	assert_absent "$HOME/other/answered"
	assert_absent typed-by-the-model
	run_airlock answer "$QUESTION" allow
	assert_status 0
	eventually test -e "$HOME/other/answered"
	kill "${PROCESSES[0]}"
	wait "${PROCESSES[@]}" 2>/dev/null || true
	PROCESSES=()
	rm "$HOME/other/answered"
}

# attack WAY: `WAY LINE` runs that command line, and puts what it printed into OUTPUT
attack() {
	begin_victims
	cp "$BATS_TEST_DIRNAME/../hostile/agent.py" model.py
	agent toy 'exit 1'
	BEFORE=$(home_files)
	"$1" "python3 -I -S model.py '$HOME/other' '$HOME/bin/airlock' '$QUESTION' ${PROCESSES[*]}; cd '$PROJECT' && echo worked >control"
	assert_file control worked
	rm control
	assert_unharmed
}

@test "a hostile model in an agent that runs inside as a whole reaches nothing" {
	each_backend attack through_agent
}
through_agent() {
	agent toy "cat ~/.toy/token; $1"
	BEFORE=$(home_files)
	run_airlock agent toy --session "s-$AIRLOCK_BACKEND"
	assert_status 0
	assert_stdout_contains token # its own it has
	OUTPUT=$stdout
	run_airlock apply "s-$AIRLOCK_BACKEND" control
	assert_status 0
}

@test "a hostile model behind the hook reaches nothing" {
	each_backend attack through_hook
}
through_hook() {
	run_program "$AIRLOCK" hook claude < <(python3 -I -S -c '
import json, sys
print(json.dumps({"session_id": sys.argv[3], "cwd": sys.argv[2], "tool_name": "Bash", "tool_input": {"command": sys.argv[1]}}))' \
		"$1" "$PROJECT" "hook-$AIRLOCK_BACKEND")
	assert_status 0
	run_program sh -c "$(json_get hookSpecificOutput updatedInput command)" </dev/null
	assert_status 0
	OUTPUT=$stdout
}

@test "a hostile model behind airlock-sh reaches nothing" {
	each_backend attack through_shell
}
through_shell() {
	run_program "$SH" -c "$1" </dev/null
	assert_status 0
	OUTPUT=$stdout
}

@test "a hostile model with the tools of airlock mcp reaches nothing" {
	each_backend attack through_mcp
}
# Its own arguments too: directories that it may not work in, files outside, changes that wait for a person.
through_mcp() {
	AIRLOCK_PERMISSION_WAIT=0 run_program env PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$BATS_TEST_DIRNAME/.." python3 -c '
import os, sys, types
from pathlib import Path
from mcp_client import Client, text_of
place = types.SimpleNamespace(project=Path.cwd(), home=Path.home(), env=dict(os.environ))
with Client(place) as client:
    client.initialize()
    print(client.run(sys.argv[1])["structuredContent"]["stdout"])
    for directory in "~/other", "~/.claude", "~/.local/bin", "~/.config/airlock", "/":
        client.run("echo planted >planted", working_dir=os.path.expanduser(directory))
    for file in "~/.bashrc", "~/.claude/settings.json", "../other/written", "/proc/1/root/tmp/planted", "~/.config/airlock/config.toml":
        reply = client.tool("write_file", path=os.path.expanduser(file), content="planted")
        assert reply["isError"], reply
    for file in "~/.ssh/id_rsa", "~/.claude/.credentials.json", "~/.codex/sessions/t.jsonl", "~/.rival/token":
        reply = client.tool("read_file", path=os.path.expanduser(file))
        assert reply["isError"] and "secret" not in text_of(reply), reply
    client.tool("write_file", path=".claude/settings.local.json", content="planted")
    client.tool("apply_changes")
    assert not client.tool("write_file", path="file", content="mine\n").get("isError")
' "$1" </dev/null
	assert_status 0
	OUTPUT=$stdout
	assert_file file mine
	assert_absent .claude/settings.local.json
	echo original >file
}

# ---- what stays when it has ended

@test "nothing that an agent leaves in its state leads elsewhere, or comes later" {
	each_backend left_behind
}
left_behind() {
	new_marker
	rm -rf "$HOME/.toy/sessions"
	agent toy "cd ~/.toy/sessions && echo transcript >file && mkdir -m 700 d e f && ln -s ~/.bashrc d/memory && ln -s ~/.bashrc e/memory &&
		mkdir f/g && ln -s ~/.bashrc f/g/memory && chmod 311 d && chmod 600 e && chmod 000 f/g && chmod 300 ~/.toy/sessions
		(sleep 0.3; cd ~/.toy/sessions; ln -s ~/.bashrc late; : $MARKER) >/dev/null 2>&1 &
		setsid sh -c 'sleep 0.3; ln -s ~/.bashrc ~/.toy/sessions/later' </dev/null >/dev/null 2>&1 &
		sleep 0.1"
	run_airlock agent toy
	assert_status 0
	sleep 0.5
	assert_file "$HOME/.toy/sessions/file" transcript
	[ -d "$HOME/.toy/sessions/f/g" ] || fail "a directory is gone"
	[ "$(find "$HOME/.toy/sessions" -type l)" = '' ] || fail "a link was left" "$(find "$HOME/.toy/sessions" -type l)"
}

@test "what another command of the session, or another agent in it, leaves behind does not see the agent's credentials" {
	each_backend same_session
}
same_session() {
	local spy session=spy-$AIRLOCK_BACKEND
	run_airlock agent list
	assert_stdout_contains rival
	spy='for p in /proc/[0-9]*; do cat "$p/root$HOME/.toy/token" "$p/root$HOME/.rival/token"; tr "\0" "\n" <"$p/environ" | grep TOY_; done 2>/dev/null'
	rm -rf "$HOME/.toy/sessions" "$HOME/.rival/sessions/go"
	agent toy 'touch ~/.toy/sessions/ready; cat ~/.toy/token; echo "$TOY_KEY"; while [ ! -e ~/.toy/sessions/go ]; do sleep 0.02; done'
	TOY_KEY=secret-key "$AIRLOCK" agent toy --session "$session" >"$BATS_TEST_TMPDIR/toy" 2>&1 </dev/null 3>&- &
	PROCESSES=($!)
	eventually test -e "$HOME/.toy/sessions/ready"
	run_airlock run --session "$session" -c "$spy; echo looked"
	assert_stdout looked
	agent rival "$spy; echo looked"
	run_airlock agent rival --session "$session"
	assert_stdout_contains $'secret of .rival/token\nlooked' # its own it finds
	refute_stdout_contains TOY_KEY
	[[ $'\n'$stdout != *$'\ntoken'* ]] || fail "it read the token of the other"
	# The session knows of it all the same, and ends it.
	run_airlock session show "$session"
	assert_stdout_contains "$HOME/bin/toy"
	run_airlock session end "$session"
	assert_status 0
	eventually has_ended
	[[ $(<"$BATS_TEST_TMPDIR/toy") == *$'token\nsecret-key'* ]] || fail "$(<"$BATS_TEST_TMPDIR/toy")" # its own it had
	PROCESSES=()
}
has_ended() {
	! kill -0 "${PROCESSES[0]}" 2>/dev/null
}

@test "what an agent changes in its own settings is unknown to its next session" {
	each_backend own_settings
}
own_settings() {
	local session=own-$AIRLOCK_BACKEND
	agent toy 'echo planted >~/.toy/settings; echo planted >~/.toyrc.json; echo planted >~/.toy/hook; cat ~/.toy/settings'
	run_airlock agent toy --session "$session"
	assert_stdout planted
	agent toy 'cat ~/.toy/settings ~/.toyrc.json; ls ~/.toy'
	run_airlock agent toy
	assert_stdout $'mine\nmine\nsessions\nsettings\ntoken'
	assert_file "$HOME/.toy/settings" mine
}

# ---- its terminal

@test "an agent types neither into the person's terminal nor an answer to airlock's question" {
	each_backend at_the_terminal
}
at_the_terminal() {
	run_airlock agent list
	assert_stdout_contains rival
	cp "$BATS_TEST_DIRNAME/../hostile/agent.py" model.py
	write_config '[permission]' 'wait = "300ms"'
	agent toy "python3 -I -S model.py / ~/bin/airlock none; printf 'a\r\033[21t\033[c'
		bash -c 'exec 3<>/dev/tcp/elsewhere.test/443; head -c1 <&3' 2>/dev/null; echo over"
	run_program env PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$BATS_TEST_DIRNAME/.." TERM=dumb python3 -c '
import os, sys
from pseudo_terminal import Terminal
with Terminal(["bash", "--norc", "--noprofile", "-i"], env={**os.environ, "PS1": "ready> "}) as terminal:
    terminal.expect("ready> ")
    terminal.type(sys.argv[1] + " agent toy --session term-" + os.environ["AIRLOCK_BACKEND"] + "\r")
    terminal.expect("tried")
    terminal.expect("over")
    terminal.expect("ready> ")
    assert "llow once" not in terminal.screen, terminal.screen
    terminal.type("echo \"still\" here\r")
    terminal.expect("\nstill here\n")
    assert "\ntyped-by" not in terminal.screen and "touch typed" not in terminal.screen.split("ready> ")[-2], terminal.screen
    terminal.type("exit\r")
    terminal.wait()
    print(terminal.screen)
' "$AIRLOCK" </dev/null
	assert_status 0
	assert_absent typed-by-the-model
	assert_stdout_contains 'refused: connect to elsewhere.test:443'
}
